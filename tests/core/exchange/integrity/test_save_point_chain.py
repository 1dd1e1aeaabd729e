"""Save slots on a store in memory: what each holds, which gives way, and what it vouches for."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from core.domain.errors import IllegalCommandError, LimitExceededError, StoryEngineError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.save_point import (
    AUTOMATIC,
    EMPTY_CHAIN,
    LONGEST_LABEL,
    NAMED,
    SavePoint,
    SavePointDamagedError,
    chained,
    content_of,
)
from core.engine.decisions import commands, tab1_commands
from core.engine.services.save_points.save_points import SavePoints
from core.text.canonical_json import canonical, checksum
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import START, Simulation, active
from tests.core.values.sessions import event, lock_block

pytestmark = pytest.mark.anyio


class Shelf:
    """The slots of one session that is played by hand."""

    def __init__(self) -> None:
        self.simulation = active()
        self.store = FaultyStore(self.simulation.snapshot)
        self.slots = SavePoints(self.store, self._clock)
        self.session_id = self.simulation.snapshot.session.id
        self._taken = 0

    def _clock(self) -> datetime:
        self._taken += 1
        return START + timedelta(seconds=self._taken)

    def play(self, count: int = 1) -> None:
        """Play prompts and store what they changed."""
        for _ in range(count):
            self.simulation.submit(f"Prompt {self.simulation.snapshot.session.prompt_index + 1}")
            self.store.apply(self.simulation.settle())
            while self.simulation.state is SessionState.SUMMARIZING:
                self.store.apply(self.simulation.settle())

    async def take(self) -> SavePoint:
        slot = await self.slots.create(self.session_id, "before a change")
        assert slot is not None
        return slot


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


async def test_a_slot_holds_how_the_session_stands_and_is_listed_so(shelf: Shelf) -> None:
    shelf.play(8)
    slot = await shelf.take()
    content = content_of(slot)
    assert content.session == shelf.store.snapshot.session
    assert (slot.prompt_index, slot.state, slot.label) == (8, SessionState.ACTIVE, "before a change")
    assert (slot.number, slot.is_named, content.draft_count) == (0, False, 0)
    assert EMPTY_CHAIN not in (content.chains.events, content.chains.blocks)
    assert content.chains.drafts == EMPTY_CHAIN


async def test_the_next_slot_vouches_for_the_same_story_whether_or_not_it_begins_where_the_last_ended(
    shelf: Shelf,
) -> None:
    await shelf.take()
    shelf.play(3)
    await shelf.take()
    shelf.play(6)
    continued = content_of(await shelf.take()).chains
    again = SavePoints(shelf.store.copy(), lambda: START)
    whole = await again.create(shelf.session_id, "all at once")
    assert whole is not None
    assert content_of(whole).chains == continued


async def test_only_prompts_that_are_still_open_return_to_their_composers_in_a_slot(shelf: Shelf) -> None:
    shelf.simulation.submit("Failed")
    shelf.store.apply(shelf.simulation.fail())
    shelf.store.apply(commands.save_unsent(shelf.simulation.snapshot, Slot.RED, "What I made of it"))
    assert content_of(await shelf.take()).unsent == {Slot.RED: "What I made of it"}
    for text, slot in (("One", Slot.RED), ("Two", Slot.RED), ("Other", Slot.ORANGE)):
        changes, _ = commands.submit_prompt(shelf.store.snapshot, slot, text, START, is_typed=False)
        shelf.store.apply(changes)
    assert content_of(await shelf.take()).unsent == {
        Slot.RED: "One\n\nTwo\n\nWhat I made of it",
        Slot.ORANGE: "Other",
    }


async def test_a_session_whose_set_up_is_not_locked_has_no_memory_to_vouch_for() -> None:
    simulation = Simulation()
    simulation.set_up()
    store = FaultyStore(simulation.snapshot)
    slot = await SavePoints(store, lambda: START).create(simulation.snapshot.session.id, "early")
    assert slot is not None
    assert content_of(slot).chains.blocks == EMPTY_CHAIN


async def test_ten_automatic_slots_are_kept_and_the_oldest_gives_way(shelf: Shelf) -> None:
    for _ in range(11):
        shelf.play()
        await shelf.take()
    kept = {slot.number: slot.prompt_index for slot in await shelf.slots.listed(shelf.session_id)}
    assert sorted(kept) == list(AUTOMATIC)
    assert sorted(kept.values()) == list(range(2, 12))
    assert kept[0] == 11


async def test_a_slot_that_is_spared_does_not_give_way_though_it_is_the_oldest(shelf: Shelf) -> None:
    for _ in range(10):
        shelf.play()
        await shelf.take()
    shelf.play()
    slot = await shelf.slots.create(shelf.session_id, "another", spared=0)
    assert slot is not None
    assert slot.number == 1


async def test_where_nothing_has_changed_no_second_automatic_slot_is_taken(shelf: Shelf) -> None:
    await shelf.take()
    assert await shelf.slots.create(shelf.session_id, "again") is None
    shelf.play()
    assert (await shelf.take()).number == 1
    assert await shelf.slots.create(shelf.session_id, "again") is None
    assert (await shelf.slots.keep(shelf.session_id, "Mine")).number == NAMED[0]


async def test_the_gm_has_five_slots_under_names_and_a_name_again_replaces_it(shelf: Shelf) -> None:
    for number in NAMED:
        shelf.play()
        kept = await shelf.slots.keep(shelf.session_id, f" Slot\t{number} ")
        assert (kept.number, kept.label, kept.is_named) == (number, f"Slot {number}", True)
    with pytest.raises(StoryEngineError, match="All 5"):
        await shelf.slots.keep(shelf.session_id, "One more")
    shelf.play()
    again = await shelf.slots.keep(shelf.session_id, "sLOT 12")
    assert (again.number, again.prompt_index) == (12, 6)


@pytest.mark.parametrize(("name", "is_fine"), [("", False), (" \t", False), ("x", True)])
async def test_a_slot_of_the_gm_needs_a_name(shelf: Shelf, name: str, is_fine: bool) -> None:
    if is_fine:
        await shelf.slots.keep(shelf.session_id, name)
        return
    with pytest.raises(IllegalCommandError, match="needs a name"):
        await shelf.slots.keep(shelf.session_id, name)


async def test_a_name_of_sixty_characters_is_kept_and_a_longer_one_refused(shelf: Shelf) -> None:
    assert LONGEST_LABEL == 60
    assert (await shelf.slots.keep(shelf.session_id, "n" * 60)).label == "n" * 60
    with pytest.raises(LimitExceededError, match="61"):
        await shelf.slots.keep(shelf.session_id, "n" * 61)


async def test_only_a_slot_that_the_gm_named_can_be_let_go(shelf: Shelf) -> None:
    await shelf.take()
    kept = await shelf.slots.keep(shelf.session_id, "Mine")
    with pytest.raises(IllegalCommandError, match="automatic"):
        await shelf.slots.drop(shelf.session_id, 0)
    with pytest.raises(IllegalCommandError, match="nothing in save slot 11"):
        await shelf.slots.drop(shelf.session_id, 11)
    await shelf.slots.drop(shelf.session_id, kept.number)
    assert [slot.number for slot in await shelf.slots.listed(shelf.session_id)] == [0]


async def test_a_restored_slot_is_the_story_up_to_it_under_a_title_that_says_so(shelf: Shelf) -> None:
    shelf.play(8)
    kept = await shelf.slots.keep(shelf.session_id, "Before the storm")
    shelf.play(2)
    fresh = await shelf.slots.restore(shelf.session_id, kept.number)
    [made] = shelf.store.created
    assert made.session is not None
    assert (made.session_id, made.session.id) == (fresh, fresh)
    assert fresh != shelf.session_id
    assert made.session.title.endswith(" (Before the storm)")
    assert {event.prompt_index for event in made.events} == set(range(1, 9))
    assert [block.last for block in made.blocks] == [0, 7]
    taken = [slot.label for slot in await shelf.slots.listed(shelf.session_id)]
    assert taken == ["before save slot 10 was restored", "Before the storm"]


async def test_a_title_with_the_name_of_its_slot_is_still_no_longer_than_a_title_may_be(shelf: Shelf) -> None:
    shelf.store.apply(tab1_commands.retitle(shelf.store.snapshot, "t" * 200, START))
    kept = await shelf.slots.keep(shelf.session_id, "n" * 60)
    await shelf.slots.restore(shelf.session_id, kept.number)
    [made] = shelf.store.created
    assert made.session is not None
    assert len(made.session.title) == 200
    assert made.session.title.endswith("t (" + "n" * 60 + ")")


@pytest.mark.parametrize(
    "damage",
    [
        {"label": "Another"},
        {"number": 3},
        {"sha256": EMPTY_CHAIN},
        {"taken_at": START},
        {"document": {}},
    ],
)
async def test_a_slot_that_is_not_as_it_was_put_there_is_refused(
    shelf: Shelf, damage: dict[str, object]
) -> None:
    slot = await shelf.take()
    with pytest.raises(SavePointDamagedError, match="checksum"):
        content_of(replace(slot, **damage))  # type: ignore[arg-type]  # each is of its field's type


@pytest.mark.parametrize("lie", [{"prompt_index": 9}, {"state": SessionState.ENDED}])
async def test_a_slot_that_is_listed_as_something_else_is_refused(
    shelf: Shelf, lie: dict[str, object]
) -> None:
    slot = await shelf.take()
    with pytest.raises(SavePointDamagedError, match="listed as something else"):
        content_of(replace(slot, **lie))  # type: ignore[arg-type]  # each is of its field's type


async def test_a_slot_is_not_restored_where_a_word_of_the_story_before_it_was_changed(shelf: Shelf) -> None:
    shelf.play(2)
    kept = await shelf.slots.keep(shelf.session_id, "Mine")
    shelf.store.forge("Forged")
    with pytest.raises(SavePointDamagedError, match="the story up to it has changed"):
        await shelf.slots.restore(shelf.session_id, kept.number)
    assert not shelf.store.created


def test_a_chain_depends_on_every_row_and_on_their_order() -> None:
    one, two = event(1, "One"), event(1, "Two", Slot.RED)
    assert chained(EMPTY_CHAIN, []) == EMPTY_CHAIN
    assert chained(chained(EMPTY_CHAIN, [one]), [two]) == chained(EMPTY_CHAIN, [one, two])
    assert len({chained(EMPTY_CHAIN, rows) for rows in ([one], [two], [one, two], [two, one])}) == 4
    assert chained(EMPTY_CHAIN, [lock_block()]) != chained(EMPTY_CHAIN, [lock_block(("Another.",))])


def test_a_chain_is_the_same_in_every_program_that_makes_links_of_this_version() -> None:
    assert chained(EMPTY_CHAIN, [event(1, "One")], 1)[:16] == "21065779313e5635"
    assert chained(EMPTY_CHAIN, [event(1, "One")], 2)[:16] == "6f4f34db36cd5826"


async def test_a_slot_that_an_earlier_program_stored_has_what_there_was_then(shelf: Shelf) -> None:
    """Neither corrections nor versions of links, and only its content was hashed."""
    slot = await shelf.take()
    document: dict[str, Any] = json.loads(json.dumps(slot.document))
    del document["corrections"], document["chains"]["version"]
    content = content_of(replace(slot, document=document, sha256=checksum(canonical(document))))
    assert (content.corrections, content.chains.version) == (0, 1)


async def test_a_slot_of_a_later_program_is_refused_with_a_sentence(shelf: Shelf) -> None:
    slot = await shelf.take()
    document: dict[str, Any] = json.loads(json.dumps(slot.document))
    document["chains"]["version"] = 99
    with pytest.raises(SavePointDamagedError, match="newer version"):
        content_of(replace(slot, document=document, sha256=checksum(canonical(document))))
    with pytest.raises(SavePointDamagedError, match="another version"):
        content_of(replace(slot, document={"x": 1}, sha256=checksum(canonical({"x": 1}))))


async def test_a_long_story_is_read_in_batches_each_prompt_once(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.play(5)
    whole = content_of(await shelf.take()).chains
    monkeypatch.setattr("core.engine.services.save_points.save_points.BATCH", 2)
    slots = SavePoints(shelf.store.copy(), lambda: START)
    again = await slots.keep(shelf.session_id, "In batches")
    assert content_of(again).chains == whole
    await slots.restore(shelf.session_id, again.number)


async def test_memory_and_drafts_behind_a_slot_are_none_of_it(shelf: Shelf) -> None:
    shelf.play(8)
    early = await shelf.slots.keep(shelf.session_id, "Early")
    shelf.play(6)
    shelf.store.apply(commands.end_chapter(shelf.store.snapshot, START))
    shelf.simulation.snapshot = shelf.store.snapshot
    for name in ("One draft", "Two drafts"):
        changes, _ = commands.build_narrative(shelf.store.snapshot, START)
        shelf.store.apply(changes)
        shelf.simulation.snapshot = shelf.store.snapshot
        shelf.store.apply(shelf.simulation.settle())
        await shelf.slots.keep(shelf.session_id, name)
    one, two = [slot for slot in await shelf.slots.listed(shelf.session_id) if "draft" in slot.label]
    assert [content_of(slot).draft_count for slot in (one, two)] == [1, 2]
    whole = await SavePoints(shelf.store.copy(), lambda: START).keep(shelf.session_id, "All at once")
    assert content_of(whole).chains == content_of(two).chains
    for slot, blocks, drafts in ((early, [0, 7], 0), (one, [0, 7, 14], 1), (two, [0, 7, 14], 2)):
        await shelf.slots.restore(shelf.session_id, slot.number)
        made = shelf.store.created[-1]
        assert [block.last for block in made.blocks] == blocks
        assert len(made.drafts) == drafts
        assert all(draft.request_id is None for draft in made.drafts)


async def test_a_slot_of_another_chapter_is_refused(shelf: Shelf) -> None:
    slot = await shelf.take()
    with pytest.raises(SavePointDamagedError, match="another chapter"):
        content_of(replace(slot, session_id=SessionId(new_uuid())))


async def test_a_slot_that_is_damaged_is_passed_over_by_the_next_one(shelf: Shelf) -> None:
    shelf.play(2)
    damaged = await shelf.take()
    await shelf.store.save_points.put(replace(damaged, sha256=EMPTY_CHAIN), taken=[damaged])
    shelf.play()
    again = content_of(await shelf.take()).chains
    whole = await SavePoints(shelf.store.copy(), lambda: START).create(shelf.session_id, "whole")
    assert whole is not None
    assert content_of(whole).chains == again
