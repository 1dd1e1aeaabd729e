"""The base of the screens over the chapter in which one thing of it is edited (design 10)."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.config.files.paths import Paths
from core.domain.errors import StoryEngineError
from core.engine.session.session_handle import SessionHandle
from core.text.composer_text import resumed
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.kept_fields import keep_fields, read_fields
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.banner import DISMISS, Banner, Tone
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea


class EditorHost(Protocol):
    """Has what is typed stored before the chapter is left; the workspace is one."""

    paths: Paths
    editors: list[Callable[[], Awaitable[None]]]


class Typed(Protocol):
    """The contents of the fields, as a value with an equality."""

    @property
    def text(self) -> str:
        """The text."""


class AutosavedScreen(OverlayScreen[None]):
    """Stores edits within a second, as on the tabs; Esc goes back, after a question where a part cannot be.

    A subclass composes a `Static` with the id `saved`, a `Banner`, and a field with the id `text`; a file has
    what is typed there while the database takes nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, workspace: EditorHost, session: SessionHandle) -> None:
        super().__init__()
        self._workspace = workspace
        self._session = session
        self.autosave = Autosave(self._save_typed, self._say_unsaved, self._say_saved, self._keep_typed)
        self._stored: Typed | None = None
        """The contents of the fields at the last save, or when they were first shown."""

    def on_mount(self) -> None:
        """Begin to store what is typed, or was before the program ended."""
        self._stored = self._typed
        self._workspace.editors.append(self.flush)
        self.autosave.start()
        area = self.query_one("#text", CappedTextArea)
        for base, typed in () if area.read_only else read_fields(self._kept_text).values():
            whole = resumed(base, area.text, typed)
            area.limit = max(area.limit, len(whole))
            area.load_text(whole)
            self.autosave.touch()  # Also if it is stored already: the file is deleted then.

    @property
    def _kept_text(self) -> KeptText:
        return KeptText.of(f"typed.{self._what}", self._session.id, self._workspace.paths.data)

    @property
    @abstractmethod
    def _what(self) -> str:
        """Part of the name of a file for this one."""

    def _keep_typed(self) -> None:
        if not self.is_attached:
            return
        stored, typed = "" if self._stored is None else self._stored.text, self._typed.text
        keep_fields(self._kept_text, {} if typed == stored else {"text": (stored, typed)})

    async def on_unmount(self) -> None:
        """Stop watching; what was typed was stored before it closes."""
        if self.flush in self._workspace.editors:
            self._workspace.editors.remove(self.flush)
        await self.autosave.stop()

    @property
    @abstractmethod
    def _typed(self) -> Typed:
        """The contents of the fields."""

    @property
    @abstractmethod
    def _problem(self) -> str:
        """The reason why a part cannot be stored as it is typed; empty if everything can."""

    @property
    def unsaved(self) -> str:
        """The reason why a part cannot be stored."""
        return self._problem

    @abstractmethod
    async def _save(self) -> None:
        """Store what can be stored; raises StoryEngineError."""

    async def _save_typed(self) -> None:
        typed = self._typed
        await self._save()
        self._stored = typed

    async def flush(self) -> None:
        """Store unsaved edits; raises StoryEngineError, also where another window writes by now."""
        self._touch_typed()  # The last keys may not have been told of yet.
        try:
            await self.autosave.flush()
        except StoryEngineError:
            self._keep_typed()
            raise

    def _touch_typed(self) -> None:
        """Store the typed text soon, if it differs from the stored one."""
        if self._typed != self._stored:
            self._say_state("storing …")
            self.autosave.touch()

    def _say_saved(self) -> None:
        self._kept_text.forget()
        self._say_state("not all stored" if self._problem else "stored")

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self._keep_typed()
        self._say_state("not stored")
        self._say(error.message, error.hint, Tone.ERROR)

    def _say_state(self, state: str) -> None:
        if self.is_attached:
            self.query_one("#saved", Static).update(Content(state), layout=False)

    def _say(self, message: str, hint: str, tone: Tone) -> None:
        if self.is_attached:
            self.query_one(Banner).show(message, hint=hint, tone=tone, actions=(DISMISS,))

    def action_close(self) -> None:
        """Go back once everything is stored."""
        self.run_worker(self._close(), group="close", exclusive=True, exit_on_error=False)

    async def _close(self) -> None:
        """Go back once everything is stored; ask before something typed is discarded."""
        try:
            await self.flush()
            while self.autosave.is_dirty:  # Keys that came meanwhile.
                await self.autosave.flush()
            loss = self._loss
        except StoryEngineError as error:
            self._say_unsaved(error)
            loss = error.message
        if not loss:
            self._leave(is_sure=True)
            return
        question = ConfirmModal("Leave without saving it?", loss, confirm="Leave", cancel="Keep writing")
        self.app.push_screen(question, self._leave)

    @property
    def _loss(self) -> str:
        """The reason why a typed part would be lost; empty if nothing would."""
        return self._problem

    def _leave(self, is_sure: bool | None) -> None:
        if is_sure:
            self._kept_text.forget()
            self.dismiss()
