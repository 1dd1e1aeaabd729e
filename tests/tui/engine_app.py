"""The whole program under test: the real app on the real engine, and a scripted model.

What it stores is in memory (`tests/store/contract` says that such a store is as good as the real one); a test
of storage takes `postgres_desktop`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.app import App
from textual.css.query import NoMatches
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from core.config.files.paths import Paths
from core.config.models.assignments import defaults_for
from core.config.settings import Settings
from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.services.speaking.afterthoughts import IdleClock
from core.gateway.embedding_service import EmbeddingPlan
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Script
from core.storage.session_store import SessionStore
from db.store import open_store
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.shell.app import StoryEngineApp
from tests.core.values.sessions import waiting
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore
from tests.store.servers import cloned
from tests.tui.frames import rendered

ScreenType = TypeVar("ScreenType", bound=Screen[Any])
PATIENCE = 60.0
"""Seconds after which a wait has failed: far beyond what a busy machine needs, so that it means a fault."""


@dataclass
class Desktop:
    """One machine: what is stored, a home, a script. Every `app()` is another window on it."""

    open_store: Callable[[], Awaitable[SessionStore]]
    paths: Paths
    script: Script = field(default_factory=Script)
    settings: Settings = field(default_factory=lambda: Settings(provider="scripted", _env_file=None))
    start_errors: list[StoryEngineError] = field(default_factory=list)
    """The next starts of the engine fail with these."""
    windows: int = 0
    ticks: int = 0
    backoff: float = 5.0
    """Seconds after which a summary that failed is tried again by itself."""
    idle: IdleClock = field(default_factory=IdleClock)
    """The time that passes while the GM is idle."""
    embedding: EmbeddingPlan | None = None
    """What makes vectors."""

    def clock(self) -> datetime:
        """Return a frozen time that advances by a second with every call."""
        self.ticks += 1
        return datetime(2026, 1, 2, 15, 0, tzinfo=UTC) + timedelta(seconds=self.ticks)

    @asynccontextmanager
    async def engine(self, label: str = "test") -> AsyncIterator[Engine]:
        """Yield an engine without a screen."""
        engine = Engine(
            await self.open_store(),
            ScriptedProvider(self.script),
            defaults_for("scripted"),
            label=label,
            clock=self.clock,
            embedding=self.embedding,
            play=waiting(self.backoff, idle_clock=self.idle),
        )
        try:
            yield engine
        finally:
            await engine.aclose()

    @asynccontextmanager
    async def start(self, configuration: Configuration) -> AsyncIterator[Engine]:
        """Start an engine as the app does."""
        if self.start_errors:
            raise self.start_errors.pop(0)
        self.windows += 1
        async with self.engine(f"window {self.windows}") as engine:
            yield engine

    def app(self) -> StoryEngineApp:
        """Return a window that is not open yet."""
        return StoryEngineApp(self.start, Configuration(self.paths, self.settings))

    @asynccontextmanager
    async def window(
        self, prepare: Callable[[Engine], Any] | None = None, *, size: tuple[int, int] = (80, 24)
    ) -> AsyncIterator[tuple[Pilot[None], StoryEngineApp]]:
        """Open the whole program on what `prepare` stores; at the end there was no bug, and it is closed."""
        if prepare is not None:
            await self.prepare(prepare)
        async with self.app().run_test(size=size) as pilot:
            app = await opened(pilot)
            yield pilot, app
            assert app.bug is None
            await app.close_everything()

    async def prepare(self, work: Callable[[Engine], Any]) -> None:
        """Do something with an engine before, or beside, the screen."""
        async with self.engine() as engine:
            await work(engine)

    def prepare_now(self, work: Callable[[Engine], Any]) -> None:
        """As `prepare`, from a test that is not async."""
        asyncio.run(self.prepare(work))


@dataclass(kw_only=True)
class PostgresDesktop(Desktop):
    """A machine whose database is at `url`."""

    url: str

    @classmethod
    def at(cls, url: str, paths: Paths, script: Script | None = None) -> "PostgresDesktop":
        """Return a machine that stores in the database at `url`."""
        return cls(lambda: open_store(url), paths, script or Script(), url=url)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """The directories of a machine of the test's own, in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return Paths(*(tmp_path / name for name in ("data", "config", "logs", "downloads")))


