"""The application: its start, its commands, and its end."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.messages import ExitApp
from textual.screen import Screen
from textual.types import CSSPathType
from textual.worker import Worker, WorkerState

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import SessionId
from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.chapter.last_session import read_last_panel
from storyengine_tui.screens.chapter.session_listener import SessionListener
from storyengine_tui.screens.chapter.status_line import StatusLine
from storyengine_tui.screens.shared.background import commands_done
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.engine_lifecycle import Runtime
from storyengine_tui.shell.garbage import Garbage
from storyengine_tui.shell.loading_ahead import LATER_STYLES, STYLES, load_ahead
from storyengine_tui.shell.overlay_app import OverlayApp
from storyengine_tui.shell.terminal_window import Terminal
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.textual_ext.terminal.unix_driver import resilient
from storyengine_tui.widgets.key_names import short

if TYPE_CHECKING:
    from core.engine.engine import Engine

log = logging.getLogger(__name__)

COMMANDS_TIMEOUT_SECONDS = 10.0
"""Seconds that what the GM asked for has to be stored before the program ends."""
CLOSE_TIMEOUT_SECONDS = 5.0
"""Seconds to close what is open after a bug."""

LATER = "The settings are saved. They take effect at the next start, or by Connect (F6)."

COLLECT_AFTER_SECONDS = 5.0
"""Seconds after which nearly every object that stays until the end exists."""
COLLECT_EVERY_SECONDS = 1.0
"""Seconds between two looks whether it is time to collect garbage."""

StartEngine = Callable[[Configuration], AbstractAsyncContextManager["Engine"]]


class StoryEngineApp(OverlayApp, ThemedApp):
    """Paints at once, and starts the engine behind the first paint."""

    TITLE = "Story Engine"
    CSS_PATH: ClassVar[CSSPathType] = [
        STYLES / "app.tcss",
        STYLES / "screens/chapter/chapter_screen.tcss",
    ]
    HELP = "Everything you type is saved automatically. Ctrl+P finds every command by its name."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "chapters", "Chapters"),
        Binding("f6", "model", "Model", show=False, priority=True),
        Binding("f7", "provenance", "Calls", show=False, priority=True),
        Binding("alt+a", "assist", "Help with a text", show=False),
        # With priority: a dialog cuts off all other keys of the app.
        Binding("f1", "help", "Help", priority=True),
        Binding("question_mark", "explain", "Help", show=False, priority=True),
        Binding("ctrl+q", "leave", "Quit", priority=True),
    ]

    def __init__(
        self, start: StartEngine, configuration: Configuration | Unread, *, after: Exception | None = None
    ) -> None:
        """Make an app; `after` is the bug that ended the app before it, and is reported after the start."""
        super().__init__(configuration.paths)
        self.bug: Exception | None = None
        """The bug that ended this app; another app continues."""
        self.refusal: StoryEngineError | None = None
        """Why the settings are not valid, where that ended this app."""
        self.unread: Unread | None = None
        """Reads the settings; None once they are read."""
        self._after = after
        self._ending: asyncio.Task[None] | None = None
        self._runtime = Runtime(lambda: start(self.configuration))
        if isinstance(configuration, Unread):
            self.unread = configuration
        else:
            self.configuration = configuration
        self._terminal = Terminal(self, partial(self.action_leave, is_forced=True))
        self._is_leaving = False
        self._is_told_to_end = False
        """Whether it ends also if something cannot be stored."""

    def get_driver_class(self) -> type[Driver]:
        """Return the platform's driver, made to survive the loss of its terminal."""
        return resilient(super().get_driver_class())

    def get_default_screen(self) -> Screen[None]:
        """Return the chapter: all other screens open over it."""
        return self.chapter

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield what the command palette offers now."""
        from storyengine_tui.shell.palette_commands import commands_of

        return commands_of(self, self.action_leave)

    def action_command_palette(self) -> None:
        """Open the command palette; `check_action` has checked that it is not open."""
        from storyengine_tui.shell.palette import StoryPalette

        # Without an id: the palette before may still be closing, and ids are unique.
        self.push_screen(StoryPalette(self.chapter))

    def get_key_display(self, binding: Binding) -> str:
        """Return the short name of a key, for the row of keys."""
        return short(super().get_key_display(binding))

    def on_mount(self) -> None:
        """Paint, then start the engine."""
        self._terminal.note_hang_up()
        self.call_after_refresh(self._complete_chapter_screen)
        garbage = Garbage(self._quiet_seconds)
        self.set_timer(COLLECT_AFTER_SECONDS, garbage.start)
        self.set_interval(COLLECT_EVERY_SECONDS, garbage.look)
        if self.unread is None:
            self.pass_gate(self.start_engine)
        else:
            read = partial(self._read_settings, self.unread)
            self.call_after_refresh(lambda: self.do(read(), group="settings"))

    def _quiet_seconds(self) -> float:
        is_written = self.session is not None and bool(self.session.snapshot.open_requests)
        return 0.0 if is_written else self.chapter.idle.seconds

    async def _complete_chapter_screen(self) -> None:
        self.stylesheet.read_all(LATER_STYLES)
        await self.chapter.mount_hidden()

    async def _read_settings(self, unread: Unread) -> None:
        try:
            self.configuration = await unread.read()
        except StoryEngineError as error:
            self.refusal = error
            self.exit()
            return
        self.unread = None
        self.pass_gate(self.start_engine)

    @on(ChapterScreen.StartRequested)
    def start_engine(self) -> None:
        """Start the engine, or start it again after it failed."""
        self.do(self._start_engine(), group="engine")

    async def _start_engine(self) -> None:
        self.chapter.configuration = self.configuration
        self.chapter.feedback.show_progress("Starting the database …")
        self.chapter.early.recover(self.workspace.paths.early_text)
        self.chapter.show_early_panel(read_last_panel(self.workspace.paths))
        try:
            engine = await self._runtime.start()
            if self._is_leaving or self._runtime.is_stopping:
                return
            self.workspace.engine = engine
            self.chapter.paused.queue = engine.queue
            is_newcomer = await self.workspace.open_last()
        except StoryEngineError as error:
            self.chapter.feedback.show_start_failure(error)
            return
        except Exception:  # a bug, which is reported; the start may be tried again
            self.chapter.feedback.show_start_failure(StoryEngineError(ErrorCode.STORAGE_LOAD_FAILED))
            raise
        if self._after is not None:
            self.show_bug(self._after)
        elif self._welcomes_again or (is_newcomer and not self.chapter.early.has_come):
            self._welcomes_again = False
            self.action_welcome()
        self.do(load_ahead(self, self.chapter.idle.wait_until_idle), group="modules")

    @on(OverlayApp.Reconfigured)
    def _handle_settings(self, event: OverlayApp.Reconfigured) -> None:
        self.do(self.reconfigure(event.configuration), group="engine")

    async def reconfigure(self, configuration: Configuration) -> None:
        """Store everything, and restart the engine with new settings; ask first if that stops calls.

        Raises StoryEngineError if something typed cannot be stored; they take effect later then.
        """
        self.configuration = configuration
        if not await self.workspace.may_stop_calls("Restart with the new settings?", "Restart"):
            self.notify(LATER)
            return
        try:
            await self.workspace.close(insists=True)
        except StoryEngineError:
            self.notify(LATER)
            raise
        self.workspace.engine = None
        await self._runtime.stop()
        self.start_engine()

    @on(SessionTab.ElsewhereWanted)
    def _go_elsewhere(self, event: SessionTab.ElsewhereWanted) -> None:
        if event.session_id is not None:
            self.do(self._go_to(event.session_id, event.tab, event.action))

    async def _go_to(self, session_id: SessionId, tab: str, action: str) -> None:
        await self.workspace.open(session_id)
        self.chapter.do_there(tab, action)

    @on(SessionListener.Replaced)
    def _open_replacement(self, event: SessionListener.Replaced) -> None:
        self.do(self.workspace.open(event.session_id))

    @on(StatusLine.Retitled)
    def _show_title(self, event: StatusLine.Retitled) -> None:
        self._terminal.set_title(event.title)

    @on(SessionListener.Played)
    def _tell_of_reply(self, event: SessionListener.Played) -> None:
        self.workspace.remember()
        self._terminal.tell_of_reply(event.replier, event.title, rings=self.configuration.settings.bell)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim what needs an engine or a session while there is none, and what is open already."""
        needed = {"chapters": self.engine, "model": self.engine, "provenance": self.session}
        if action in needed:
            return True if needed[action] is not None and self.screen is self.chapter else None
        if action == "assist":
            return self._is_on_chapter and self.helped_area is not None
        if action == "command_palette":
            # From a dialog it would lead away from its question.
            return not self.screen.is_modal
        if action == "help":
            return not isinstance(self.screen, CommandPalette)
        if action == "explain":
            focused = self.screen.focused
            return focused is None or not focused.check_consume_key("question_mark", "?")
        return True

    @on(ChapterScreen.LeaveAnywayRequested)
    def _leave_anyway(self) -> None:
        self.action_leave(is_forced=True)

    def watch_app_focus(self, has_focus: bool) -> None:
        """Restore focus to a dialog that was opened while the terminal was unfocused."""
        if not has_focus or self.screen.focused is not None:
            return
        wanted = self.AUTO_FOCUS if self.screen.AUTO_FOCUS is None else self.screen.AUTO_FOCUS
        first = (
            next((widget for widget in self.screen.query(wanted) if widget.focusable), None)
            if wanted
            else None
        )
        if first is not None:
            self.screen.set_focus(first)

    def action_leave(self, *, is_forced: bool = False, discards: bool = False) -> None:
        """Store everything and quit; unless forced, stay and say so when something cannot be stored.

        What is typed in a dialog is asked about, unless it is forced or `discards` that.
        """
        unsaved = "" if is_forced or discards else self.unsaved
        if unsaved:
            self.ask_to_discard(unsaved, partial(self.action_leave, discards=True))
        else:
            self.run_worker(self.leave(is_forced=is_forced), group="leave", exit_on_error=False)

    @on(ExitApp)
    def _store_before_the_end(self, event: ExitApp) -> None:
        """Store everything when the app is ended from outside: a browser's page was closed."""
        if not (self.has_exited or self._is_leaving):
            event.prevent_default()
            self.action_leave(is_forced=True)

    async def leave(self, *, is_forced: bool = False) -> None:
        """Store everything and quit; forced, as by a lost connection, quit even if that fails."""
        from storyengine_tui.screens.chapter.stopped_calls import stopped_by_leaving

        self._is_told_to_end |= is_forced
        if self._is_leaving:
            return
        self._is_leaving = True
        kept = "" if self.session is None else stopped_by_leaving(self.session)
        self.chapter.feedback.show_progress(f"{kept} Storing and closing …".strip())
        try:
            self.workspace.withdraw_question()
            await commands_done(self, COMMANDS_TIMEOUT_SECONDS)
            if not await self._is_closed(insists=not is_forced):
                self._is_leaving = False
                return
        except BaseException:  # a bug, or cancelled; the GM can go on, and leave again
            self._is_leaving = False
            self.chapter.feedback.end_progress()
            raise
        self.chapter.early.keep()
        await self._runtime.stop()
        # Printed after the screen has closed, which may be faster than it can be read.
        self.exit(message=Text(kept) if kept else None)

    async def _is_closed(self, *, insists: bool) -> bool:
        """Close the chapter; False where typed text cannot be stored, and the GM is asked what to do."""
        try:
            await self.workspace.close_for_good(insists=insists)
        except StoryEngineError as error:
            if not self._is_told_to_end:  # A signal may have come since Ctrl+Q.
                self.chapter.feedback.show_leave_failure(error)
                if self.screen is not self.chapter:  # which has the question whether to quit all the same
                    self.notify(str(error), severity="warning", markup=False)
                return False
            log.error("typed text could not be stored before quitting: %s", error)
            if insists:
                await self.workspace.close_for_good()
        return True

    async def close_everything(self) -> None:
        """Store unsaved text, settle running requests, stop the engine; a second call does nothing."""
        try:
            await self.workspace.close_for_good()
        finally:
            await self._runtime.stop()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report a worker that failed: it is a bug."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or not isinstance(error, Exception):
            return
        if not self._is_cut_short(error):
            self._note_bug(error)
            self.show_bug(error)

    def survives(self, error: Exception) -> bool:
        """Close in order after a bug, so that `run_until_left` can start another app.

        After an exception Textual stops a widget's message pump, so anything that awaits it hangs: no page of
        this app can be used any more.
        """
        if self._is_cut_short(error):
            log.info("the app ended while parts of it were composed", exc_info=error)
            return True
        self._note_bug(error)
        if self._is_leaving or not self.is_running or not self.chapter.is_mounted:
            return False
        self.bug = self.bug or error
        if self._ending is None:
            self._ending = asyncio.create_task(self._close_and_exit())
        return True

    def _is_cut_short(self, error: Exception) -> bool:
        """Whether the app ends while a part is composed, whose children Textual does not mount any more.

        Work that fills a page misses them too.
        """
        if not self.chapter.is_mounted:
            return self.has_exited
        return isinstance(error, NoMatches) and (self.has_exited or not self.is_running)

    def _note_bug(self, error: Exception) -> None:
        log.error("an unexpected error in the app", exc_info=error)
        self.record_exception(error)

    def panic(self, *renderables: RenderableType) -> None:
        """Store everything before Textual's panic ends the app: the terminal cannot be read any more."""
        log.warning("the app ends in a panic")
        if self._is_leaving or not self.is_running or not self.chapter.is_mounted:
            super().panic(*renderables)
        elif self._ending is None:
            self._ending = asyncio.create_task(self._close_and_exit(1, Group(*renderables)))

    async def _close_and_exit(self, return_code: int = 0, message: RenderableType | None = None) -> None:
        self._is_leaving = True
        await self.close_in_time()
        self.exit(return_code=return_code, message=message)

    async def close_in_time(self) -> None:
        """Call `close_everything` with a time-out: parts of this app may hang."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self.close_everything()
        except (StoryEngineError, TimeoutError) as error:
            log.error("not everything could be closed after a bug: %s", error)
