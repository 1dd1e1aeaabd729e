"""The screen while the database is away: the GM's text stays on it, the program says so, never ends by
itself, and stores the text once the database is back."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.paths import Paths
from core.slot import Slot
from storyengine_tui.app import StoryEngineApp
from storyengine_tui.screens.play_pane import PlayPane
from storyengine_tui.screens.setup_pane import SetupPane
from storyengine_tui.widgets.banner import Banner
from tests.store.servers import PlainServer, administer, in_database, plain_server, plain_url
from tests.torture.reader import Reader
from tests.tui.engine_app import Desktop, make_active, make_draft, opened
from tests.tui.play_table import SCRIPT, Gate, Table
from tests.tui.play_table import gate as gate

pytestmark = pytest.mark.anyio

IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
in_torture = pytest.mark.skipif(
    not IS_WHOLE, reason="`make torture` has it; the engine's test is in every run"
)
_numbers = count(1)
OUTAGES = (1, 10, 60) if IS_WHOLE else (1,)


async def until(
    pilot: Pilot[Any], holds: Callable[[], object], what: str = "", patience: float = 30.0
) -> None:
    """Let the app work until `holds`; outages are longer than other tests are patient."""
    deadline = time.monotonic() + patience
    while not holds():
        if pilot.app._exception is not None:
            raise pilot.app._exception
        assert time.monotonic() < deadline, what or f"not within {patience:.0f} s"
        await pilot.pause(0.01)
    await pilot.pause()


@dataclass
class Room:
    """The whole program on a server that can be taken away."""

    pilot: Pilot[Any]
    app: StoryEngineApp
    server: PlainServer

    @property
    def table(self) -> Table:
        return Table(self.pilot, self.app)

    @property
    def banners(self) -> str:
        """What all banners on screen say."""
        shown = [banner.content for banner in self.app.chapter.query(Banner) if banner.content is not None]
        buttons = [action.label for content in shown for action in content.actions]
        return "\n".join([*(f"{content.sentence} {content.hint}" for content in shown), *buttons])

    async def stop_server(self) -> None:
        await asyncio.to_thread(self.server.stop)

    async def hear_of_it(self) -> None:
        """Wait until the screen says that something could not be stored."""
        await until(self.pilot, lambda: "could not be" in self.banners, "nothing is said", 30)

    async def lose_server_to_a_reply(self, gate: Gate) -> None:
        """Stop the server while a reply streams, and let the reply come to its end."""
        await self.table.send("HOLD")
        await until(self.pilot, lambda: self.table.transcript.is_streaming)
        await self.stop_server()
        gate.open()

    async def start_server(self, after: float) -> None:
        """Bring it back after an outage of so many seconds, all the while looking at the screen."""
        loop = asyncio.get_running_loop()
        back = loop.time() + after
        await until(self.pilot, lambda: loop.time() >= back or not self.app.is_running, "", after + 15)
        assert self.app.is_running, "it ended by itself"
        await asyncio.to_thread(self.server.start)


@pytest.fixture(scope="module")
def server() -> Iterator[PlainServer]:
    with plain_server() as running:
        yield running


@pytest.fixture
def place(server: PlainServer, tmp_path: Path) -> Desktop:
    names = ("data", "config", "logs", "downloads")
    database = f"outage_{next(_numbers)}"
    administer(server.url, "CREATE DATABASE {}", database)
    url = in_database(server.url, database)
    return Desktop(url, Paths(*(tmp_path / name for name in names)), script=SCRIPT)


@asynccontextmanager
async def in_room(place: Desktop, server: PlainServer) -> AsyncIterator[Room]:
    app = place.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        yield Room(pilot, app, server)
        assert app.is_running
        assert app._exception is None


async def stored_unsent(room: Room) -> dict[Slot, str]:
    session = room.app.desk.session
    assert session is not None
    return dict((await session._store.load(session.id)).unsent)


@pytest.mark.parametrize("seconds", OUTAGES)
async def test_a_prompt_that_is_typed_and_sent_in_an_outage_stays_and_goes_afterwards(
    place: Desktop, server: PlainServer, seconds: int
) -> None:
    await place.prepare(make_active)
    async with in_room(place, server) as room:
        table = room.table
        await table.type("Half")
        await room.stop_server()
        await table.type(" a thought")
        await room.hear_of_it()
        assert table.text(Slot.RED) == "Half a thought"
        await room.pilot.press("enter")
        await until(room.pilot, lambda: table.text(Slot.RED) == "Half a thought", "the text is not back", 30)
        await table.type("!")
        await room.start_server(seconds)
        await until(room.pilot, lambda: table.snapshot.unsent == {Slot.RED: "Half a thought!"}, "", 60)
        assert await stored_unsent(room) == {Slot.RED: "Half a thought!"}
        await room.pilot.press("enter")
        await until(room.pilot, lambda: table.played(1), "it does not go on", 30)
        assert "1) Half a thought!" in table.transcript.text
        assert await stored_unsent(room) == {}
    await asyncio.to_thread(Reader().check, plain_url(place.url))


@in_torture
async def test_a_reply_that_streams_into_an_outage_is_shown_and_stored_once(
    place: Desktop, server: PlainServer, gate: Gate
) -> None:
    await place.prepare(make_active)
    async with in_room(place, server) as room:
        table = room.table
        await room.lose_server_to_a_reply(gate)
        await room.hear_of_it()
        await table.type("meanwhile")
        assert "I hold on." in table.transcript.text, "what was paid for is on screen"
        await room.start_server(1)
        await until(room.pilot, lambda: table.played(1), "it does not go on", 30)
        assert table.transcript.text.count("1) HOLD") == 1
        await until(room.pilot, lambda: "meanwhile" in table.snapshot.unsent.values(), "", 30)
        await until(room.pilot, lambda: "could not be" not in room.banners, "the banner stays", 30)


@in_torture
async def test_a_world_that_is_typed_in_an_outage_is_stored_afterwards(
    place: Desktop, server: PlainServer
) -> None:
    await place.prepare(make_draft)
    async with in_room(place, server) as room:
        pane = room.app.chapter.query_one(SetupPane)
        await room.pilot.press("f2")
        area = pane.query("CappedTextArea").first()
        area.focus()
        await room.stop_server()
        await room.pilot.press("end", *"and rain")
        await room.hear_of_it()
        text = area.text  # type: ignore[attr-defined]
        await room.start_server(1)
        session = room.app.desk.session
        assert session is not None
        await until(room.pilot, lambda: session.snapshot.tab1.world == text, "not stored", 60)
        assert (await session._store.load(session.id)).tab1.world == text


async def test_leaving_in_an_outage_says_what_would_be_lost_and_stays(
    place: Desktop, server: PlainServer, gate: Gate
) -> None:
    await place.prepare(make_active)
    async with in_room(place, server) as room:
        table = room.table
        await room.lose_server_to_a_reply(gate)
        await table.type("not yet")
        await room.hear_of_it()
        await room.pilot.press("ctrl+q")
        await until(room.pilot, lambda: "Quit without storing it" in room.banners, "the GM is not asked")
        assert room.app.chapter.query_one(PlayPane).composer.area(Slot.ORANGE).text == "not yet"
        await room.start_server(0)
        await until(room.pilot, lambda: table.played(1), "it does not go on", 30)
