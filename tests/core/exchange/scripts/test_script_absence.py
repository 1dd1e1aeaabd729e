"""Who is away in a chapter script, and who may be silent."""

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.slot import Slot
from tests.core.exchange.scripts.test_script_scene import INES, JOSS, KARA, problems_of, read

RED, ORANGE, YELLOW = tuple(Slot)[:3]


def test_a_script_that_says_nothing_leaves_it_to_the_chapter() -> None:
    made = read("", "")
    assert [prompt.away for prompt in made.prompts] == [None, None]
    assert made.silence is None


def test_the_rotation_skips_those_who_are_away_until_they_are_back() -> None:
    made = read("", 'away = {"joss" = 5}', "", "", "")
    assert [prompt.slot for prompt in made.prompts] == [RED, YELLOW, RED, YELLOW, RED]
    assert [prompt.away for prompt in made.prompts] == [None, *[{ORANGE: 5}] * 4]
    made = read('away = {"1" = true}', "", "", "away = {}", "")
    assert [prompt.slot for prompt in made.prompts] == [ORANGE, YELLOW, ORANGE, YELLOW, RED]


def test_those_who_are_away_do_not_hear_what_those_present_hear() -> None:
    made = read('present = ["Kara", "Joss"]\naway = {"Joss" = 3}', "", 'to = "Joss"')
    assert [prompt.audience for prompt in made.prompts] == [KARA, KARA | INES, KARA | JOSS]
    made = read('away = {"Joss" = true}\nheard_by = ["Joss"]')
    assert [prompt.audience for prompt in made.prompts] == [KARA | JOSS]
    made = read('present = ["Kara", "Joss", "Ines"]\naway = {"Joss" = 2}', "to = 1")
    assert [prompt.audience for prompt in made.prompts] == [KARA | INES, EVERYONE]


def test_a_branch_begins_with_those_who_were_away_at_its_prompt() -> None:
    made = read('away = {"Joss" = true}', "away = {}", "branch_at = 1")
    assert [prompt.away for prompt in made.prompts] == [{ORANGE: 0}, {}, {ORANGE: 0}]
    assert [prompt.slot for prompt in made.prompts] == [RED, ORANGE, YELLOW]


def test_absences_that_cannot_be_are_reported_where_they_stand() -> None:
    assert problems_of('away = ["Joss"]') == [
        'prompt 1: away must be a table such as {"Joss" = 4}, not a list.'
    ]
    later = "must name a prompt from 2 on for the return, or true for open."
    for value in ("1", "false", '"later"', "10000000"):
        assert problems_of(f'away = {{"Joss" = {value}}}') == [f"prompt 1: away {later}"]
    assert problems_of('away = {"Jos" = 3}') == [
        'prompt 1: away = "Jos" names no character; the cast is Kara, Joss, Ines.'
    ]
    assert problems_of('away = {"Joss" = 3}\nto = 2') == ["prompt 1: to = Joss is away at prompt 1."]
    everyone = problems_of('away = {"1" = true, "2" = true, "3" = true}')
    assert everyone[0].endswith("someone has to stay in the scene.")


def test_a_script_says_who_may_be_silent() -> None:
    assert read(top="silence = true").silence == EVERYONE
    assert read(top="silence = false").silence == NOBODY
    assert read(top='silence = ["Ines", 1]').silence == Audience.of([RED, YELLOW])
    assert problems_of(top='silence = ["Jos"]')[0].startswith('silence = "Jos" names no character')
