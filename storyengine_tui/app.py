"""The application: what is on screen before there is an engine, and what opens and closes sessions."""

import asyncio
import signal
import sys
from functools import partial
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import Worker, WorkerState

from core.engine.engine import Engine
from core.engine.open_session import OpenSession
from core.errors import StoryEngineError
from core.ids import SessionId
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.runtime import EngineFailed, EngineReady, Runtime, StartEngine
from storyengine_tui.screens.chapter_screen import ChapterScreen
from storyengine_tui.theme import STORY_THEME, theme_variables


class StoryEngineApp(App[None]):
    """Paints at once; the engine comes up behind the first paint."""

    TITLE = "Story Engine"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("f5", "chapters", "Chapters"),
        Binding("f6", "model", "Model"),
        Binding("f7", "provenance", "Calls"),
        Binding("ctrl+q", "leave", "Quit", priority=True),
    ]

    def __init__(self, start: StartEngine, configuration: Configuration) -> None:
        super().__init__()
        self.configuration = configuration
        self._runtime = Runtime(start)
        self._engine: Engine | None = None
        self._session: OpenSession | None = None
        self._is_leaving = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give every theme our own variables."""
        return theme_variables()

    @property
    def engine(self) -> Engine | None:
        """The engine, once it runs."""
        return self._engine

    @property
    def session(self) -> OpenSession | None:
        """The open session, once there is one."""
        return self._session

    async def on_mount(self) -> None:
        """Paint, then start the engine."""
        self.register_theme(STORY_THEME)
        self.theme = STORY_THEME.name
        self.chapter = ChapterScreen()
        await self.push_screen(self.chapter)
        self._heed_hang_up()
        self.call_after_refresh(self.start_engine)

    def start_engine(self) -> None:
        """Start the engine, or start it again after it failed."""
        self.run_worker(self._start_engine(), name="start", exclusive=True, group="engine")

    async def _start_engine(self) -> None:
        self.chapter.show_progress("Starting the database …")
        match await self._runtime.start():
            case EngineFailed(error):
                self.chapter.show_start_failure(error)
            case EngineReady(engine):
                self._engine = engine
                await self._open_last()

    async def _open_last(self) -> None:
        """Open the session that was played last; a newcomer is led by hand."""
        engine = self.require_engine()
        try:
            sessions = await engine.sessions()
            session_id = sessions[0].id if sessions else await engine.create()
            await self.open_session(session_id)
        except StoryEngineError as error:
            self.chapter.show_start_failure(error)
            return
        if not sessions:
            self.action_welcome()

    def require_engine(self) -> Engine:
        """Return the engine; raise RuntimeError before it runs."""
        if self._engine is None:
            raise RuntimeError("the engine does not run yet")
        return self._engine

    async def open_session(self, session_id: SessionId) -> None:
        """Close the open session, everything typed stored, and open another."""
        engine = self.require_engine()
        self.chapter.show_progress("Opening the chapter …")
        await self.close_session()
        self._session = await engine.open(session_id)
        await self.chapter.attach(self._session)

    async def close_session(self) -> None:
        """Store what is typed, settle what runs, give the writer's lock back."""
        if self._session is None:
            return
        await self.chapter.detach()
        await self._session.aclose()
        self._session = None

    def action_welcome(self) -> None:
        """Lead a newcomer by hand."""
        from storyengine_tui.screens.welcome_modal import WelcomeModal

        self.push_screen(WelcomeModal())

    def action_chapters(self) -> None:
        """List the chapters."""
        from storyengine_tui.screens.chapters_screen import ChaptersScreen

        self.push_screen(ChaptersScreen())

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

    async def action_leave(self) -> None:
        """Store everything and end."""
        await self._leave()

    async def _leave(self) -> None:
        if self._is_leaving:
            return
        self._is_leaving = True
        self.chapter.show_progress("Storing and closing …")
        try:
            await self.close_session()
        finally:
            await self._runtime.stop()
            self.exit()

    def _heed_hang_up(self) -> None:
        """A dropped line or a polite kill ends the program as Ctrl+Q does: stored, settled, closed."""
        if sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for sent in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(sent, partial(self.run_worker, self._leave(), name="leave"))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed is a bug: it ends the program with its traceback in the log."""
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.log.error(event.worker.error)