@pytest.fixture
def desktop(home: Paths) -> Desktop:
    """A machine of the test's own with nothing stored, which keeps in memory what it stores."""
    database = MemoryDatabase()

    async def open_window() -> SessionStore:
        return MemoryStore(database)

    return Desktop(open_window, home)


@pytest.fixture
def postgres_desktop(private_template: str, home: Paths) -> Iterator[PostgresDesktop]:
    """A machine of the test's own with an empty database."""
    for url in cloned(private_template):
        yield PostgresDesktop.at(url, home)


async def until(
    pilot: Pilot[Any], holds: Callable[[], object], what: str = "", patience: float = PATIENCE
) -> None:
    """Let the app work until `holds`; fail when time is up.

    A part that is not there yet is waited for: the page of a tab is made when the tab is first shown.
    """
    deadline = time.monotonic() + patience

    def has_come() -> object:
        try:
            return holds()
        except NoMatches:
            return False

    while not has_come():
        if pilot.app._exception is not None:
            raise pilot.app._exception
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what or f'not within {patience:.0f} s'}\n{screen_text(pilot.app)}")
        # What waits to be painted may be waited for: frames are painted at a pause alone (tests.tui.frames).
        if pilot.app.screen_stack and pilot.app.screen._compositor._dirty_regions:
            await pilot.pause()
        await asyncio.sleep(0.01)
    await pilot.pause()


def screen_text(app: App[Any]) -> str:
    """Return the text on the screen, row by row."""
    rows = rendered(app)
    return "\n".join("".join(segment.text for segment in row).rstrip() for row in rows)


async def opened(pilot: Pilot[Any]) -> StoryEngineApp:
    """Wait until a session is open and shown."""
    app = pilot.app
    assert isinstance(app, StoryEngineApp)
    await until(pilot, lambda: app.session is not None and app.chapter.is_open)
    # The focus comes last; a key that is pressed before would go to another widget.
    await until(pilot, lambda: app.screen is not app.chapter or app.focused is not None)
    return app


async def filled(pilot: Pilot[Any], *tabs: str) -> None:
    """Wait until the pages of these tabs are filled; at a terminal the program fills them after a pause."""
    app = pilot.app
    assert isinstance(app, StoryEngineApp)
    pages = app.chapter._pages
    await until(pilot, lambda: all(pages.get_page(tab) for tab in tabs))


async def in_front(pilot: Pilot[Any], kind: type[ScreenType], focus: type[Widget] = Widget) -> ScreenType:
    """Wait for a screen of this kind that is ready for keys: the focus is in such a widget of it."""
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))
    screen = pilot.app.screen
    assert isinstance(screen, kind)
    await until(pilot, lambda: isinstance(screen.focused, focus))
    return screen


def tab1(world: str = "A lighthouse on a rock.", chapter: str = "The relief boat is late.") -> Tab1Edit:
    """Return a small set-up with three characters."""
    return Tab1Edit(
        world=world,
        chapter=chapter,
        names={Slot.RED: "Mira", Slot.ORANGE: "Jonas [/x]"},
        identities={Slot.RED: "You keep the light.", Slot.ORANGE: "You row the boat."},
    )


async def make_draft(engine: Engine) -> SessionId:
    """Store a session that is set up and not locked."""
    session_id = await engine.create()
    session = await engine.open(session_id)
    await session.edits.edit_tab1(tab1())
    await session.aclose()
    return session_id


async def make_active(engine: Engine, prompts: int = 0) -> SessionId:
    """Store a session that is locked and has been played for some prompts."""
    session_id = await make_draft(engine)
    session = await engine.open(session_id)
    await session.wait(await session.lock())
    for number in range(prompts):
        slot = session.snapshot.session.next_slot
        await session.wait(await session.submit_prompt(slot, f"Prompt number {number + 1}."))
    await session.aclose()
    return session_id
