"""What the three tabs share: the open session, its notices, and errors that become a banner."""

from collections.abc import Awaitable, Callable
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
from storyengine_tui.textual_ext.visibility import is_displayed

if TYPE_CHECKING:
    from textual.widgets import TextArea

    from core.engine.session_handle import SessionHandle
    from core.engine.sync.notifications import CallStarted, Notification

T = TypeVar("T")


FOCUS_TRIES = 5
"""How often a page looks for what can take the focus, when what had it has gone."""


class InvalidInputError(IllegalCommandError):
    """Typed text that cannot be stored, such as a name that is already used."""


class SessionTab(VerticalScroll, can_focus=False):
    """One tab. It sends commands to the open session and receives its notifications; it knows no other tab.

    Subclasses implement `on_session_attached`, which is called again when another session is opened and when
    this window became the writer of the session that it only read, `on_notification`, `refresh_view` and
    `flush`. What is typed is stored by `autosave`.
    """

    class CommandFailed(Message):
        """A command was refused or could not be stored; the text is still on screen."""

        def __init__(self, error: StoryEngineError) -> None:
            super().__init__()
            self.error = error

    class Stored(Message):
        """What was typed is stored; trouble with storing it is over.

        `is_complete` says that everything on this page can be stored.
        """

        def __init__(self, *, is_complete: bool = False) -> None:
            super().__init__()
            self.is_complete = is_complete

    is_from_beginning = False
    """Whether texts are shown from their beginning, not from where one writes on."""

    is_behind = False
    """Whether it is laid out behind the page in sight, and not looked at."""

    folder: Path | None = None
    """Where a text is kept that is not stored yet; None keeps it nowhere."""

    autosave: Autosave

    _size_before: Size | None = None
    """The size at the last `Resize`."""

    _session: "SessionHandle | None" = None
    _is_attached = False

    @property
    def session(self) -> "SessionHandle":
        """The session that is shown; raises RuntimeError before the first.

        After `detach` it is the one that was shown, until the next: a message or a worker that comes too
        late finds it closed, and is refused with a sentence.
        """
        if self._session is None:
            raise RuntimeError("no session is open yet")
        return self._session

    @property
    def has_session(self) -> bool:
        """Whether a session is open."""
        return self._is_attached

    @property
    def is_looked_at(self) -> bool:
        """Whether it is the page in sight."""
        return is_displayed(self) and not self.is_behind

    def shows(self, session: "SessionHandle") -> bool:
        """Whether it is this session that is open; another may be, once something was waited for."""
        return self._is_attached and self._session is session

    async def attach(self, session: "SessionHandle") -> None:
        """Show this session from now on."""
        self._session, self._is_attached = session, True
        await self.on_session_attached()

    def detach(self) -> None:
        """Let go of the session; what was typed has been flushed."""
        self._is_attached = False

    async def on_session_attached(self) -> None:
        """Show what the session holds now."""

    def show_beginning(self) -> None:
        """Show every text that can be changed from its beginning, until another session is attached."""
        from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea  # After the first paint.

        self.is_from_beginning = True
        for area in self.query(CappedTextArea):
            area.action_document_end(False)

    async def prepare(self) -> None:
        """Do what the GM would wait for on coming here, as far as that does not grow with the story."""

    def on_tab_shown(self) -> None:
        """The GM came to this tab: have the focus where to go on, at first on what comes first."""
        if self.screen.focused is None or self not in self.screen.focused.ancestors:
            first = self.first_field()
            if first is not None:
                self.have_focus(first)

    def first_field(self) -> Widget | None:
        """Return where the GM begins on this page."""
        return next((widget for widget in self.query("*") if widget.focusable), None)

    def field_for_typing(self) -> "TextArea | None":
        """Return where a text goes that is typed or pasted beside every field; None where it has no place."""
        return None

    def why_not(self, action: str) -> str:
        """Return why the dimmed key of `action` does nothing now; empty where there is nothing to say."""
        return ""

    def on_key(self, event: events.Key) -> None:
        """Say why a dimmed key does nothing."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self or active.enabled:
            return
        if why := self.why_not(active.binding.action):
            self.notify(why, severity="warning", markup=False)

    def have_focus(self, widget: Widget, *, scroll_visible: bool = False) -> None:
        """Move the focus now: `Widget.focus` waits in the app's queue, and undoes a Tab that comes first."""
        self.screen.set_focus(widget, scroll_visible=False)
        if scroll_visible:
            # A page that has only now come to the front has no places for its widgets before it is laid out.
            self.call_after_refresh(self._center_focused, widget)

    def _center_focused(self, widget: Widget) -> None:
        # Not `can_view_entire`, which is wrong until every container has heard of its size.
        scroller = next((node for node in widget.ancestors if isinstance(node, VerticalScroll)), self)
        if widget.has_focus and not scroller.region.contains_region(widget.region):
            self.screen.scroll_to_center(widget, origin_visible=True)

    def on_mount(self) -> None:
        """What has the focus may go, as a button does with its banner; then keys would go nowhere.

        The screen is watched: a button that is removed does not live to say that it lost the focus.
        """
        self.autosave.start()
        self.watch(self.screen, "focused", self._look_after_focus, init=False)
        # Behind a dialog nothing is looked after; it is when the dialog has gone.
        self.watch(self.screen, "stack_updates", self._look_again, init=False)
        # Nor while somebody looks at another window; it is when this one is looked at again.
        self.watch(self.app, "app_focus", self._look_again, init=False)

    async def on_unmount(self) -> None:
        """Watch no more what is typed."""
        await self.autosave.stop()

    def say_saved(self, *, is_complete: bool = False) -> None:
        """What was typed is stored; `is_complete` says that nothing on the page cannot be."""
        self.post_message(self.Stored(is_complete=is_complete))

    def say_unsaved(self, error: StoryEngineError) -> None:
        """What was typed could not be stored, and is tried again."""
        self.post_message(self.CommandFailed(error))

    def _look_again(self) -> None:
        self._look_after_focus(self.screen.focused)

    def on_resize(self, event: events.Resize) -> None:
        """Keep what the GM writes or reads in sight on a smaller page.

        Textual sends this also when only what is scrolled has grown; then the page stays where it is.
        """
        before, self._size_before = self._size_before, event.size
        if before == event.size:
            return
        focused = self.screen.focused
        if focused is not None and self in focused.ancestors:
            self.call_after_refresh(self._keep_in_sight, focused)

    def _keep_in_sight(self, focused: Widget) -> None:
        from storyengine_tui.widgets.fields.capped_text_area import (
            CappedTextArea,  # Not before the first paint.
        )

        if isinstance(focused, CappedTextArea):
            focused.bring_cursor_into_sight()
        else:
            self._center_focused(focused)

    def _look_after_focus(self, focused: Widget | None) -> None:
        if focused is None:
            self.call_after_refresh(self._keep_focus)

    def _keep_focus(self, tries: int = FOCUS_TRIES) -> None:
        # Not `is_on_screen`, which knows only after the next layout that another tab shows.
        is_in_front = is_displayed(self) and self.app.screen is self.screen
        if self.has_session and self.app.app_focus and is_in_front and self.screen.focused is None:
            self.on_tab_shown()
            if tries:
                # What takes it may have gone in its turn, as a panel does for the next one.
                self.call_after_refresh(self._keep_focus, tries - 1)

    async def leads_on(self, focused: Widget, step: int) -> bool:
        """Go on from `focused` by Tab (1) or back (-1) where the page knows better than the order of fields.

        Return whether it did.
        """
        return False

    def on_notification(self, notification: "Notification") -> None:
        """Take in what is new; `refresh_view` follows once all of a commit is."""

    def refresh_view(self) -> None:
        """Show the session as it is now."""

    async def flush(self) -> None:
        """Store what was typed and is not stored yet; raises StoryEngineError when that fails."""

    async def focus_first_invalid(self) -> str:
        """Focus the first field whose text cannot be stored; return the reason, or nothing."""
        return ""

    def ask(self, dialog: Screen[T], answered: Callable[[T | None], None]) -> None:
        """Open a dialog over this page, unless one is open: a key or a click may come twice.

        It has no id: the one before may still be on its way out, and two cannot have the same.
        """
        if self.app.screen is self.screen:
            self.app.push_screen(dialog, answered)

    async def expected_time(self, session: "SessionHandle", call: "CallStarted") -> str:
        """Return how long this may take, as far as earlier calls tell; nothing where the store does not."""
        from storyengine_tui.widgets.elapsed import expected_time

        try:
            seconds = await session.last_duration(call.agent_id, call.model)
        except StoryEngineError:
            return ""
        return expected_time(seconds, is_local=call.is_local)

    def do(self, command: Awaitable[object], *, group: str = "do") -> None:
        """Perform a command in the background."""
        self.run_worker(self.perform(command), group=group, exit_on_error=False)

    async def perform(self, command: Awaitable[T]) -> T | None:
        """Await a command of the session; what it refuses is posted as CommandFailed and gives None."""
        try:
            return await command
        except StoryEngineError as error:
            self.post_message(self.CommandFailed(error))
            return None
