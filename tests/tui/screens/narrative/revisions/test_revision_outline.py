"""The outline and the comparison of revisions of memory, as pure functions (design 12)."""

from dataclasses import replace

from core.domain.story.memory import BlockType
from storyengine_tui.screens.narrative.comparing.compared_revisions import (
    GAP,
    SAME,
    comparison_of,
    maker_of,
    revisions_of,
)
from storyengine_tui.screens.narrative.memory.memory_pages import count_text, first_delta
from storyengine_tui.widgets.reading.memory_outline import (
    MemoryForm,
    MemoryMarks,
    all_text,
    marks_of,
    passages_of,
)
from tests.core.values.sessions import delta_block, delta_payload, lock_block
from tests.tui.rooms.one_page import gate as gate


def test_memory_of_one_prompt_is_not_said_to_be_of_several() -> None:
    lock, delta = lock_block(), replace(delta_block(1), first=1, last=1)
    assert count_text([lock, delta], "") == "2 blocks, prompt 1"
    assert count_text([lock, replace(delta, last=7)], "") == "2 blocks, prompts 1–7"


def test_the_outline_of_memory_without_marks_is_as_it_was_and_marks_add_words() -> None:
    lock, delta = lock_block(), replace(delta_block(1), first=1, last=7)
    delta = replace(delta, payload={**delta_payload(), "canon_locks": ["One  thing.", {"deep": 1}]})
    plain = all_text([lock, delta], MemoryForm.READABLE)
    assert "(" not in plain.split("Canon")[-1].split("\n\n")[0]
    marks = marks_of(("one thing.", "Lost."), ("x",), [lock, delta], frozenset([delta.id]))
    assert marks.lost == ("Lost.",)
    text = all_text([lock, delta], MemoryForm.READABLE, marks)
    assert "Prompts 1–7 · made from older memory" in text
    assert "• One thing. (pinned)\n" in text, "as another wording of it was pinned"
    assert text.index("• Lost. (pinned)") < text.index("Prompts 1–7")
    assert all_text([lock, delta], MemoryForm.JSON, marks) == all_text([lock, delta], MemoryForm.JSON)
    [canon] = [one for one in passages_of(delta, MemoryForm.READABLE, marks) if one.locks]
    assert canon.lock_at(0) is None
    assert canon.lock_at(canon.text.index("thing")) == "One  thing."
    assert MemoryMarks().word_for("One thing.") == ""


def test_a_comparison_shows_what_differs_with_what_is_around_it() -> None:
    before = replace(delta_block(1), payload={"a": [str(number) for number in range(20)]})
    after = replace(before, payload={"a": [*(str(number) for number in range(19)), "x"]}, is_by_gm=True)
    [passage] = comparison_of(before, after)
    assert passage.text.splitlines() == [
        GAP,
        '      "17",',
        '      "18",',
        '-     "19"',
        '+     "x"',
        "    ]",
        "  }",
    ]
    assert [one.text for one in comparison_of(before, before)] == [SAME]
    ends = replace(before, payload={"a": ["x", *(str(number) for number in range(1, 19)), "y"]})
    assert len(comparison_of(before, ends)) == 2
    assert (maker_of(before), maker_of(after)) == ("a model", "the GM")


def test_the_revisions_of_a_block_are_those_of_its_place_and_kind() -> None:
    block = replace(delta_block(1), first=1, last=7, revision=3)
    older, elsewhere = replace(block, revision=1), replace(block, last=14)
    correction = replace(block, type=BlockType.CANON_CORRECTION)
    assert revisions_of(block, [elsewhere, older, correction]) == [older, block]
    assert first_delta([lock_block(), block], block) is block
    assert first_delta([lock_block()], lock_block()) is None
