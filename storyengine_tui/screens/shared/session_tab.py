"""Base class of the three tabs: the open session, its notifications, and errors as a banner."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from core.domain.errors import IllegalCommandError, StoryEngineError
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.kept_fields import Fields, KeptFields
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.page_focus import PageFocus
from storyengine_tui.textual_ext.painting.visibility import is_displayed

if TYPE_CHECKING:
    from textual.widgets import TextArea

    from core.domain.ids import RequestId, SessionId
    from core.engine.session.session_handle import SessionHandle
    from core.engine.sync.notifications import CallStarted, Notification

T = TypeVar("T")


class InvalidInputError(IllegalCommandError):
    """Typed text that cannot be stored, such as a name that is already used."""


class SessionTab(VerticalScroll, can_focus=False):
    """One tab. It sends commands to the open session and receives its notifications; it knows no other tab.

    Subclasses implement `on_session_attached`, which is called again when another session is opened and when
    this window becomes the writer of a session that it could only read; `on_notification`; `refresh_view`;
    `has_unsaved` and `flush`. `autosave` stores what is typed.
    """

    @dataclass
    class CommandFailed(Message):
        """A command was refused or could not be stored; the text is still on screen."""

        error: StoryEngineError

    @dataclass
    class ElsewhereWanted(Message):
        """The GM goes to a tab, where its page runs an action; with a session, to that chapter first."""

        tab: str
        action: str
        session_id: "SessionId | None" = None

    @dataclass
    class Stored(Message):
        """Edits are stored, so a banner about text that could not be stored can go.

        `is_complete` says that everything on this page can be stored.
        """

        is_complete: bool = False

    is_behind = False
    """Whether the page is laid out on the background layer, covered by the visible page."""

    folder: Path | None = None
    """The folder for text that is not stored yet; None if it is kept nowhere."""

    autosave: Autosave

    _session: "SessionHandle | None" = None

    has_session = False
    """Whether a session is open."""

    def __init__(self) -> None:
        super().__init__()
        self.page_focus = PageFocus(self, is_open=lambda: self.has_session, go_on=self.on_tab_shown)
        self.kept_fields = KeptFields(lambda: self.typed_fields)

    @property
    def session(self) -> "SessionHandle":
        """The session that is shown; raises RuntimeError before the first.

        After `detach` it is the last one, until the next is attached: a late message or worker finds it
        closed, and its command is refused with a reason.
        """
        if self._session is None:
            raise RuntimeError("no session is open yet")
        return self._session

    @property
    def is_in_view(self) -> bool:
        """Whether this is the page that the GM sees."""
        return is_displayed(self) and not self.is_behind

    def shows(self, session: "SessionHandle") -> bool:
        """Whether `session` is still open; check it after every await, for another may be open by then."""
        return self.has_session and self._session is session

    def kept_text(self, what: str) -> KeptText | None:
        """Return the file for something of this chapter that is being written; None if it is kept nowhere."""
        return None if self.folder is None else KeptText.of(what, self.session.id, self.folder)

    @property
    def typed_fields(self) -> Fields:
        """The texts of this page that are typed and not stored."""
        return {}

    def take_kept(self) -> Fields:
        """Return the fields that were typed before the program ended, if they can be stored now."""
        return {} if self.session.is_read_only else self.kept_fields.read()

    def adopt(self, *parts: object) -> None:
        """Make the actions of parts of this page its own, so that keys and the palette find them here."""
        for part in parts:
            for name in dir(type(part)):
                if name.startswith("action_"):
                    setattr(self, name, getattr(part, name))

    async def attach(self, session: "SessionHandle") -> None:
        """Show this session from now on."""
        self._session, self.has_session = session, True
        self.kept_fields.open(self.kept_text(f"typed.{type(self).__name__.lower()}"))
        await self.on_session_attached()

    def detach(self) -> None:
        """Detach from the session; what was typed has been flushed."""
        self.has_session = False
        self.kept_fields.close()
        self.autosave.is_dirty = False  # The fields keep the old texts until those of the next session show.

    async def on_session_attached(self) -> None:
        """Show the content of the session that was attached."""

    async def prepare(self) -> None:
        """Do in advance what would delay the first visit, as far as its cost does not grow with the story."""

    def on_tab_shown(self) -> None:
        """Focus the widget where the GM continues, when the GM comes to this tab."""

    def field_for_typing(self) -> "TextArea | None":
        """Return the field for text that is typed while no field has the focus; None if there is none."""
        return None

    def why_not(self, action: str) -> str:
        """Return why the dimmed key of `action` does nothing now; empty if there is nothing to say."""
        return ""

    def text_targets(self) -> tuple[tuple[str, str], ...]:
        """Return an action for each panel to which the text in `field_for_typing` can move, and its name."""
        return ()

    def on_key(self, event: events.Key) -> None:
        """Say why a dimmed key does nothing."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self or active.enabled:
            return
        if why := self.why_not(active.binding.action):
            self.notify(why, severity="warning", markup=False)

    def on_mount(self) -> None:
        """Start autosaving, and watch for a lost focus."""
        self.autosave.start()
        self.page_focus.watch()

    async def on_unmount(self) -> None:
        """Stop autosaving."""
        await self.autosave.stop()

    def say_saved(self, *, is_complete: bool = False) -> None:
        """Report that what was typed is stored; with `is_complete`, that no field has invalid text."""
        self.kept_fields.forget()
        self.post_message(self.Stored(is_complete=is_complete))

    def say_unsaved(self, error: StoryEngineError) -> None:
        """Keep what was typed and could not be stored, and report it; autosave tries again."""
        self.kept_fields.keep()
        self.post_message(self.CommandFailed(error))

    def on_resize(self, event: events.Resize) -> None:
        """Keep the focused text visible on a smaller page."""
        self.page_focus.follow_size(event.size)

    async def step_focus(self, focused: Widget, step: int) -> bool:
        """Handle Tab (1) or Shift+Tab (-1) if the page does not follow the order of fields here.

        Return whether it did.
        """
        return False

    def on_notification(self, notification: "Notification") -> None:
        """Handle one notification; `refresh_view` follows after all notifications of a commit."""

    def refresh_view(self) -> None:
        """Show the session as it is now."""

    @property
    def has_unsaved(self) -> bool:
        """Whether something typed can be stored and is not yet."""
        return False

    async def flush(self) -> None:
        """Store what is typed and not stored yet; raises StoryEngineError when that fails."""

    async def focus_first_invalid(self) -> str:
        """Focus the first field whose text cannot be stored; return the reason, or nothing."""
        return ""

    def ask(self, dialog: Screen[T], answered: Callable[[T | None], None] | None = None) -> None:
        """Open a dialog over this page, unless one is open: a key or a click may come twice.

        The dialog must have no id: the previous one may still be closing, and ids must be unique.
        """
        if self.app.screen is self.screen:
            self.app.push_screen(dialog, answered)

    def ask_for(
        self, dialog: Screen[T], command: Callable[[T], Awaitable[object]], group: str = "do"
    ) -> None:
        """Open a dialog, and perform `command` with its answer, unless that is None or False."""

        def answered(answer: T | None) -> None:
            if answer is not None and answer is not False:
                self.do(command(answer), group=group)

        self.ask(dialog, answered)

    def expect(self, call: "CallStarted", show: Callable[["RequestId", str], None]) -> None:
        """Estimate from earlier calls how long a call may take, and show it for the request of the call."""
        work = self._expect(self.session, call, show)
        self.run_worker(work, group="expect", exclusive=True, exit_on_error=False)

    async def _expect(
        self, session: "SessionHandle", call: "CallStarted", show: Callable[["RequestId", str], None]
    ) -> None:
        from storyengine_tui.widgets.elapsed import expected_time

        try:
            seconds = await session.reads.last_duration(call.agent_id, call.model)
        except StoryEngineError:
            expected = ""
        else:
            expected = expected_time(seconds, is_local=call.is_local)
        show(call.request.id, expected)

    def do(self, command: Awaitable[object], *, group: str = "do") -> None:
        """Perform a command in the background."""
        self.run_worker(self.perform(command), group=group, exit_on_error=False)

    async def perform(self, command: Awaitable[T]) -> T | None:
        """Await a command of the session; if it is refused, post CommandFailed and return None."""
        try:
            return await command
        except StoryEngineError as error:
            self.post_message(self.CommandFailed(error))
            return None
