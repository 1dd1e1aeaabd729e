"""The application: what is on screen before there is an engine, and what opens and closes sessions."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from core.engine.engine import Engine
from core.engine.open_session import OpenSession
from core.errors import StoryEngineError
from core.ids import SessionId
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.last_session import read_last_session, write_last_session
from storyengine_tui.palette import commands_of
from storyengine_tui.runtime import EngineFailed, EngineReady, Runtime
from storyengine_tui.screens.chapter_screen import ChapterScreen
from storyengine_tui.terminal import Terminal
from storyengine_tui.theme import STORY_THEME, theme_variables

log = logging.getLogger(__name__)

StartEngine = Callable[[Configuration], AbstractAsyncContextManager[Engine]]


class StoryEngineApp(App[None]):
    """Paints at once; the engine comes up behind the first paint."""

    TITLE = "Story Engine"
    CSS_PATH = ["app.tcss", "widgets/widgets.tcss"]
    HELP = "Every text is stored by itself. Ctrl+P finds every command by its name."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("question_mark", "help", "Help", show=False),
        Binding("f5", "chapters", "Chapters"),
        Binding("f6", "model", "Model"),
        Binding("f7", "provenance", "Calls"),
        Binding("ctrl+q", "leave", "Quit", priority=True),
    ]

    def __init__(self, start: StartEngine, configuration: Configuration) -> None:
        super().__init__()
        self.configuration = configuration
        self.chapter = ChapterScreen()
        self._start = start
        self._runtime = Runtime(partial(start, configuration))
        self._engine: Engine | None = None
        self._session: OpenSession | None = None
        self._opening = asyncio.Lock()
        self._terminal = Terminal(self)
        self._is_leaving = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give every theme our own variables."""
        return theme_variables()

    def get_default_screen(self) -> Screen[None]:
        """Return the chapter, over which everything else lies."""
        return self.chapter

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer what can be done now in the command palette."""
        return commands_of(self)

    @property
    def engine(self) -> Engine | None:
        """The engine, once it runs."""
        return self._engine

    @property
    def session(self) -> OpenSession | None:
        """The open session, once there is one."""
        return self._session

    def on_mount(self) -> None:
        """Paint, then start the engine."""
        self.register_theme(STORY_THEME)
        self.theme = STORY_THEME.name
        self._terminal.heed_hang_up()
        self.call_after_refresh(self.start_engine)

    @on(ChapterScreen.StartRequested)
    def start_engine(self) -> None:
        """Start the engine, or start it again after it failed."""
        self.run_worker(self._start_engine(), group="engine", exclusive=True, exit_on_error=False)

    async def _start_engine(self) -> None:
        self.chapter.show_progress("Starting the database …")
        match await self._runtime.start():
            case EngineFailed(error):
                self.chapter.show_start_failure(error)
            case EngineReady(engine):
                self._engine = engine
                await self._open_last()

    async def _open_last(self) -> None:
        """Open the session that was open last; a newcomer is led by hand."""
        engine = self.require_engine()
        try:
            known = [summary.id for summary in await engine.sessions()]
            last = read_last_session(self.configuration.paths)
            wanted = last if last in known else next(iter(known), None)
            await self.open_session(wanted or await engine.create())
        except StoryEngineError as error:
            self.chapter.show_start_failure(error)
            return
        if not known:
            self.action_welcome()

    async def reconfigure(self, configuration: Configuration) -> None:
        """Go on with other settings: the engine is stopped, everything stored, and started anew."""
        self.configuration = configuration
        await self.close_session()
        self._engine = None
        await self._runtime.stop()
        self._runtime = Runtime(partial(self._start, configuration))
        self.start_engine()

    def require_engine(self) -> Engine:
        """Return the engine; raise RuntimeError before it runs."""
        if self._engine is None:
            raise RuntimeError("the engine does not run yet")
        return self._engine

    async def open_session(self, session_id: SessionId) -> None:
        """Close the open session, everything typed stored, and open another."""
        async with self._opening:
            if self._session is not None:
                await self._close_session()
            self.chapter.show_progress("Opening the chapter …")
            self._session = await self.require_engine().open(session_id)
            await self.chapter.attach(self._session)
            write_last_session(self.configuration.paths, session_id)
            self.refresh_bindings()

    async def close_session(self) -> None:
        """Store what is typed, settle what runs, give the writer's lock back."""
        async with self._opening:
            await self._close_session()

    async def _close_session(self) -> None:
        if self._session is None:
            return
        await self.chapter.detach()
        session, self._session = self._session, None
        await session.aclose()

    def action_welcome(self) -> None:
        """Lead a newcomer by hand."""
        from storyengine_tui.screens.welcome_modal import WelcomeModal

        self.push_screen(WelcomeModal())

    def action_chapters(self) -> None:
        """List the chapters."""
        from storyengine_tui.screens.chapters_screen import ChaptersScreen

        self.push_screen(ChaptersScreen())

    async def action_new_chapter(self) -> None:
        """Start with an empty world."""
        await self.open_session(await self.require_engine().create())

    def action_model(self) -> None:
        """Show who answers, and how to connect another model."""
        from storyengine_tui.screens.model_screen import ModelScreen

        self.push_screen(ModelScreen(self.configuration))

    def action_provenance(self) -> None:
        """Show every call of the session."""
        from storyengine_tui.screens.provenance_screen import ProvenanceScreen

        if self._session is not None:
            self.push_screen(ProvenanceScreen(self.require_engine().store, self._session))

    def action_help(self) -> None:
        """Show the keys of what has the focus."""
        from storyengine_tui.screens.help_screen import HelpScreen

        self.push_screen(HelpScreen.of(self.screen))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim what needs an engine or a session until there is one."""
        if action in ("chapters", "model"):
            return True if self._engine is not None else None
        if action == "provenance":
            return True if self._session is not None else None
        return True

    def action_leave(self) -> None:
        """Store everything and end."""
        self.run_worker(self.leave(), group="leave", exit_on_error=False)

    async def leave(self) -> None:
        """Store everything and end."""
        if self._is_leaving:
            return
        self._is_leaving = True
        self.chapter.show_progress("Storing and closing …")
        try:
            await self.close_everything()
        finally:
            self.exit()

    async def close_everything(self) -> None:
        """Store what is typed, settle what runs, stop the engine; doing it again does nothing."""
        try:
            await self.close_session()
        finally:
            await self._runtime.stop()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed is a bug."""
        if event.state is WorkerState.ERROR and isinstance(event.worker.error, Exception):
            self._handle_exception(event.worker.error)
