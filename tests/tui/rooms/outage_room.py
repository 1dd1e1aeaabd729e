"""Helpers of the tests of a failing store: the whole program, on a server that may be taken away."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.config.files.paths import Paths
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.storage.snapshot import Snapshot
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from tests.store.servers import PlainServer, administer, in_database, plain_server
from tests.tui import engine_app
from tests.tui.engine_app import PostgresDesktop, opened
from tests.tui.rooms.play_table import SCRIPT, Gate, Table

IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
in_torture = pytest.mark.skipif(
    not IS_WHOLE, reason="`make torture` has it; the engine's test is in every run"
)
_numbers = count(1)


async def until(
    pilot: Pilot[Any], holds: Callable[[], object], what: str = "", patience: float = 120.0
) -> None:
    """Let the app work until `holds`; outages are longer than other tests are patient."""
    await engine_app.until(pilot, holds, what, patience)


@dataclass
class Room:
    """The whole program on a database that gets into trouble."""

    pilot: Pilot[Any]
    app: StoryEngineApp
    url: str

    @property
    def table(self) -> Table:
        return Table(self.pilot, self.app)

    @property
    def banners(self) -> str:
        """The texts of all banners on screen."""
        shown = [banner.content for banner in self.app.chapter.query(Banner) if banner.content is not None]
        buttons = [action.label for content in shown for action in content.actions]
        return "\n".join([*(f"{content.sentence} {content.hint}" for content in shown), *buttons])

    async def until(self, holds: Callable[[], object], what: str = "", patience: float = 120.0) -> None:
        await until(self.pilot, holds, what, patience)

    async def hear_of_it(self, said: str = "could not be") -> None:
        """Wait until the screen says that something could not be stored, in these words."""
        await self.until(lambda: said in self.banners, f"nothing is said of it: {said}")

    async def begin_reply(self) -> None:
        """Send a prompt whose reply streams until the gate is opened."""
        await self.table.send("HOLD")
        await self.until(lambda: self.table.is_streaming)

    async def stop_server(self, server: PlainServer) -> None:
        await asyncio.to_thread(server.stop)

    async def lose_server_to_a_reply(self, server: PlainServer, gate: Gate) -> None:
        """Stop the server while a reply streams, and let the reply come to its end."""
        await self.begin_reply()
        await self.stop_server(server)
        gate.open()

    async def start_server(self, server: PlainServer, after: float) -> None:
        """Bring it back after an outage of so many seconds, all the while looking at the screen."""
        loop = asyncio.get_running_loop()
        back = loop.time() + after
        await self.until(lambda: loop.time() >= back or not self.app.is_running, "", after + 15)
        assert self.app.is_running, "it ended by itself"
        await asyncio.to_thread(server.start)

    async def stored(self) -> Snapshot:
        """Read the session from the database."""
        session = self.app.workspace.session
        assert session is not None
        return await session._store.load(session.id)

    async def stored_unsent(self) -> dict[Slot, str]:
        return dict((await self.stored()).unsent)


@pytest.fixture(scope="module")
def server() -> Iterator[PlainServer]:
    with plain_server() as running:
        yield running


@pytest.fixture
def place(server: PlainServer, tmp_path: Path) -> PostgresDesktop:
    """A machine of the test's own, with an empty database on that server."""
    database = f"outage_{next(_numbers)}"
    administer(server.url, "CREATE DATABASE {}", database)
    return place_on(in_database(server.url, database), tmp_path)


def place_on(url: str, home: Path) -> PostgresDesktop:
    """Return a machine whose database has this address."""
    names = ("data", "config", "logs", "downloads")
    return PostgresDesktop.at(url, Paths(*(home / name for name in names)), SCRIPT)


@asynccontextmanager
async def in_room(place: PostgresDesktop, make: Callable[[Engine], Any]) -> AsyncIterator[Room]:
    """Sit at the program, on what `make` stores, until the block ends; it must not have ended by itself."""
    await place.prepare(make)
    app = place.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        yield Room(pilot, app, place.url)
        assert app.is_running
        assert app._exception is None
