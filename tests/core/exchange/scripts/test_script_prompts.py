"""The prompts of a chapter script that re-rolls, undoes and branches: their numbers, lines and refusals."""

import pytest

from core.domain.slot import Slot
from core.exchange.scripts.chapter_script import ChapterScriptError, parse_chapter_script

SETTING = (
    'world = "A sea."\nchapter = "The lamp is out."\n[[agent]]\nname = "Kara"\n[[agent]]\nname = "Joss"\n'
)


def script(*prompts: str) -> str:
    return SETTING + "".join(
        f'[[prompt]]\ntext = "P{n}"\n{more}\n' for n, more in enumerate(prompts, start=1)
    )


def problems_of(text: str) -> list[str]:
    with pytest.raises(ChapterScriptError) as caught:
        parse_chapter_script(text)
    return [str(problem) for problem in caught.value.problems]


def test_a_script_without_branches_is_one_line() -> None:
    made = parse_chapter_script(script("takes = 3", "undo = true", ""))
    assert made.lines == (made,)
    assert made.branching is None
    assert [(prompt.text, prompt.index) for prompt in made.prompts] == [("P1", 1), ("P2", 2), ("P3", 2)]


def test_a_line_begins_with_what_its_branch_has_and_numbers_go_on_from_there() -> None:
    made = parse_chapter_script(script("takes = 3", "undo = true", "", "", "branch_at = 2", "branch_at = 1"))
    assert [[(prompt.index, prompt.text) for prompt in line.prompts] for line in made.lines] == [
        [(1, "P1"), (2, "P2"), (2, "P3"), (3, "P4")],
        [(1, "P1"), (2, "P3"), (3, "P5")],
        [(1, "P1"), (2, "P6")],
    ]
    assert [[prompt.takes for prompt in line.prompts] for line in made.lines] == [
        [3, 1, 1, 1],
        [1, 1, 1],
        [1, 1],
    ]
    assert [line.branching and line.branching.branch_at for line in made.lines] == [None, 2, 1]
    assert [line.length for line in made.lines] == [3, 3, 2]


def test_the_next_turn_in_a_branch_follows_the_prompt_that_it_was_made_at() -> None:
    made = parse_chapter_script(script("", "", "", "branch_at = 1", "branch_at = 2"))
    assert [prompt.slot for prompt in made.prompts] == [
        Slot.RED,
        Slot.ORANGE,
        Slot.RED,
        Slot.ORANGE,
        Slot.RED,
    ]


@pytest.mark.parametrize(
    ("prompts", "problem"),
    [
        (("branch_at = 1",), "prompt 1: branch_at needs a prompt before it to branch at."),
        (("undo = true", "branch_at = 1"), "prompt 2: branch_at needs a prompt before it to branch at."),
        (("", "branch_at = 2"), "prompt 2: branch_at must be a whole number from 1 to 1."),
        (("", "branch_at = 0"), "prompt 2: branch_at must be a whole number from 1 to 1."),
        (("", "branch_at = true"), "prompt 2: branch_at must be a whole number from 1 to 1."),
        (
            ("", "", "branch_at = 1", "branch_at = 3"),
            "prompt 4: branch_at must be a whole number from 1 to 2.",
        ),
        (("", 'branch_title = "T"'), "prompt 2: branch_title needs branch_at beside it."),
        (
            ("", f'branch_at = 1\nbranch_title = "{"t" * 201}"'),
            "prompt 2: branch_title has 201 characters, and 200 fit.",
        ),
        (("", *["branch_at = 1"] * 21), "branch_at occurs 21 times; a script branches 20 times at most."),
        (("takes = 21",), "prompt 1: takes must be a whole number from 1 to 20."),
        (("undo = 1",), "prompt 1: undo must be true or false, not a number."),
    ],
)
def test_says_what_is_wrong_with_a_prompt(prompts: tuple[str, ...], problem: str) -> None:
    assert problems_of(script(*prompts)) == [problem]
