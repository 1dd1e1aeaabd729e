"""Files and save slots of every earlier version stay readable, also when records have grown since."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story import save_point
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.save_point import SavePoint, SavePointContent
from core.engine.catalog import SessionCatalog
from core.engine.services.save_points.save_points import SavePoints
from core.exchange import session_export as export
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import VERSION, from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import play, window

pytestmark = pytest.mark.anyio

VERSIONS = Path(__file__).resolve().parents[2] / "corpus" / "versions"
EXPORTS = sorted(VERSIONS.glob("export-*.json"))
SLOTS = sorted(VERSIONS.glob("slots-*.json"))


def named(path: Path) -> str:
    return path.stem


def body_in(file: Path) -> export.SessionBody:
    return from_json(file.read_bytes())


def written_body(file: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(file.read_bytes())["body"]
    return body


def slots_in(file: Path) -> list[SavePoint]:
    return TypeAdapter(list[SavePoint]).validate_json(file.read_bytes())


async def stored_as_it_was(store: PostgresStore, name: str) -> SessionId:
    """Store a session and its slots of version 1 under the id that they had."""
    body = body_in(VERSIONS / f"export-1-{name}.json")
    if body.session.id not in {summary.id for summary in await store.chapters.listed()}:
        await store.chapters.create(as_new_session(body, body.session.id))
    for slot in slots_in(VERSIONS / f"slots-1-{name}.json"):
        await store.save_points.put(slot, taken=())
    return body.session.id


def test_there_are_files_of_every_version() -> None:
    versions = {json.loads(file.read_bytes())["version"] for file in EXPORTS}
    assert versions == set(range(1, VERSION + 1))


@pytest.mark.parametrize("file", EXPORTS, ids=named)
async def test_an_export_of_every_version_is_imported_and_exported_again(
    store: PostgresStore, file: Path
) -> None:
    body = body_in(file)
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, moved))
    again = to_json(await read_body(store, moved)).replace(str(moved).encode(), str(body.session.id).encode())
    # Its book is the library's, and no part of what is stored below a session.
    assert json.loads(again)["body"] == json.loads(to_json(replace(body, book=None)))["body"]


@pytest.mark.parametrize("file", sorted(VERSIONS.glob("export-*-blocks.json")), ids=named)
async def test_an_export_with_prompt_blocks_gives_the_chapter_all_of_them(
    store: PostgresStore, file: Path
) -> None:
    written = written_body(file)["prompt_blocks"]
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body_in(file), moved))
    stored = (await store.load(moved)).prompt_blocks
    assert (stored.variant, stored.variants) == ("grim", ("grim", "日本"))
    assert [(block.id, block.text, list(block.slots)) for block in stored.blocks] == [
        (block["id"], block["text"], block["slots"]) for block in written["blocks"]
    ]
    assert json.loads(to_json(await read_body(store, moved)))["body"]["prompt_blocks"] == written


async def test_an_export_with_takes_brings_every_take_and_revision_and_what_was_undone(
    store: PostgresStore,
) -> None:
    body = body_in(VERSIONS / "export-3-takes.json")
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, moved))
    log = await store.log(moved)
    assert [(one.id, one.take, one.text) for one in log] == [
        (one.id, one.take, one.text) for one in body.events
    ]
    assert {one.take for one in log} == {1, 2}
    assert [one.id for one in await store.revisions(moved)] == [one.id for one in body.revisions]
    assert list(await store.takes(moved)) == list(body.takes) == [1, 1, 2, 2, 1, 1, 1, 1]
    async with window(store, None, moved) as session:
        assert session.snapshot.session.prompt_index == 6
        await session.takes.redo()
        await session.takes.redo()
        told = [event.text for event in await session.reads.canon(first=4) if event.ordinal == 0]
        assert told == ["Go in.", "Break off.", "Light a lamp.", "Look around.", "Leave."]
        assert [len(take) for take in await session.takes.listed()] == [2]
        while session.snapshot.session.prompt_index > 2:
            await session.takes.undo()
        assert [take[0].take for take in await session.takes.listed()] == [1, 2]
        await session.takes.choose(2)
        assert [block.place for block in await session.reads.memory_blocks()] == [(0, 0), (0, 1)]
        await play(session, 1)


async def test_an_export_with_audiences_keeps_from_each_character_what_it_did_not_hear(
    store: PostgresStore,
) -> None:
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body_in(VERSIONS / "export-4-audiences.json"), moved))
    async with window(store, None, moved) as session:
        assert [slot.value for slot in session.snapshot.session.present] == [1, 2]
        await session._writer.know_memory()
        places = {
            slot: [block.place for block in session.snapshot.known_to(slot).blocks if block.last]
            for slot in Slot
            if slot in session.snapshot.session.slots
        }
        assert places == {1: [(3, 0), (3, 1), (3, 3)], 2: [(3, 0), (3, 1), (3, 2)], 3: [(3, 0)]}
        secrets = {slot: len(session.snapshot.known_to(slot).secrets) for slot in places}
        assert secrets == {1: 1, 2: 1, 3: 1}
        heard = {
            slot: {one.prompt_index for one in session.snapshot.known_to(slot).events} for slot in places
        }
        assert heard == {1: {0, 1, 2, 4}, 2: {0, 1, 2, 3, 4}, 3: {0, 1}}
        await play(session, 3)


@pytest.mark.parametrize("name", ["active", "ended"])
async def test_every_save_slot_that_an_earlier_version_stored_is_restored(
    store: PostgresStore, name: str
) -> None:
    session_id = await stored_as_it_was(store, name)
    for slot in slots_in(VERSIONS / f"slots-1-{name}.json"):
        fresh = await SavePoints(store, utc_now).restore(session_id, slot.number)
        assert (await store.load(fresh)).session.prompt_index == slot.prompt_index


async def test_a_story_with_an_older_save_slot_is_played_on_and_saved_again(store: PostgresStore) -> None:
    session_id = await stored_as_it_was(store, "active")
    async with window(store, None, session_id) as session:
        await play(session, 1)
    slots = SavePoints(store, utc_now)
    kept = await slots.keep(session_id, "Later")
    fresh = await slots.restore(session_id, kept.number)
    assert (await store.load(fresh)).session.prompt_index == 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOfTomorrow(Event):
    """An event with a field more."""

    mood: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOfTomorrow(Session):
    """A session with a field more."""

    weather: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyOfTomorrow(export.SessionBody):
    """What an export holds when records have grown."""

    session: SessionOfTomorrow
    events: tuple[EventOfTomorrow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotContentOfTomorrow(SavePointContent):
    """What a save slot holds when records have grown."""

    session: SessionOfTomorrow


@pytest.fixture
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program with records that have more fields."""
    bodies = TypeAdapter[Any](BodyOfTomorrow)
    monkeypatch.setattr(export, "_bodies", lambda: bodies)
    contents = TypeAdapter[Any](SlotContentOfTomorrow)
    monkeypatch.setattr(save_point, "_contents", lambda: contents)


