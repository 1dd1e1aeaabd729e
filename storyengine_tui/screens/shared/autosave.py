"""Stores what is typed within a second of the last key; saves never overlap (design 10)."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.config.files.paths import Paths
from core.domain.errors import StoryEngineError
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.widgets.banner import DISMISS, Banner, Tone
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen

DEBOUNCE_SECONDS = 0.3
"""Seconds without a key after which a text is stored."""
MAX_DELAY_SECONDS = 0.5
"""Seconds after which a text is stored even while keys keep coming: less than one second, which leaves time
for a busy machine and for the disk."""
RETRY_SECONDS = 2.0
"""Seconds after which a save that failed is tried again."""


class Autosave:
    """Calls `save` soon after `touch`; reports a failure and tries again, so that no text is lost."""

    def __init__(
        self,
        save: Callable[[], Awaitable[None]],
        on_error: Callable[[StoryEngineError], None],
        on_saved: Callable[[], None] = lambda: None,
    ) -> None:
        self._save = save
        self._on_error = on_error
        self._on_saved = on_saved
        self.rest_seconds = 0.0
        """Minimum seconds between automatic saves, for content that is slow to store."""
        self._touched = asyncio.Event()
        self.is_dirty = False
        """Whether something typed is not stored yet."""
        self._last_touch = 0.0
        self._mutex = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the background task; `stop` ends it."""
        if self._task is None:
            self._task = asyncio.create_task(self._watch(), name="autosave")

    async def stop(self) -> None:
        """Stop the background task; call `flush` before, to store what is not stored yet."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def touch(self) -> None:
        """Note that something was typed."""
        self.is_dirty = True
        self._last_touch = asyncio.get_running_loop().time()
        self._touched.set()

    async def flush(self) -> None:
        """Store now what is not stored; raises StoryEngineError."""
        async with self._mutex:
            if not self.is_dirty:
                return
            self.is_dirty = False
            try:
                await self._save()
            except BaseException:  # Also when cancelled: what was typed is not stored yet.
                self.is_dirty = True
                raise
        self._on_saved()

    async def _watch(self) -> None:
        while True:
            await self._touched.wait()
            await self._debounce()
            try:
                await self.flush()
            except StoryEngineError as error:
                self._on_error(error)
                await asyncio.sleep(RETRY_SECONDS)
                self._touched.set()
            await asyncio.sleep(self.rest_seconds)

    async def _debounce(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_DELAY_SECONDS
        while loop.time() < deadline:
            self._touched.clear()
            try:
                async with asyncio.timeout_at(min(self._last_touch + DEBOUNCE_SECONDS, deadline)):
                    await self._touched.wait()
            except TimeoutError:
                return


class EditorHost(Protocol):
    """Has what is typed stored before the chapter is left; the workspace is one."""

    paths: Paths
    store_editor: Callable[[], Awaitable[None]] | None


class AutosavedScreen(OverlayScreen[None]):
    """Stores edits within a second, as on the tabs; Esc goes back once everything is stored.

    A subclass composes a `Static` with the id `saved` and a `Banner`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, workspace: EditorHost, session: SessionHandle) -> None:
        super().__init__()
        self._workspace = workspace
        self._session = session
        self.autosave = Autosave(self._save, self._say_unsaved, self._say_saved)

    def on_mount(self) -> None:
        """Begin to store what is typed."""
        self._workspace.store_editor = self.flush
        self.autosave.start()

    async def on_unmount(self) -> None:
        """Store what is left, and stop watching."""
        if self._workspace.store_editor == self.flush:
            self._workspace.store_editor = None
        await self.autosave.stop()

    @property
    @abstractmethod
    def _problem(self) -> str:
        """The reason why a part cannot be stored as it is typed; empty if everything can."""

    @abstractmethod
    async def _save(self) -> None:
        """Store what can be stored; raises StoryEngineError."""

    @abstractmethod
    async def flush(self) -> None:
        """Store unsaved edits; raises StoryEngineError."""

    def _say_saved(self) -> None:
        self._say_state("not all stored" if self._problem else "stored")

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self._say_state("not stored")
        self._say(error.message, error.hint, Tone.ERROR)

    def _say_state(self, state: str) -> None:
        if self.is_attached:
            self.query_one("#saved", Static).update(Content(state), layout=False)

    def _say(self, message: str, hint: str, tone: Tone) -> None:
        if self.is_attached:
            self.query_one(Banner).show(message, hint=hint, tone=tone, actions=(DISMISS,))

    def action_close(self) -> None:
        """Go back once everything is stored; stay and say what cannot be."""
        self.run_worker(self._close(), group="close", exclusive=True, exit_on_error=False)

    async def _close(self) -> None:
        try:
            await self.flush()
        except StoryEngineError as error:
            self._say_unsaved(error)
            return
        self.dismiss()
