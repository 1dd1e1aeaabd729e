"""Save slots: where a chapter stood, checked word by word, and begun again beside everything else."""

import asyncio
import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from core.domain.clock import utc_now
from core.domain.errors import (
    ErrorCode,
    IllegalCommandError,
    LimitExceededError,
    StorageError,
    StoryEngineError,
)
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session import Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.save_point import (
    AUTOMATIC,
    NAMED,
    Chains,
    SavePoint,
    SavePointContent,
    SavePointDamagedError,
    content_of,
    make_save_point,
)
from core.engine.changes import moves
from core.engine.engine import Engine
from core.engine.services.save_points import save_points
from core.engine.services.save_points.save_points import SavePoints
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import (
    CHOICES,
    GatedModel,
    Wrapped,
    chapter,
    is_summary,
    play,
    play_to_the_end,
    scripted,
    window,
)
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio


def slots_of(store: Any) -> SavePoints:
    return SavePoints(store, utc_now)


def ring(listed: Any) -> list[SavePoint]:
    return [slot for slot in listed if slot.number in AUTOMATIC]


async def everything(store: PostgresStore, session_id: SessionId) -> tuple[object, object]:
    return await read_body(store, session_id), await store.save_points.listed(session_id)


async def test_a_slot_is_taken_when_the_chapter_is_locked_and_at_every_summary(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.edits.save_unsent(Slot.ORANGE, "Half a thought")
        await play(session, 14)
        session_id = session.id
    taken = ring(await store.save_points.listed(session_id))
    labels = ["the chapter was locked", "summary of prompts 1–7", "summary of prompts 8–14"]
    assert [slot.label for slot in taken] == labels
    by_hand = await slots_of(store).keep(session_id, "By hand")
    assert content_of(taken[-1]) == content_of(by_hand), "it has what is stored"
    assert all(slot.prompt_index >= due for slot, due in zip(taken, (0, 7, 14), strict=True)), "not before it"


async def test_a_prompt_does_not_wait_for_a_slot(store: PostgresStore) -> None:
    class Stuck(Wrapped):
        """Save slots whose store never gets round to one."""

        gate = asyncio.Event()

        async def put(self, point: SavePoint, **more: Any) -> None:
            await self.gate.wait()
            await self._inner.put(point, **more)

    stuck = Wrapped(store, save_points=Stuck(store.save_points))
    async with chapter(stuck) as session:
        await play(session, 8)
        assert await store.save_points.listed(session.id) == [], "and eight prompts are played all the same"
        Stuck.gate.set()


async def test_a_slot_that_cannot_be_stored_costs_the_chapter_nothing(store: PostgresStore) -> None:
    class Full(Wrapped):
        async def put(self, point: SavePoint, **_: Any) -> None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

    async with chapter(Wrapped(store, save_points=Full(store.save_points))) as session:
        await play(session, 8)
        assert session.snapshot.session.boundary == 7


async def test_a_restored_slot_is_a_new_session_that_begins_there_and_touches_nothing_else(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await session.edits.retitle("The Lamp")
        await play(session, 8)
        await session.edits.save_unsent(Slot.ORANGE, "Half a thought")
        kept = await slots_of(store).keep(session.id, "Before the storm")
        then = await read_body(store, session.id)
        await play_to_the_end(session, 3)
        session_id = session.id
    async with window(store, None, session_id) as later:
        await later.edits.retitle("The Lamp, later")
    before, taken = await everything(store, session_id)
    fresh = await slots_of(store).restore(session_id, kept.number)
    body = await read_body(store, fresh)
    assert fresh != session_id
    assert [(event.prompt_index, event.text) for event in body.events] == [
        (event.prompt_index, event.text) for event in then.events
    ]
    assert [block.payload for block in body.blocks] == [block.payload for block in then.blocks]
    assert (body.tab1, body.unsent, body.drafts) == (then.tab1, then.unsent, ())
    assert body.session.title == "The Lamp (Before the storm)"
    restored = replace(body.session, branched_from=None, branched_at=0, title="The Lamp")
    assert replace(restored, id=session_id, updated_at=then.session.updated_at) == then.session
    after, now_taken = await everything(store, session_id)
    assert after == before
    assert isinstance(taken, list)
    assert isinstance(now_taken, list)
    [added] = [slot for slot in now_taken if slot not in taken]
    assert added.label == "before save slot 10 was restored"
    async with window(store, None, fresh) as copy:
        await play(copy, 1)
        assert copy.snapshot.session.prompt_index == 9


async def test_drafts_come_along_as_far_as_there_were_some(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play_to_the_end(session, 2)
        await session.wait(await session.build_narrative())
        kept = await slots_of(store).keep(session.id, "One draft")
        await session.wait(await session.build_narrative())
        await slots_of(store).keep(session.id, "Two drafts")
        session_id = session.id
    fresh = await slots_of(store).restore(session_id, kept.number)
    assert [draft.version for draft in await store.drafts(fresh)] == [1]
    assert len(await store.drafts(await slots_of(store).restore(session_id, 11))) == 2
    async with window(store, None, fresh) as copy:
        await copy.wait(await copy.build_narrative())
        assert [draft.version for draft in await store.drafts(fresh)] == [1, 2]


async def test_prompts_that_were_open_are_in_their_composers_again(store: PostgresStore) -> None:
    model = GatedModel(when=lambda request: not is_summary(request) and request.schema is None)
    async with chapter(store, model) as session:
        await session.submit_prompt(Slot.RED, "One")
        await session.submit_prompt(Slot.RED, "Two")
        kept = await slots_of(store).keep(session.id, "In flight")
        model.gate.set()
        await session.wait_idle()
        session_id = session.id
    fresh = await slots_of(store).restore(session_id, kept.number)
    async with window(store, None, fresh) as copy:
        assert copy.snapshot.unsent[Slot.RED].split() == ["One", "Two"]
        assert copy.snapshot.requests == ()


async def test_a_slot_taken_while_memory_is_made_goes_on_with_making_it(store: PostgresStore) -> None:
    model = GatedModel(when=is_summary)
    async with chapter(store, model) as session:
        await play_until_summary(session)
        kept = await slots_of(store).keep(session.id, "Summing up")
        model.gate.set()
        await session.wait_idle()
        session_id = session.id
    assert kept.state is SessionState.SUMMARIZING
    fresh = await slots_of(store).restore(session_id, kept.number)
    async with window(store, None, fresh) as copy:
        await copy.wait_idle()
        assert copy.snapshot.session.boundary == 7


async def play_until_summary(session: SessionHandle) -> None:
    for number in range(7):
        await session.wait(await session.submit_prompt(Slot.RED, f"Prompt {number}"))


async def test_the_ring_holds_ten_and_the_oldest_gives_way(store: PostgresStore) -> None:
    slots = slots_of(store)
    async with chapter(store) as session:
        await slots.keep(session.id, "Mine")
        for number in range(14):
            await session.edits.retitle(f"Title {number}")
            await slots.create(session.id, f"occasion {number}")
        listed = await slots.listed(session.id)
    labels = {slot.label for slot in ring(listed)}
    assert labels == {f"occasion {number}" for number in range(4, 14)}
    assert [slot.label for slot in listed if slot.is_named] == ["Mine"]


async def test_whatever_slot_is_restored_can_be_exported_and_imported_its_long_title_included(
    store: PostgresStore,
) -> None:
    slots = slots_of(store)
    async with chapter(store) as session:
        await session.edits.retitle("A long title " * 15)
        await slots.keep(session.id, "Named by the GM, and with a label of the very longest kind")
        await play_to_the_end(session, 8)
        session_id = session.id
    taken = await slots.listed(session_id)
    # A slot of a summary is taken beside the play; one that comes late says the same as the next.
    assert {"summary of prompts 1–7", "summary of prompt 8"} & {slot.label for slot in taken}
    assert len(taken) in (3, 4)
    for slot in taken:
        fresh = await slots.restore(session_id, slot.number)
        body = await read_body(store, fresh)
        assert from_json(to_json(body)) == body
        assert body.session.title.endswith(f" ({slot.label})")


async def test_a_slot_that_is_restored_does_not_give_way_to_the_one_before_it(store: PostgresStore) -> None:
    slots = slots_of(store)
    async with chapter(store) as session:
        for number in range(10):
            await session.edits.retitle(f"Title {number}")
            await slots.create(session.id, f"occasion {number}")
        await session.edits.retitle("Changed once more")
        listed = ring(await slots.listed(session.id))
        oldest = min(listed, key=lambda slot: slot.taken_at)
        await slots.restore(session.id, oldest.number)
        assert oldest in await slots.listed(session.id)
        assert len(ring(await slots.listed(session.id))) == 10


async def test_what_did_not_change_takes_no_second_automatic_slot(store: PostgresStore) -> None:
    slots = slots_of(store)
    async with chapter(store) as session:
        await session.edits.retitle("Anew")
        assert await slots.create(session.id, "first") is not None
        assert await slots.create(session.id, "second") is None


async def test_a_reset_keeps_a_slot_of_the_chapter_that_it_puts_away(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await play(session, 2)
        session_id = session.id
        await session.reset()
    last = max(await store.save_points.listed(session_id), key=lambda slot: slot.taken_at)
    assert (last.label, last.prompt_index) == ("before the chapter was reset", 2)
    assert len(await store.log(await slots_of(store).restore(session_id, last.number))) == 4


async def test_five_slots_are_the_gms_and_a_name_is_one_slot(store: PostgresStore) -> None:
    slots = slots_of(store)
    async with chapter(store) as session:
        for number in NAMED:
            assert (await slots.keep(session.id, f"Name {number}")).number == number
        with pytest.raises(StoryEngineError, match="All 5 save slots"):
            await slots.keep(session.id, "One too many")
        await play(session, 1)
        again = await slots.keep(session.id, "  NAME 12 ")
        assert (again.number, again.prompt_index) == (12, 1)
        await slots.drop(session.id, 12)
        assert (await slots.keep(session.id, "New")).number == 12
        with pytest.raises(IllegalCommandError, match="automatic"):
            await slots.drop(session.id, (await slots.listed(session.id))[0].number)


@pytest.mark.parametrize("name", ["", " \n", "\x1b[2J"])
async def test_a_name_must_be_seen(store: PostgresStore, name: str) -> None:
    async with chapter(store) as session:
        with pytest.raises(IllegalCommandError, match="needs a name"):
            await slots_of(store).keep(session.id, name)
        with pytest.raises(LimitExceededError):
            await slots_of(store).keep(session.id, "x" * 61)


async def test_an_empty_slot_and_a_chapter_that_is_not_there_are_sentences(store: PostgresStore) -> None:
    async with chapter(store) as session:
        with pytest.raises(IllegalCommandError, match="nothing in save slot 14"):
            await slots_of(store).restore(session.id, 14)
        with pytest.raises(IllegalCommandError, match="nothing in save slot 3"):
            await slots_of(store).drop(SessionId(session.id), 3)


DAMAGES = {
    "its label": "UPDATE save_slot SET label = 'Other'",
    "its time": "UPDATE save_slot SET taken_at = taken_at - interval '1 day'",
    "its place in the story": "UPDATE save_slot SET prompt_index = 3",
    "its document": "UPDATE save_slot SET document = jsonb_set(document, '{tab1,world}', '\"Other\"')",
    "its checksum": "UPDATE save_slot SET sha256 = repeat('0', 64)",
    "an event": "ALTER TABLE event DISABLE TRIGGER append_only; UPDATE event SET text = 'Other'"
    " WHERE prompt_index = 3 AND ordinal = 1; ALTER TABLE event ENABLE TRIGGER append_only",
    "memory": "ALTER TABLE memory_block DISABLE TRIGGER append_only; UPDATE memory_block SET json_text ="
    " jsonb_set(payload, '{canon_locks}', '[\"Other\"]')::text;"
    " ALTER TABLE memory_block ENABLE TRIGGER append_only",
    "a draft": "ALTER TABLE narrative_draft DISABLE TRIGGER append_only; UPDATE narrative_draft SET text ="
    " 'Other'; ALTER TABLE narrative_draft ENABLE TRIGGER append_only",
}


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
async def test_a_slot_whose_story_was_tampered_with_is_refused_and_nothing_is_made(
    store: PostgresStore, url: str, statement: str
) -> None:
    async with chapter(store) as session:
        await play_to_the_end(session, 8)
        await session.wait(await session.build_narrative())
        kept = await slots_of(store).keep(session.id, "Whole")
        session_id = session.id
    tamper(url, statement)
    before = [summary.id for summary in await store.chapters.listed()]
    with pytest.raises(SavePointDamagedError) as refused:
        await slots_of(store).restore(session_id, kept.number)
    assert "nothing was changed" in refused.value.message
    assert [summary.id for summary in await store.chapters.listed()] == before


async def test_a_slot_that_an_earlier_program_took_holds_though_only_its_content_was_hashed_then(
    store: PostgresStore, url: str
) -> None:
    async with chapter(store) as session:
        await play(session, 1)
        kept = await slots_of(store).keep(session.id, "Whole")
        session_id = session.id
    canonical = json.dumps(kept.document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    tamper(url, f"UPDATE save_slot SET sha256 = '{sha256(canonical.encode()).hexdigest()}'")
    fresh = await slots_of(store).restore(session_id, kept.number)
    assert len(await store.log(fresh)) == 2
    tamper(url, "UPDATE save_slot SET document = jsonb_set(document, '{tab1,world}', '\"Other\"')")
    with pytest.raises(SavePointDamagedError):
        await slots_of(store).restore(session_id, kept.number)


def test_a_slot_that_was_moved_to_another_number_is_refused() -> None:
    made = moves.new_session(utc_now(), session_id=SessionId(new_uuid()))
    assert made.session is not None
    content = SavePointContent(
        session=made.session, tab1=Tab1Inputs(), unsent={}, draft_count=0, chains=Chains()
    )
    slot = make_save_point(11, "Mine", content, utc_now())
    assert content_of(slot) == content
    with pytest.raises(SavePointDamagedError, match="Save slot 12"):
        content_of(replace(slot, number=12))


def tamper(url: str, statement: str) -> None:
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute(statement.encode())


async def test_the_next_slot_reads_only_what_is_new_and_says_the_same(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_points, "BATCH", 2)

    class Counting(Wrapped):
        first: list[int]

        async def canon(self, session_id: SessionId, *, first: int = 0, last: int | None = None) -> Any:
            self.first.append(first)
            return await self._inner.canon(session_id, first=first, last=last)

    counting = Counting(store)
    async with chapter(store) as session:
        await play(session, 5)
        await slots_of(store).keep(session.id, "Known")
        await play(session, 4)
        counting.first = []
        new = await slots_of(counting).keep(session.id, "New")
        assert counting.first == [7, 9] or min(counting.first) >= 5, (
            "from the summary, or from what was known"
        )
        for slot in await store.save_points.listed(session.id):
            await store.save_points.delete(slot)
        from_scratch = await slots_of(store).keep(session.id, "New")
    assert content_of(new).chains == content_of(from_scratch).chains


async def test_an_archived_chapter_keeps_its_slots_and_a_purged_one_loses_them(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await slots_of(store).keep(session.id, "Mine")
        session_id = session.id
    engine = Engine(store, scripted(), CHOICES, label="test")
    await engine.archive(session_id)
    fresh = await engine.save_points.restore(session_id, NAMED[0])
    assert (await store.load(fresh)).session.archived_at is None
    await engine.purge(session_id)
    assert await store.save_points.listed(session_id) == []
    assert (await store.load(fresh)).session.id == fresh
