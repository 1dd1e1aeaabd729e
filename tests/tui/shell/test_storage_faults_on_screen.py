"""The screen while the database answers, and refuses: it can only be read, somebody holds what is wanted, it
cuts every connection in its transaction, or its disk is full. What the GM typed stays where it was typed,
the program says why, never ends by itself, and stores it once the database takes it again."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from sqlalchemy import make_url
from textual import events

from core.domain.slot import Slot
from db.embedded.server import EmbeddedServer
from db.embedded.watchdog import keep_alive
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.engine.faults.test_storage_faults import fill, small_disk
from tests.store.servers import administer, in_database, plain_url
from tests.torture.readers.reader import Reader
from tests.tui.engine_app import PostgresDesktop, make_active, make_draft
from tests.tui.rooms.chapter_page import make_ended
from tests.tui.rooms.outage_room import IS_WHOLE, Room, in_room, in_torture, place_on
from tests.tui.rooms.outage_room import place as place
from tests.tui.rooms.outage_room import server as server
from tests.tui.rooms.play_table import Gate
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

PATIENCE = 60.0
LIMITS = "SELECT set_config('lock_timeout', '{}', false), set_config('statement_timeout', '{}', false)"
TABLES: LiteralString = "event, unsent_text, llm_request, tab1_input, session"
WAITERS: LiteralString = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND application_name = 'storyengine' AND datname = current_database()"
)
WRITERS: LiteralString = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE application_name = 'storyengine' AND datname = current_database()"
    " AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
)


@dataclass(frozen=True)
class Fault:
    """A way in which a database refuses as long as a block lasts, and what the screen says of it."""

    name: str
    of: Callable[[str], AbstractAsyncContextManager[None]]
    said: str
    lock_timeout: str = "10s"
    statement_timeout: str = "20s"


@asynccontextmanager
async def held(url: str, statement: LiteralString) -> AsyncIterator[psycopg.Connection]:
    """Be another client that holds something until the block ends."""
    with psycopg.connect(plain_url(url)) as other:
        await asyncio.to_thread(other.execute, statement)
        yield other


@asynccontextmanager
async def locked_tables(url: str) -> AsyncIterator[None]:
    async with held(url, f"LOCK TABLE {TABLES} IN ACCESS EXCLUSIVE MODE"):
        yield


@asynccontextmanager
async def locked_row(url: str) -> AsyncIterator[None]:
    async with held(url, "SELECT id FROM session FOR UPDATE"):
        yield


@asynccontextmanager
async def cut_in_transactions(url: str) -> AsyncIterator[None]:
    """Whoever waits in the midst of a transaction is cut off, again and again."""

    async def cut() -> None:
        # Apart from the transaction that holds the lock, in which the view would never change.
        with psycopg.connect(plain_url(url), autocommit=True) as other:
            while True:
                await asyncio.to_thread(other.execute, WAITERS)
                await asyncio.sleep(0.02)  # a server announces no wait for a lock

    async with held(url, f"LOCK TABLE {TABLES} IN EXCLUSIVE MODE"):
        cutting = asyncio.create_task(cut())
        try:
            yield
        finally:
            cutting.cancel()
            with suppress(asyncio.CancelledError):
                await cutting


@asynccontextmanager
async def only_read(url: str) -> AsyncIterator[None]:
    """As after a failover to a server that is not yet the first; no connection is cut at the end.

    Who holds the writer's lock keeps it: that connection would only hide what becomes of the others.
    """
    database, elsewhere = make_url(url).database or "", in_database(url, "postgres")
    administer(elsewhere, "ALTER DATABASE {} SET default_transaction_read_only = on", database)
    with psycopg.connect(plain_url(url)) as other:
        await asyncio.to_thread(other.execute, WRITERS)
    try:
        yield
    finally:
        administer(elsewhere, "ALTER DATABASE {} RESET default_transaction_read_only", database)


FAULTS: Sequence[Fault] = (
    Fault("tables that another client has locked", locked_tables, "lock timeout", lock_timeout="50ms"),
    Fault("a row that another client has locked", locked_row, "statement timeout", statement_timeout="1s"),
    Fault("connections that are cut in their transactions", cut_in_transactions, "administrator command"),
    Fault("a database that can only be read", only_read, "read-only transaction"),
)


def faults(*, briefly: slice) -> pytest.MarkDecorator:
    """Each of them in `make torture`, and these in every run: each is in some test of it."""
    return pytest.mark.parametrize(
        "fault", FAULTS if IS_WHOLE else FAULTS[briefly], ids=lambda fault: fault.name
    )


@pytest.fixture(autouse=True)
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement waits no longer than the test can."""
    parameters = getattr(request.node, "callspec", None)
    fault = parameters.params.get("fault") if parameters else None
    if fault is not None:
        limits = LIMITS.format(fault.lock_timeout, fault.statement_timeout)
        monkeypatch.setattr("db.connections._LIMITS", limits)


