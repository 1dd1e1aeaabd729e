"""Slots, runs of prompts and what a session knows of itself (design 2, 4 and 6)."""

from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.prompt_range import PromptRange, due_chunk
from core.domain.session.limits import (
    LONGEST_CORRECTION,
    LONGEST_CORRECTIONS,
    LONGEST_TITLE,
    Limits,
    is_storable_time,
)
from core.domain.session.session import Tab1Inputs, title_from
from core.domain.slot import Slot, first_slots, slot_after
from core.exchange.chapter_file import file_name
from tests.core.values.sessions import TAB1, session

# --- slots ----------------------------------------------------------------------------------------


def test_seven_slots_in_their_colours() -> None:
    assert [slot.colour for slot in Slot] == ["red", "orange", "yellow", "green", "blue", "indigo", "violet"]
    assert [slot.value for slot in Slot] == [1, 2, 3, 4, 5, 6, 7]
    assert Slot.INDIGO.default_name == "Agent Indigo"


def test_a_chapter_has_one_to_seven_characters() -> None:
    assert first_slots(1) == (Slot.RED,)
    assert first_slots(7) == tuple(Slot)
    for count in (0, 8, -1):
        with pytest.raises(ValueError, match="1 to 7"):
            first_slots(count)


@given(st.sets(st.sampled_from(Slot), min_size=1), st.sampled_from(Slot))
def test_the_composer_moves_to_the_next_higher_slot_and_around(chosen: set[Slot], slot: Slot) -> None:
    ordered = tuple(chosen)
    higher = [candidate for candidate in chosen if candidate > slot]
    assert slot_after(slot, ordered) == (min(higher) if higher else min(chosen))


# --- runs of prompts ------------------------------------------------------------------------------


def test_a_run_of_prompts() -> None:
    run = PromptRange(8, 14)
    assert (len(run), str(run), str(PromptRange(3, 3))) == (7, "8–14", "3")
    assert [prompt for prompt in range(20) if prompt in run] == list(range(8, 15))
    for first, last in ((0, 1), (3, 2), (-1, -1)):
        with pytest.raises(ValueError, match="not a range of prompts"):
            PromptRange(first, last)


@pytest.mark.parametrize(
    ("boundary", "played", "is_ending", "expected"),
    [
        (0, 6, False, None),
        (0, 7, False, PromptRange(1, 7)),
        (7, 13, False, None),
        (7, 14, False, PromptRange(8, 14)),
        (0, 20, False, PromptRange(1, 7)),
        (7, 10, True, PromptRange(8, 10)),
        (7, 16, True, PromptRange(8, 14)),
        (14, 14, True, None),
        (10, 12, False, None),
        (10, 14, False, PromptRange(11, 14)),
    ],
)
def test_due_chunks(boundary: int, played: int, is_ending: bool, expected: PromptRange | None) -> None:
    assert due_chunk(boundary, played, 7, is_ending=is_ending) == expected
    mine = replace(session(prompts=played, boundary=boundary), is_ending=is_ending)
    assert mine.due_chunk == expected
    assert mine.unsummarised == played - boundary


@given(st.integers(0, 200), st.integers(1, 12))
def test_chunks_of_an_ended_chapter_are_aligned_and_leave_no_hole(played: int, size: int) -> None:
    boundary, chunks = 0, []
    while (chunk := due_chunk(boundary, played, size, is_ending=True)) is not None:
        chunks.append(chunk)
        boundary = chunk.last
    assert [prompt for chunk in chunks for prompt in range(chunk.first, chunk.last + 1)] == list(
        range(1, played + 1)
    )
    assert all(chunk.last % size == 0 and len(chunk) == size for chunk in chunks[:-1])


# --- sessions -------------------------------------------------------------------------------------


def test_names_and_roster() -> None:
    mine = session(names={Slot.ORANGE: "Tobin", Slot.RED: ""})
    assert mine.name_of(Slot.RED) == "Agent Red"
    assert mine.roster == ((Slot.RED, "Agent Red"), (Slot.ORANGE, "Tobin"), (Slot.YELLOW, "Agent Yellow"))
    shuffled = replace(mine, slots=(Slot.BLUE, Slot.RED))
    assert [slot for slot, _ in shuffled.roster] == [Slot.RED, Slot.BLUE]


def test_tab_1() -> None:
    assert Tab1Inputs().is_blank
    assert Tab1Inputs(world=" \n", identities={Slot.RED: "brave"}).is_blank
    assert not Tab1Inputs(chapter="x").is_blank
    changed = TAB1.with_identity(Slot.RED, "new")
    assert changed.identities == {**TAB1.identities, Slot.RED: "new"}
    assert TAB1.identities[Slot.RED] != "new"


def test_titles() -> None:
    assert title_from(" Mine ", "chapter", "world") == "Mine"
    assert title_from("", "one two three four five six seven eight nine", "w") == (
        "one two three four five six seven eight…"
    )
    assert title_from("", "one two three four five six seven eight", "") == (
        "one two three four five six seven eight"
    )
    assert title_from("", " ".join(["fifteenletters,"] * 8), "") == (
        "fifteenletters, fifteenletters, fifteenletters…"
    )
    assert title_from("", " \n", "the world") == "the world"
    assert title_from("", "", "") == "Untitled chapter"
    assert len(title_from("", "x" * 100, "")) == 60
    assert title_from("", f"{'x' * 58}👩‍🚀{'x' * 9}", "") == f"{'x' * 58}…"


def test_the_limits_of_a_new_session() -> None:
    limits = asdict(Limits())
    assert limits.pop("chunk_size") == 7
    assert limits.pop("name") == 40
    assert limits.pop("prompt") == 20_000
    assert limits.pop("transcript") == 60_000
    assert set(limits.values()) == {5_000}, limits
    assert (LONGEST_TITLE, LONGEST_CORRECTION, LONGEST_CORRECTIONS) == (200, 2_000, 8_000)


@pytest.mark.parametrize(
    ("time", "is_fine"),
    [
        (datetime(1900, 1, 1, tzinfo=UTC), True),
        (datetime(1899, 12, 31, 23, 59, 59, tzinfo=UTC), False),
        (datetime(9999, 1, 1, tzinfo=UTC), True),
        (datetime(9999, 1, 1, 0, 0, 1, tzinfo=UTC), False),
        (datetime(2026, 1, 1), False),  # a time without a zone is the case
    ],
)
def test_a_time_has_a_zone_and_a_year_that_every_zone_can_show(time: datetime, is_fine: bool) -> None:
    assert is_storable_time(time) is is_fine


def test_the_name_of_a_file_has_no_ellipsis_of_a_title_that_was_cut() -> None:
    title = title_from("", "one two three four five six seven eight nine", "")
    assert file_name(f"{title} (branch)") == "one two three four five six seven eight (branch)"
    assert file_name(title) == "one two three four five six seven eight"
