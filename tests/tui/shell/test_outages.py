"""The screen while the database is away: the GM's text stays on it, the program says so, never ends by
itself, and stores the text once the database is back."""

import asyncio

import pytest

from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.store.servers import PlainServer, plain_url
from tests.torture.readers.reader import Reader
from tests.tui.engine_app import PostgresDesktop, make_active, make_draft
from tests.tui.rooms.outage_room import IS_WHOLE, in_room, in_torture
from tests.tui.rooms.outage_room import place as place
from tests.tui.rooms.outage_room import server as server
from tests.tui.rooms.play_table import Gate
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

OUTAGES = (1, 10, 60) if IS_WHOLE else (1,)


@pytest.mark.parametrize("seconds", OUTAGES)
async def test_a_prompt_that_is_typed_and_sent_in_an_outage_stays_and_goes_afterwards(
    place: PostgresDesktop, server: PlainServer, seconds: int
) -> None:
    async with in_room(place, make_active) as room:
        table = room.table
        await table.type("Half")
        await room.stop_server(server)
        await table.type(" a thought")
        await room.hear_of_it()
        assert table.text(Slot.RED) == "Half a thought"
        await room.pilot.press("enter")
        await room.until(lambda: table.text(Slot.RED) == "Half a thought", "the text is not back")
        await table.type("!")
        await room.start_server(server, seconds)
        await room.until(lambda: table.snapshot.unsent == {Slot.RED: "Half a thought!"}, "", 60)
        assert await room.stored_unsent() == {Slot.RED: "Half a thought!"}
        await room.pilot.press("enter")
        await room.until(lambda: table.played(1), "it does not go on")
        assert "1) Half a thought!" in table.transcript.text
        assert await room.stored_unsent() == {}
    await asyncio.to_thread(Reader().check, plain_url(place.url))


@in_torture
async def test_a_reply_that_streams_into_an_outage_is_shown_and_stored_once(
    place: PostgresDesktop, server: PlainServer, gate: Gate
) -> None:
    async with in_room(place, make_active) as room:
        table = room.table
        await room.lose_server_to_a_reply(server, gate)
        await room.hear_of_it()
        await table.type("meanwhile")
        assert "I hold on." in table.transcript.text, "what was paid for is on screen"
        await room.start_server(server, 1)
        await room.until(lambda: table.played(1), "it does not go on")
        assert table.transcript.text.count("1) HOLD") == 1
        await room.until(lambda: "meanwhile" in table.snapshot.unsent.values())
        await room.until(lambda: "could not be" not in room.banners, "the banner stays")


@in_torture
async def test_a_world_that_is_typed_in_an_outage_is_stored_afterwards(
    place: PostgresDesktop, server: PlainServer
) -> None:
    async with in_room(place, make_draft) as room:
        pane = room.app.chapter.query_one(SetupPane)
        await room.pilot.press("f2")
        area = pane.query(CappedTextArea).first()
        area.focus()
        await room.stop_server(server)
        await room.pilot.press("end", *"and rain")
        await room.hear_of_it()
        text = area.text
        await room.start_server(server, 1)
        session = room.app.workspace.session
        assert session is not None
        await room.until(lambda: session.snapshot.tab1.world == text, "not stored", 60)
        assert (await room.stored()).tab1.world == text


async def test_leaving_in_an_outage_says_what_would_be_lost_and_stays(
    place: PostgresDesktop, server: PlainServer, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[StoryEngineError] = []
    say = SessionTab.say_unsaved

    def say_and_count(self: SessionTab, error: StoryEngineError) -> None:
        failures.append(error)
        say(self, error)

    monkeypatch.setattr(SessionTab, "say_unsaved", say_and_count)
    monkeypatch.setattr("storyengine_tui.screens.shared.autosave.RETRY_SECONDS", 0.05)
    async with in_room(place, make_active) as room:
        table = room.table
        await room.lose_server_to_a_reply(server, gate)
        await table.type("not yet")
        await room.hear_of_it()
        await room.pilot.press("ctrl+q")
        await room.until(lambda: "Quit without saving it" in room.banners, "the GM is not asked")
        asked_after = len(failures)
        await room.until(lambda: len(failures) > asked_after + 1, "it is not tried again")
        assert "Quit without saving it" in room.banners, "a later failure takes the question away"
        assert room.app.chapter.query_one(PlayPane).composer.area(Slot.ORANGE).text == "not yet"
        await room.start_server(server, 0)
        await room.until(lambda: table.played(1), "it does not go on")