@pytest.mark.usefixtures("tomorrow")
@pytest.mark.parametrize("file", EXPORTS, ids=named)
def test_a_field_that_is_added_leaves_earlier_exports_readable(file: Path) -> None:
    body = from_json(file.read_bytes())
    assert isinstance(body.session, SessionOfTomorrow)
    assert all(isinstance(event, EventOfTomorrow) for event in body.events)


@pytest.mark.usefixtures("tomorrow")
@pytest.mark.parametrize("file", SLOTS, ids=named)
def test_a_field_that_is_added_leaves_the_document_of_a_save_slot_readable(file: Path) -> None:
    assert all(isinstance(save_point.content_of(slot).session, SessionOfTomorrow) for slot in slots_in(file))


def test_a_field_that_is_added_to_a_row_leaves_its_link_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    event = from_json((VERSIONS / "export-1-active.json").read_bytes()).events[0]
    before = save_point.chained(save_point.EMPTY_CHAIN, [event])
    newest = save_point.LINKS
    fields = {EventOfTomorrow: save_point._LINK_FIELDS[newest][Event]}
    monkeypatch.setattr(save_point, "_LINK_FIELDS", {newest: fields})
    grown = EventOfTomorrow(**{name: getattr(event, name) for name in Event.__dataclass_fields__}, mood=2)
    assert save_point.chained(save_point.EMPTY_CHAIN, [grown]) == before