@faults(briefly=slice(2, 4))
async def test_a_prompt_that_is_typed_and_sent_stays_on_screen_and_goes_once_it_can(
    place: PostgresDesktop, fault: Fault
) -> None:
    async with in_room(place, make_active) as room:
        async with fault.of(place.url):
            await type_and_send(room, "Half a thought", fault.said)
        await goes_on(room, "Half a thought!")
    await asyncio.to_thread(Reader().check, plain_url(place.url))


async def type_and_send(room: Room, text: str, said: str) -> None:
    """Type a text, or paste a long one, and send it, while the store refuses."""
    table = room.table
    if len(text) < 100:
        await table.type(text)
    else:
        room.app.post_message(events.Paste(text))
    await room.hear_of_it(said)
    assert table.text(Slot.RED) == text
    await room.pilot.press("enter")
    await room.until(lambda: table.text(Slot.RED) == text, "the text is not back")
    await room.hear_of_it(said)
    await table.type("!")
    assert table.text(Slot.RED) == f"{text}!"
    assert table.transcript.text == "", "no prompt was numbered"


async def goes_on(room: Room, text: str) -> None:
    """By itself what is on screen is stored; sent again, it is the first prompt, and is there once."""
    table = room.table
    await room.until(lambda: table.snapshot.unsent == {Slot.RED: text}, "not stored by itself", PATIENCE)
    assert await room.stored_unsent() == {Slot.RED: text}
    await room.until(lambda: "could not be" not in room.banners, "the banner stays")
    await room.pilot.press("enter")
    await room.until(lambda: table.played(1), "it does not go on")
    assert [event.text for event in await table.events() if event.ordinal == 0] == [text]
    assert await room.stored_unsent() == {}


@faults(briefly=slice(0, 1))
async def test_a_reply_that_was_paid_for_is_on_screen_and_stored_once_when_it_can(
    place: PostgresDesktop, fault: Fault, gate: Gate
) -> None:
    async with in_room(place, make_active) as room:
        table = room.table
        await room.begin_reply()
        async with fault.of(place.url):
            gate.open()
            await room.hear_of_it(fault.said)
            await table.type("meanwhile")
            assert "I hold on. Then I let go." in table.transcript.text
        await room.until(lambda: table.played(1), "it does not go on", PATIENCE)
        assert [event.text for event in await table.events()] == ["HOLD", "I hold on. Then I let go."]
        await room.until(lambda: "meanwhile" in table.snapshot.unsent.values(), "not stored", PATIENCE)
        await room.until(lambda: "could not be" not in room.banners, "the banner stays")
    await asyncio.to_thread(Reader().check, plain_url(place.url))


@faults(briefly=slice(1, 2))
async def test_a_world_that_is_typed_is_stored_by_itself_once_it_can(
    place: PostgresDesktop, fault: Fault
) -> None:
    async with in_room(place, make_draft) as room:
        await room.pilot.press("f2")
        area = room.app.chapter.query_one(SetupPane).query(CappedTextArea).first()
        area.focus()
        async with fault.of(place.url):
            await room.pilot.press("ctrl+end", *"and rain")
            await room.hear_of_it(fault.said)
            text = area.text
            assert text.endswith("and rain")
        session = room.app.workspace.session
        assert session is not None
        await room.until(lambda: session.snapshot.tab1.world == text, "not stored", PATIENCE)
        assert (await room.stored()).tab1.world == text
        await room.until(lambda: "could not be" not in room.banners, "the banner stays")


@in_torture
@faults(briefly=slice(3, 4))
async def test_a_definition_that_is_typed_is_stored_by_itself_once_it_can(
    place: PostgresDesktop, fault: Fault
) -> None:
    async with in_room(place, make_ended) as room:
        await room.pilot.press("f4")
        pane = room.app.chapter.query_one(NarrativePane)
        area = pane.query_one("#definition", CappedTextArea)
        area.focus()
        async with fault.of(place.url):
            await room.pilot.press(*"In the manner of the sea")
            await room.hear_of_it(fault.said)
            assert area.text == "In the manner of the sea"
        await room.until(lambda: pane.session.snapshot.session.definition == area.text, "", PATIENCE)
        assert (await room.stored()).session.definition == "In the manner of the sea"
        await room.until(lambda: "could not be" not in room.banners, "the banner stays")


@in_torture
async def test_on_a_full_disk_a_prompt_stays_on_screen_and_goes_once_there_is_room(tmp_path: Path) -> None:
    with small_disk() as disk:
        server = EmbeddedServer(disk / "postgres", grace=0.0)
        place = place_on(await server.acquire_async(PATIENCE), tmp_path)
        async with keep_alive(server, every=0.1):
            async with in_room(place, make_active) as room:
                # What cannot be compressed, and is long: short texts find room in the pages that there are.
                text = os.urandom(2_000).hex()
                ballast = await asyncio.to_thread(fill, disk)
                await type_and_send(room, text, "The disk of the database is full")
                ballast.unlink()
                await goes_on(room, f"{text}!")
            await asyncio.to_thread(Reader().check, plain_url(place.url))
        await asyncio.to_thread(server.release)
