"""Prompt blocks of the GM's own: when each applies, in which order, and within which bounds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.domain.agent_role import AgentRole
from core.domain.session.prompt_block import (
    DEFAULT_VARIANT,
    LONGEST_BLOCK_NAME,
    LONGEST_PROMPT_BLOCK,
    LONGEST_VARIANT,
    MOST_PROMPT_BLOCKS,
    MOST_VARIANTS,
    NO_PROMPT_BLOCKS,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
    cleaned_blocks,
    problem_of_variant,
    problems_of_blocks,
)
from core.domain.slot import Slot

R = AgentRole
RAIN = PromptBlock(id=1, name="Rain", text="It rains.", order=700)
HUSH = PromptBlock(id=2, name="Hush", text="Be brief.", order=100, variants=("noir",))
MARA = PromptBlock(id=3, name="Mara", text="She lies.", order=700, slots=(Slot.RED,))
TOLD = PromptBlock(id=4, name="Told", text="Past tense.", order=800, roles=(R.NARRATIVE, R.CHARACTER))
ALL = PromptBlocks(variants=("noir",), blocks=(RAIN, HUSH, MARA, TOLD))


def names(blocks: PromptBlocks, role: AgentRole, slot: Slot | None = None) -> list[str]:
    return [block.name for block in blocks.applying(role, slot)]


def test_conditions_hold_together_and_an_empty_one_holds_always() -> None:
    noir = ALL.with_variant("noir")
    assert names(ALL, R.CHARACTER, Slot.RED) == ["Rain", "Mara", "Told"]
    assert names(noir, R.CHARACTER, Slot.RED) == ["Hush", "Rain", "Mara", "Told"]
    assert names(noir, R.CHARACTER, Slot.BLUE) == ["Hush", "Rain", "Told"]
    assert names(ALL, R.NARRATIVE) == ["Rain", "Told"]
    assert names(ALL, R.CONTEXT_SUMMARY) == names(ALL, R.WORLD_LOCK) == ["Rain"]


@pytest.mark.parametrize("block", [replace(RAIN, is_on=False), replace(RAIN, text=" \n\u200b")])
def test_a_block_that_is_off_or_blank_is_in_no_input(block: PromptBlock) -> None:
    blocks = PromptBlocks(blocks=(block,))
    assert not [role for role in AgentRole if blocks.applying(role, Slot.RED)]


def test_blocks_stand_by_order_and_then_by_number() -> None:
    assert [block.id for block in ALL.in_order] == [2, 1, 3, 4]
    assert [block.id for block in ALL.with_block(replace(RAIN, order=750)).in_order] == [2, 3, 1, 4]


def test_the_name_of_what_was_used_changes_with_a_text_and_not_with_a_switch_elsewhere() -> None:
    first = ALL.used(ALL.applying(R.NARRATIVE))
    assert first.startswith("default(2 blocks, ")
    assert len(first) == len("default(2 blocks, 12345678)")
    other = ALL.with_block(replace(HUSH, is_on=False))
    assert other.used(other.applying(R.NARRATIVE)) == first
    for changed in ({"text": "It snows."}, {"name": "Snow"}, {"place": BlockPlace.MATERIAL}):
        new = ALL.with_block(replace(RAIN, **changed))
        assert new.used(new.applying(R.NARRATIVE)) != first
    assert ALL.used([RAIN]).startswith("default(1 block, ")


def test_a_number_is_given_again_once_its_block_is_gone() -> None:
    assert ALL.next_id == 5
    assert ALL.without_block(2).next_id == 2
    assert ALL.find(2) == HUSH
    assert ALL.without_block(2).find(2) is None
    assert NO_PROMPT_BLOCKS.next_id == 1


def test_a_variant_is_added_once_and_removed_with_what_was_for_it_alone_switched_off() -> None:
    both = ALL.with_block(replace(TOLD, variants=("noir", DEFAULT_VARIANT)))
    assert both.with_variant("noir").variants == ("noir",)
    gone = both.with_variant("noir").without_variant("noir")
    assert (gone.variant, gone.variants) == (DEFAULT_VARIANT, ())
    assert gone.find(2) == replace(HUSH, variants=(), is_on=False)
    assert gone.find(4) == replace(TOLD, variants=(DEFAULT_VARIANT,))
    assert gone.find(1) == RAIN
    assert not list(problems_of_blocks(gone))
    assert ALL.with_variant("grim").without_variant("noir").variant == "grim"


def test_a_chapter_without_any_is_as_good_as_none() -> None:
    assert not NO_PROMPT_BLOCKS
    assert PromptBlocks(variants=("noir",))
    assert PromptBlocks(blocks=(RAIN,))


def test_texts_are_cleaned_and_lists_hold_nothing_twice() -> None:
    dirty = PromptBlocks(
        variant=" noir\x1b[31m ",
        variants=("noir", "noir\x00"),
        blocks=(
            replace(
                RAIN,
                name="Ra\x1b]0;x\x07in\n",
                text="It\r\nrains\x1b[2J.",
                variants=("noir", "noir"),
                slots=(Slot.BLUE, Slot.RED, Slot.BLUE),
                roles=(R.NARRATIVE, R.WORLD_LOCK, R.NARRATIVE),
            ),
        ),
    )
    clean = cleaned_blocks(dirty)
    assert (clean.variant, clean.variants) == ("noir", ("noir",))
    assert clean.blocks == (
        replace(
            RAIN,
            text="It\nrains.",
            variants=("noir",),
            slots=(Slot.RED, Slot.BLUE),
            roles=(R.WORLD_LOCK, R.NARRATIVE),
        ),
    )
    assert cleaned_blocks(clean) == clean


LONG = tuple(replace(RAIN, id=number, text="x" * 4_000) for number in range(1, 8))
REFUSED: dict[str, tuple[PromptBlocks, str]] = {
    "unknown variant": (replace(ALL, variant="grim"), "is not one of the chapter"),
    "variant of a block": (ALL.with_block(replace(RAIN, variants=("grim",))), "names a variant"),
    "the default one again": (replace(ALL, variants=("noir", "Default")), "same name"),
    "marks": (replace(ALL, variants=("noir", "a/small@1")), "letters, digits"),
    "blank variant": (replace(ALL, variants=("noir", "")), "letters, digits"),
    "long variant": (replace(ALL, variants=("noir", "x" * (LONGEST_VARIANT + 1))), "letters, digits"),
    "many variants": (
        replace(ALL, variants=("noir", *map(str, range(MOST_VARIANTS)))),
        f"at most {MOST_VARIANTS}",
    ),
    "two of one number": (replace(ALL, blocks=(RAIN, replace(HUSH, id=1))), "same number"),
    "number": (ALL.with_block(replace(RAIN, id=MOST_PROMPT_BLOCKS + 1)), "number that cannot be"),
    "blank name": (ALL.with_block(replace(RAIN, name=" ")), "one line"),
    "lines": (ALL.with_block(replace(RAIN, name="a\nb")), "one line"),
    "long name": (ALL.with_block(replace(RAIN, name="x" * (LONGEST_BLOCK_NAME + 1))), "one line"),
    "long text": (ALL.with_block(replace(RAIN, text="x" * (LONGEST_PROMPT_BLOCK + 1))), "at most 4,000"),
    "long together": (replace(ALL, blocks=LONG), "at most 24,000"),
    "low": (ALL.with_block(replace(RAIN, order=99)), "100 to 1,600"),
    "high": (ALL.with_block(replace(RAIN, order=1_601)), "100 to 1,600"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_out_of_bounds_is_said_in_a_sentence(name: str) -> None:
    blocks, said = REFUSED[name]
    assert any(said in problem for problem in problems_of_blocks(blocks))
    assert all(problem.endswith(".") for problem in problems_of_blocks(blocks))


WITHIN: dict[str, Callable[[], PromptBlocks]] = {
    "none": lambda: NO_PROMPT_BLOCKS,
    "all": lambda: ALL,
    "longest": lambda: replace(ALL, blocks=LONG[:6]),
    "names": lambda: ALL.with_variant("x" * LONGEST_VARIANT).with_variant("all-ages_ 灰 2"),
    "most": lambda: PromptBlocks(
        variants=tuple(map(str, range(MOST_VARIANTS))),
        blocks=tuple(replace(RAIN, id=number) for number in range(1, MOST_PROMPT_BLOCKS + 1)),
    ),
    "orders": lambda: ALL.with_block(replace(RAIN, order=100)).with_block(replace(HUSH, order=1_600)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_within_bounds_is_not_refused(name: str) -> None:
    assert not list(problems_of_blocks(WITHIN[name]()))


@pytest.mark.parametrize("name", ["noir", "हिन्दी", "ภาษาไทย", "日本語", "עִבְרִית"])
def test_a_variant_has_a_name_in_any_script(name: str) -> None:
    assert problem_of_variant(name) is None
    assert problem_of_variant(f"{name}/") is not None
