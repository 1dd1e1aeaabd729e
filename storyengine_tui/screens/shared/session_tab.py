"""Base class of the three tabs: the open session, its notifications, and errors as a banner."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from core.domain.errors import IllegalCommandError, StoryEngineError
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.kept_fields import Fields, keep_fields, read_fields
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.textual_ext.painting.visibility import is_displayed

if TYPE_CHECKING:
    from textual.widgets import TextArea

    from core.domain.ids import RequestId, SessionId
    from core.engine.session.session_handle import SessionHandle
    from core.engine.sync.notifications import CallStarted, Notification

T = TypeVar("T")

FOCUS_RETRIES = 5
"""Number of times that a page sets the focus again, if the focused widget was removed at once."""


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

    _size_before: Size | None = None
    """The size at the last `Resize`."""

    _session: "SessionHandle | None" = None

    has_session = False
    """Whether a session is open."""

    _has_kept_fields = False
    """Whether a file has text of this page that is not stored."""

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

    def keep_typed(self) -> None:
        """Keep what could not be stored in a file: the program may end before the database takes it."""
        if self.has_session and (kept := self.kept_text(self._fields_name)) is not None:
            self._has_kept_fields = True
            keep_fields(kept, self.typed_fields)

    def take_kept(self) -> Fields:
        """Return what was kept so before the program ended; it is forgotten once it is stored."""
        kept = self.kept_text(self._fields_name)
        if kept is None or self.session.is_read_only:
            return {}
        fields = read_fields(kept)
        self._has_kept_fields |= bool(fields)
        return fields

    @property
    def _fields_name(self) -> str:
        return f"typed.{type(self).__name__.lower()}"

    def adopt(self, *parts: object) -> None:
        """Make the actions of parts of this page its own, so that keys and the palette find them here."""
        for part in parts:
            for name in dir(type(part)):
                if name.startswith("action_"):
                    setattr(self, name, getattr(part, name))

    async def attach(self, session: "SessionHandle") -> None:
        """Show this session from now on."""
        self._session, self.has_session = session, True
        await self.on_session_attached()

    def detach(self) -> None:
        """Detach from the session; what was typed has been flushed."""
        self.has_session = self._has_kept_fields = False
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

    def set_focus(self, widget: Widget, *, scroll_visible: bool = False) -> None:
        """Move the focus now: `Widget.focus` is queued, and would undo a Tab that is handled before it."""
        self.screen.set_focus(widget, scroll_visible=False)
        if scroll_visible:
            # The widgets of a page that was hidden until now have no regions before the next layout.
            self.call_after_refresh(self._center_focused, widget)

    def _center_focused(self, widget: Widget) -> None:
        # Not `can_view_entire`, which is wrong until every container has received its size.
        scroller = next((node for node in widget.ancestors if isinstance(node, VerticalScroll)), self)
        if widget.has_focus and not scroller.region.contains_region(widget.region):
            self.screen.scroll_to_center(widget, origin_visible=True)

    def on_mount(self) -> None:
        """Start autosaving, and watch for a lost focus: keys would go nowhere.

        A focused button may be removed with its banner. The screen is watched, for a removed widget posts no
        Blur. Behind a dialog or in an inactive terminal the focus is restored later.
        """
        self.autosave.start()
        self.watch(self.screen, "focused", self._restore_focus_soon, init=False)
        self.watch(self.screen, "stack_updates", self._restore_focus_soon, init=False)
        self.watch(self.app, "app_focus", self._restore_focus_soon, init=False)

    async def on_unmount(self) -> None:
        """Stop autosaving."""
        await self.autosave.stop()

    def say_saved(self, *, is_complete: bool = False) -> None:
        """Report that what was typed is stored; with `is_complete`, that no field has invalid text."""
        if self._has_kept_fields and (kept := self.kept_text(self._fields_name)) is not None:
            self._has_kept_fields = False
            kept.forget()
        self.post_message(self.Stored(is_complete=is_complete))

    def say_unsaved(self, error: StoryEngineError) -> None:
        """Keep what was typed and could not be stored, and report it; autosave tries again."""
        self.keep_typed()
        self.post_message(self.CommandFailed(error))

    def on_resize(self, event: events.Resize) -> None:
        """Keep the focused text visible on a smaller page.

        Textual sends this also when only the scrolled content has grown; the page does not scroll then.
        """
        before, self._size_before = self._size_before, event.size
        focused = self.screen.focused
        if before != event.size and focused is not None and self.has_focus_within:
            self.call_after_refresh(self._keep_in_view, focused)

    def _keep_in_view(self, focused: Widget) -> None:
        from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea  # After the first paint.

        if isinstance(focused, CappedTextArea):
            focused.bring_cursor_into_sight()
        else:
            self._center_focused(focused)

    def _restore_focus_soon(self) -> None:
        if self.screen.focused is None:
            self.call_after_refresh(self._restore_focus)

    def _restore_focus(self, retries: int = FOCUS_RETRIES) -> None:
        # Not `is_on_screen`, which is right for another tab only after the next layout.
        is_in_front = is_displayed(self) and self.app.screen is self.screen
        if self.has_session and self.app.app_focus and is_in_front and self.screen.focused is None:
            self.on_tab_shown()
            if retries:
                # The widget that received it may be removed as well, as a panel is for the next one.
                self.call_after_refresh(self._restore_focus, retries - 1)

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

    def expect(self, call: "CallStarted") -> None:
        """Estimate from earlier calls how long a call may take, and pass the text to `show_expected`."""
        work = self._expect(self.session, call)
        self.run_worker(work, group="expect", exclusive=True, exit_on_error=False)

    async def _expect(self, session: "SessionHandle", call: "CallStarted") -> None:
        from storyengine_tui.widgets.elapsed import expected_time

        try:
            seconds = await session.reads.last_duration(call.agent_id, call.model)
        except StoryEngineError:
            expected = ""
        else:
            expected = expected_time(seconds, is_local=call.is_local)
        self.show_expected(call.request.id, expected)

    def show_expected(self, request_id: "RequestId", expected: str) -> None:
        """Show how long the call of a request may take, if it is still the current one."""

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
