"""Prompt blocks in a chapter script: what is read, and what is said of what cannot be."""

import pytest

from core.domain.agent_role import AgentRole
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, BlockPlace, PromptBlock, PromptBlocks
from core.domain.slot import Slot
from core.exchange.scripts.chapter_script import ChapterScriptError, parse_chapter_script

BASE = """
world = "A sea."
chapter = "The lamp."
{}
[[agent]]
name = "Kara"
[[agent]]
name = "Joss"
{}
"""


def read(blocks: str, top: str = "") -> PromptBlocks:
    return parse_chapter_script(BASE.format(top, blocks)).prompt_blocks


def test_a_script_without_blocks_has_none() -> None:
    assert read("") == NO_PROMPT_BLOCKS


def test_every_key_is_read() -> None:
    text = '''
[[block]]
name = "Weather"
text = "It rains."
[[block]]
name = " Kara "
text = """
She lies.\\u001b[31m
"""
order = 1600
place = "material"
on = false
variants = ["grim", "default", "grim"]
characters = ["joss", 1]
agents = ["narrative", "character"]
'''
    assert read(text, 'variant = "noir"') == PromptBlocks(
        variant="noir",
        variants=("noir", "grim"),
        blocks=(
            PromptBlock(id=1, name="Weather", text="It rains."),
            PromptBlock(
                id=2,
                name="Kara",
                text="She lies.",
                order=1_600,
                place=BlockPlace.MATERIAL,
                is_on=False,
                variants=("grim", "default"),
                slots=(Slot.RED, Slot.ORANGE),
                roles=(AgentRole.CHARACTER, AgentRole.NARRATIVE),
            ),
        ),
    )


def test_the_key_of_a_script_does_not_change_with_its_blocks() -> None:
    plain = parse_chapter_script(BASE.format("", ""))
    assert parse_chapter_script(BASE.format("", '[[block]]\nname = "a"\ntext = "b"')).key == plain.key


BLOCK = '[[block]]\nname = "Rain"\ntext = "It rains."\n'
WRONG = {
    "order": (f"{BLOCK}order = 99", "block 1: order must be a whole number from 100 to 1,600."),
    "order as text": (f'{BLOCK}order = "1"', "block 1: order must be a whole number"),
    "order as truth": (f"{BLOCK}order = true", "block 1: order must be a whole number"),
    "place": (f'{BLOCK}place = "end"', 'block 1: place = "end" is not one of rules, material.'),
    "place as number": (f"{BLOCK}place = 1", "block 1: place = a number is not one of"),
    "switch": (f'{BLOCK}on = "no"', "block 1: on must be true or false, not text."),
    "agents": (f'{BLOCK}agents = ["director"]', 'block 1: agents = "director" is not one of world_lock,'),
    "agents as text": (f'{BLOCK}agents = "character"', "block 1: agents must be a list in brackets"),
    "characters": (f'{BLOCK}characters = ["Ines"]', '"Ines" names no character; the cast is Kara, Joss.'),
    "variants": (f"{BLOCK}variants = [1]", "block 1: variants must be text in quotes, not a number."),
    "marks": (f'{BLOCK}variants = ["a/b"]', "[[block]]: A variant's name has 1 to 30 letters"),
    "no name": ('[[block]]\ntext = "x"', "block 1: name is missing."),
    "no text": ('[[block]]\nname = "x"', "block 1: text is missing."),
    "long": (f'[[block]]\nname = "x"\ntext = "{"y" * 4_001}"', "block 1: text has 4,001 characters"),
    "long together": (f'[[block]]\nname = "x"\ntext = "{"y" * 4_000}"\n' * 7, "at most 24,000"),
    "many": (BLOCK * 41, "[[block]] occurs 41 times; a chapter has at most 40."),
    "unknown": (f"{BLOCK}orders = 100", '"orders" is not a known key; did you mean order?'),
    "no table": ('[[block]]\nname = "x"\ntext = "y"\n[[prompt]]\nblock = 1', '"block" is not a known key'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_its_place(name: str) -> None:
    text, said = WRONG[name]
    with pytest.raises(ChapterScriptError) as caught:
        read(text)
    assert any(said in str(problem) for problem in caught.value.problems), caught.value.problems


def test_a_variant_has_one_name_and_is_text() -> None:
    for value, said in (("3", "must be text"), (f'"{"x" * 31}"', "31 characters, and 30 fit")):
        with pytest.raises(ChapterScriptError, match=said):
            read("", f"variant = {value}")
    with pytest.raises(ChapterScriptError, match="Two variants have the same name"):
        read(f'{BLOCK}variants = ["Noir"]', 'variant = "noir"')
