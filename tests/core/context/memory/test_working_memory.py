"""Working memory: what an input has, its capacity, and in which order it stays."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.context.lore import BANK, LoreNote
from core.context.segments import KEPT_WHOLE
from core.context.working_memory import working_memory_of, working_memory_text
from core.text.delimiters import SegmentName
from tests.core.context.memory.test_recalled_in_context import built, found, knowledge, told
from tests.core.values.lore import entry, lore

LAMP, BOAT = found(told(1, "The lamp is out.")), found(told(2, "A boat came at dawn."), 2)


def test_what_stays_longest_is_first_and_what_was_recalled_stands_in_its_ranking() -> None:
    made = built(knowledge(LAMP, BOAT, lore=lore(entry("lamp", "well"))))
    memory = working_memory_of(made)
    assert (memory.capacity, memory.usage) == (made.max_input_tokens, made.tokens)
    assert sum(item.tokens for item in memory.items) == memory.usage
    assert [item.id for item in memory.items] == [one.name.value for one in made.segments]
    assert memory.priority_queue[-5:] == (
        "LORE",
        str(LAMP.found.item.id),
        str(BOAT.found.item.id),
        "RECENT_CONTEXT",
        "STRUCTURED_MEMORY",
    )
    assert memory.compression_enabled
    assert json.loads(json.dumps(memory.as_json()))["priority_queue"] == list(memory.priority_queue)
    assert working_memory_text(made).splitlines() == [
        f"Of 8,000 tokens about {made.tokens:,} are used. "
        "Where room is short, the last of these leaves first:",
        "1. LORE",
        "2. “Thing 1”",
        "3. “Thing 2”",
        "4. RECENT_CONTEXT",
        "5. STRUCTURED_MEMORY",
    ]


def test_entries_of_a_lorebook_called_memory_bank_are_not_taken_for_what_was_recalled() -> None:
    made = built(knowledge(LAMP, BOAT))
    as_book = LoreNote(BANK, "An entry of the lorebook", is_in=True, why="always")
    lines = working_memory_text(replace(made, lore=(as_book, *made.lore))).splitlines()
    assert lines[1:3] == ["1. “Thing 1”", "2. “Thing 2”"]


def test_what_left_the_working_memory_is_said_and_is_no_longer_in_its_queue() -> None:
    many = [found(told(number, f"Thing {number} lies on the shelf." * 9), number) for number in range(1, 40)]
    made = built(knowledge(*many), 4_000)
    kept = [str(item_id) for item_id, _ in made.recalled]
    memory = working_memory_of(made)
    assert kept == [str(one.found.item.id) for one in many[: len(kept)]]
    assert 0 < len(kept) < len(many)
    assert [one for one in memory.priority_queue if one in kept] == kept
    assert memory.usage <= memory.capacity
    assert any(line.startswith("Memory bank: “Thing ") and "no room" in line for line in made.left_out)


def test_an_input_that_recalls_nothing_says_nothing_more_to_the_gm() -> None:
    made = built(knowledge())
    assert working_memory_text(made) == ""
    assert "RECALLED" not in working_memory_of(made).priority_queue


@given(st.permutations(range(4)), st.integers(0, 3))
def test_every_part_is_in_the_queue_once_and_none_before_one_of_a_higher_priority(
    order: list[int], twice: int
) -> None:
    made = built(knowledge())
    segments = [made.segments[number % len(made.segments)] for number in (*order, twice)]
    memory = working_memory_of(replace(made, segments=tuple(segments)))
    by_id = {item.id: item for item in memory.items}
    assert sorted(memory.priority_queue) == sorted(by_id)
    priorities = [by_id[one].priority for one in memory.priority_queue]
    assert priorities == sorted(priorities, reverse=True)
    assert memory.compression_enabled is any(one.priority < KEPT_WHOLE for one in segments)
    assert len(by_id) == len(segments)
    assert SegmentName.SYSTEM_PROMPT.value in {segment.name.value for segment in made.segments}