def test_a_slot_with_links_of_a_later_version_is_refused_with_a_sentence() -> None:
    slot = slots_in(VERSIONS / "slots-1-active.json")[0]
    content = save_point.content_of(slot)
    later = replace(content, chains=replace(content.chains, version=99))
    with pytest.raises(save_point.SavePointDamagedError, match="a newer version"):
        save_point.content_of(save_point.make_save_point(0, "", later, utc_now()))


def test_every_field_that_a_link_stands_for_is_one_of_its_row() -> None:
    for kind in (Event, MemoryBlock, NarrativeDraft):
        for fields in save_point._LINK_FIELDS.values():
            assert set(fields[kind]) <= set(kind.__dataclass_fields__)


async def test_an_export_with_silence_and_absences_brings_the_reason_and_who_is_away(
    store: PostgresStore,
) -> None:
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body_in(VERSIONS / "export-4-silence.json"), moved))
    async with window(store, None, moved) as session:
        stored = session.snapshot.session
        assert (stored.away, stored.may_be_silent.mask, stored.hint_after) == ({Slot.ORANGE: 0}, 3, 9)
        replies = [event for event in session.snapshot.recent if event.slot is not None]
        assert [(one.text, one.reason) for one in replies] == [
            ("says nothing.", "She fears Kara."),
            ("*turns the lamp down*", ""),
            ("I am here.", ""),
        ]
        await session.takes.undo()
        await session.takes.undo()
        await play(session, 2)


async def test_an_export_with_profiles_brings_what_each_slot_has_of_a_character(
    store: PostgresStore,
) -> None:
    body = body_in(VERSIONS / "export-6-profiles.json")
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, moved))
    async with window(store, None, moved) as session:
        tab1 = session.snapshot.tab1
        assert tab1.profiles == body.tab1.profiles
        lamp = tab1.profile_of(Slot.RED)
        assert (lamp.aliases, lamp.group) == (("Lamp [/x]", "日本"), "Lamp")
        assert tab1.profile_of(Slot.ORANGE).groups_visible == ()
        assert not tab1.profile_of(Slot.YELLOW)
        await play(session, 1)


async def test_an_export_with_lorebooks_brings_their_copies_and_who_may_know_them(
    store: PostgresStore,
) -> None:
    body = body_in(VERSIONS / "export-6-lore.json")
    moved = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, moved))
    async with window(store, None, moved) as session:
        harbour, guild = session.snapshot.lore
        assert (harbour.name, harbour.entry_count) == ("Harbour [x]", 2)
        assert (guild.name, guild.groups, list(guild.label)) == ("日本", ("Guild",), [Slot.ORANGE])
        await session.wait(await session.submit_prompt(Slot.ORANGE, "Who minds the lamp?"))
        call = (await session.reads.artifacts())[-1]
        [manifest] = (await session.reads.contents([call.input_ref])).values()
        sent = await session.reads.contents([part for _, _, part in json.loads(manifest)])
        told = "".join(sent.values())
        assert "Seal oil, 日本." in told
        assert "Always." in told


async def test_an_export_with_a_book_brings_the_book_and_what_earlier_chapters_handed_on(
    store: PostgresStore,
) -> None:
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    moved = await catalog.import_body(body_in(VERSIONS / "export-5-book.json"))
    book = await catalog.library.books.of(moved)
    assert book is not None
    assert (book.title, book.author, book.description) == ("The Lamp [/x]", "N. N.", "Of an island.")
    carried = (await store.load(moved)).tab1.carried
    assert [(line.is_pinned, line.is_struck) for line in carried.lines[:3]] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert {line.known_to for line in carried.lines} == {("Joss [/x]",), ("Joss [/x]", "Kara", "Rook")}
    async with window(store, None, moved) as session:
        inputs = {slot: session.snapshot.known_to(slot).blocks[0].payload for slot in (Slot.RED, Slot.ORANGE)}
        assert inputs[Slot.RED]["canon_locks"] == [carried.lines[0].text, carried.lines[2].text]
        assert inputs[Slot.ORANGE]["canon_locks"] == [carried.lines[2].text]
        await play(session, 1)
    await catalog.library.books.archive(book)
    [archived] = await catalog.library.books.listed(is_archived=True)
    await catalog.library.books.purge(archived)
