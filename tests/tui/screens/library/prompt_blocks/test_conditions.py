"""Conditions of a block that are shown are read back as they were, whatever the characters are called."""

from dataclasses import replace

import pytest

from core.domain.session.prompt_block import PromptBlock, PromptBlocks
from core.domain.session.session import Session
from core.domain.slot import Slot, first_slots
from storyengine_tui.screens.library.prompt_blocks.conditions import TypedBlock
from tests.store.chapters import new_session

BLOCK = PromptBlock(id=1, name="Tone", text="Rain.")
BLOCKS = PromptBlocks(blocks=(BLOCK,))


def cast(*names: str) -> Session:
    slots = first_slots(len(names))
    return new_session(slots=slots, names=dict(zip(slots, names, strict=True)))


@pytest.mark.parametrize(
    ("names", "slots", "shown"),
    [
        (("Mira", "Joss"), (1, 2), "Mira, Joss"),
        (("Mira, the Elder", "Joss"), (1, 2), "1, Joss"),
        (("李，明", "王芳"), (1, 2), "1, 王芳"),
        (("2", "Joss"), (1,), "1"),
        (("Mira", "mira"), (2,), "2"),
        (("Mira",), (1, 7), "Mira, 7"),
    ],
)
def test_characters_are_read_back_as_they_are_shown(
    names: tuple[str, ...], slots: tuple[int, ...], shown: str
) -> None:
    block = replace(BLOCK, slots=tuple(map(Slot, slots)))
    typed = TypedBlock.of(block, cast(*names))
    assert typed.characters == shown
    assert typed.put_into(block, BLOCKS, cast(*names)) == (block, "")


def test_a_number_is_the_slot_also_when_another_character_is_called_so() -> None:
    session = cast("2", "Joss")
    typed = replace(TypedBlock.of(BLOCK, session), characters="2")
    assert typed.put_into(BLOCK, BLOCKS, session)[0].slots == (Slot(2),)


def test_the_commas_of_other_scripts_are_between_characters_too() -> None:
    session = cast("李明", "王芳", "Joss")
    typed = replace(TypedBlock.of(BLOCK, session), characters="李明，王芳、Joss")
    assert typed.put_into(BLOCK, BLOCKS, session)[0].slots == (Slot(1), Slot(2), Slot(3))


def test_who_is_not_in_the_cast_is_refused_with_the_names_that_can_be_typed() -> None:
    session = cast("Mira", "Joss, the Young")
    typed = replace(TypedBlock.of(BLOCK, session), characters="Ines")
    made, problem = typed.put_into(BLOCK, BLOCKS, session)
    assert (made, problem) == (BLOCK, "“Ines” is no character; there are Mira, 2.")


def test_one_of_the_other_names_of_a_character_means_it_too() -> None:
    session = cast("Mira", "Joss")
    others = {"Keeper": Slot(1), "Mira": Slot(2)}
    typed = replace(TypedBlock.of(BLOCK, session), characters="keeper, mira, Joss")
    made, problem = typed.put_into(BLOCK, BLOCKS, session, others)
    assert (made.slots, problem) == ((Slot(1), Slot(2)), "")
    typed = replace(typed, characters="mira")
    assert typed.put_into(BLOCK, BLOCKS, session, others)[0].slots == (Slot(1),)
