"""Who knows what in a chapter script: presence, hearers, lines, rolls, secrets and the viewpoint."""

import pytest

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.domain.story.secret import Secret, settled
from core.exchange.scripts.chapter_script import ChapterScript, ChapterScriptError, parse_chapter_script
from core.exchange.scripts.scene import ScriptLine
from tests.core.values.scripts import KARA_JOSS_INES

SETTING = f"""
world = "A sea."
chapter = "The lamp is out."
{{}}
{KARA_JOSS_INES}{{}}
"""
KARA, JOSS, INES = (Audience.of([slot]) for slot in tuple(Slot)[:3])


def script(*prompts: str, top: str = "", secrets: str = "") -> str:
    tables = "".join(f'[[prompt]]\ntext = "P{n}"\n{more}\n' for n, more in enumerate(prompts, start=1))
    return SETTING.format(top, secrets + tables)


def read(*prompts: str, **more: str) -> ChapterScript:
    return parse_chapter_script(script(*prompts, **more))


def problems_of(*prompts: str, **more: str) -> list[str]:
    with pytest.raises(ChapterScriptError) as caught:
        read(*prompts, **more)
    return [str(problem) for problem in caught.value.problems]


def narrated(text: str, audience: Audience | None = None) -> ScriptLine:
    return ScriptLine(text, is_roll=False, audience=audience)


def rolled(notation: str, audience: Audience | None = None) -> ScriptLine:
    return ScriptLine(notation, is_roll=True, audience=audience)


def test_a_script_that_says_nothing_of_who_is_present_leaves_it_to_the_chapter() -> None:
    made = read("", "")
    assert [(prompt.present, prompt.audience, prompt.lines) for prompt in made.prompts] == [
        (None, None, ())
    ] * 2
    assert (made.secrets, made.viewpoint) == ((), None)


def test_those_present_hear_every_prompt_from_there_on_and_so_does_the_one_addressed() -> None:
    made = read("", 'present = ["kara", 2]', "", 'present = [3, "Joss", "Kara"]')
    assert [prompt.present for prompt in made.prompts] == [None, KARA | JOSS, KARA | JOSS, EVERYONE]
    assert [prompt.audience for prompt in made.prompts] == [None, KARA | JOSS, EVERYONE, EVERYONE]
    assert [prompt.audience for prompt in read("present = []").prompts] == [KARA]


def test_heard_by_and_whisper_hold_for_one_prompt_alone() -> None:
    made = read('heard_by = ["Ines"]', "whisper = true", "whisper = false", "heard_by = []")
    assert [prompt.audience for prompt in made.prompts] == [KARA | INES, JOSS, None, KARA]


def test_a_line_and_a_roll_are_before_their_prompt_for_those_who_hear_it() -> None:
    made = read('roll = " 2D6 + 1 "\nline = " It rains. "', 'whisper = true\nroll = "d20"', "")
    assert [prompt.lines for prompt in made.prompts] == [
        (narrated("It rains."), rolled("2d6+1")),
        (rolled("d20", JOSS),),
        (),
    ]


def test_a_scene_comes_before_the_line_and_may_have_no_words() -> None:
    made = read('line = "It rains."\nscene = " At the mill. "', 'scene = ""')
    first, second = (prompt.lines for prompt in made.prompts)
    assert [(line.text, line.begins_scene) for line in first] == [
        ("At the mill.", True),
        ("It rains.", False),
    ]
    assert [(line.text, line.begins_scene) for line in second] == [("", True)]


def test_lines_before_an_undone_prompt_stay_and_a_branch_has_those_after_its_last_prompt() -> None:
    made = read(
        'line = "a"',
        'line = "b"\nundo = true',
        'line = "c"',
        'line = "d"',
        'branch_at = 1\nline = "e"',
        'branch_at = 2\nline = "f"',
    )
    first, second, third = (
        [[one.text for one in prompt.lines] for prompt in line.prompts] for line in made.lines
    )
    assert first == [["a"], ["b"], ["b", "c"], ["d"]]
    assert second == [["a"], ["b", "c", "e"]]
    assert third == [["a"], ["b", "c", "e"], ["f"]]


def test_a_branch_begins_with_those_who_were_present_at_its_prompt() -> None:
    made = read("", 'present = ["Kara"]', "", "branch_at = 2", "branch_at = 1")
    assert [prompt.present for prompt in made.prompts] == [None, KARA, KARA, KARA, EVERYONE]


def test_secrets_are_read_with_those_who_know_them_and_their_reveal() -> None:
    secrets = """
[[secret]]
text = " The captain lied. "
known_by = ["Joss", 1]
[[secret]]
text = "The map is wrong."
known_by = []
reveal_at = 12
reveal_to = ["ines"]
[[secret]]
text = "It was me."
known_by = ["Kara", "Joss", "Ines"]
reveal_at = 3
"""
    assert read(secrets=secrets).secrets == (
        Secret(number=1, text="The captain lied.", known_by=KARA | JOSS),
        Secret(number=2, text="The map is wrong.", known_by=NOBODY, reveal_at=12, reveal_to=INES),
        Secret(number=3, text="It was me.", known_by=EVERYONE, reveal_at=3, reveal_to=EVERYONE),
    )


def test_the_viewpoint_is_a_character_and_neither_it_nor_a_secret_changes_the_key() -> None:
    made = read(top='viewpoint = "joss"', secrets='[[secret]]\ntext = "S"\nknown_by = [1]\n')
    assert made.viewpoint is Slot.ORANGE
    assert made.key == read().key


SECRET = '[[secret]]\ntext = "S"\nknown_by = [1]\n'


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ('present = "Kara"', "prompt 1: present must be a list in brackets, not text."),
        (
            'present = ["Mott"]',
            'prompt 1: present = "Mott" names no character; the cast is Kara, Joss, Ines.',
        ),
        ("heard_by = [4]", "prompt 1: heard_by = 4 names no character; the cast is Kara, Joss, Ines."),
        ("heard_by = [true]", "prompt 1: heard_by must be a name or a slot number, not true or false."),
        ("whisper = 1", "prompt 1: whisper must be true or false, not a number."),
        (
            "whisper = true\nheard_by = [1]",
            "prompt 1: whisper and heard_by exclude each other;",
        ),
        ('line = " "', "prompt 1: line is blank."),
        (f'line = "{"x" * 20_001}"', "prompt 1: line has 20,001 characters, and 20,000 fit."),
        ("roll = 6", "prompt 1: roll must be text in quotes, not a number."),
        ('roll = "6"', "prompt 1: roll: “6” is not a roll of dice; write it like d20, 2d6 or 2d6+1."),
        ('roll = "101d6"', "prompt 1: roll: A roll has 1 to 100 dice with 2 to 1,000 sides, like 2d6."),
        ('roll = "0d6"', "prompt 1: roll: A roll has 1 to 100 dice with 2 to 1,000 sides, like 2d6."),
        (f'roll = "{"1" * 41}"', "prompt 1: roll has 41 characters, and 40 fit."),
    ],
)
def test_says_what_is_wrong_with_the_scene_of_a_prompt(prompt: str, problem: str) -> None:
    [said] = problems_of(prompt)
    assert said.startswith(problem)


@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ('known_by = ["Kara"]', "secret 1: text is missing."),
        (f'text = "{"x" * 2_001}"\nknown_by = []', "secret 1: text has 2,001 characters, and 2,000 fit."),
        ('text = "S"', "secret 1: known_by is missing; [] is a secret that only the GM knows."),
        ('text = "S"\nknown_by = ["Mott"]', 'secret 1: known_by = "Mott" names no character; the cast is'),
        (
            'text = "S"\nknown_by = []\nreveal_at = 0',
            "secret 1: reveal_at must be a whole number from 1",
        ),
        ('text = "S"\nknown_by = []\nreveal_to = [1]', "secret 1: reveal_to needs reveal_at beside it."),
        (
            'text = "S"\nknown_by = []\nreveal_at = 1\nreveal_to = []',
            "secret 1: reveal_to names no character; leave it out to reveal it to everyone.",
        ),
        ('text = "S"\nknown_by = []\nreveal = 1', 'secret 1: "reveal" is not a known key; did you mean'),
    ],
)
def test_says_what_is_wrong_with_a_secret(secret: str, problem: str) -> None:
    [said] = problems_of(secrets=f"[[secret]]\n{secret}\n")
    assert said.startswith(problem)


def test_secrets_have_bounds_together() -> None:
    assert problems_of(secrets=SECRET * 51) == ["[[secret]] occurs 51 times; a chapter has at most 50."]
    long = f'[[secret]]\ntext = "{"x" * 2_000}"\nknown_by = []\n'
    assert problems_of(secrets=long * 6) == [
        "[[secret]] has 12,000 characters in all together, and 10,000 fit."
    ]


def test_a_viewpoint_that_is_no_character_is_refused_beside_all_else() -> None:
    said = problems_of('roll = "x"', "whisper = 2", top='viewpoint = "Mott"', secrets="[[secret]]\n")
    assert [one.split(" ", 2)[0] for one in said] == ["viewpoint", "secret", "secret", "prompt", "prompt"]


GROUPED = """
world = "A sea."
chapter = "The lamp is out."
[[agent]]
name = "Kara"
short_description = "The keeper."
aliases = ["Kay", "Kara"]
group = "Lamp"
groups_visible = []
[[agent]]
name = "Joss"
groups_visible = ["lamp", "General"]
[[agent]]
name = "Ines"
"""


def grouped(more: str) -> ChapterScript:
    return parse_chapter_script(GROUPED + more)


def test_a_secret_of_groups_is_for_those_who_see_one_of_them_when_the_chapter_is_locked() -> None:
    script = grouped(
        '[[secret]]\ntext = "One."\ngroups = ["LAMP"]\n'
        '[[secret]]\ntext = "Two."\ngroups = []\n'
        '[[secret]]\ntext = "Three."\ngroups = ["General"]\nknown_by = ["Kay"]\n'
        '[[secret]]\ntext = "Four."\ngroups = ["Guild"]\n'
    )
    assert [one.groups for one in script.secrets] == [("LAMP",), ("General",), ("General",), ("Guild",)]
    assert [one.known_by for one in script.secrets] == [NOBODY, NOBODY, KARA, NOBODY]
    at_the_lock = settled(script.secrets, (Slot.RED, Slot.ORANGE, Slot.YELLOW), script.profiles)
    assert [one.known_by for one in at_the_lock] == [KARA | JOSS, JOSS | INES, EVERYONE, NOBODY]
    with pytest.raises(ChapterScriptError, match="at most 20 groups"):
        grouped(f'[[secret]]\ntext = "x"\ngroups = ["{"x" * 101}"]\n')


def test_a_script_says_what_the_others_are_told_of_a_character_and_how_else_it_is_called() -> None:
    made = grouped('[[prompt]]\nto = "kay"\ntext = "Who is there?"\nheard_by = ["KAY"]\n')
    kara = Profile(aliases=("Kay", "Kara"), short_description="The keeper.", group="Lamp", groups_visible=())
    assert made.profiles == {Slot.RED: kara, Slot.ORANGE: Profile(groups_visible=("lamp", "General"))}
    [prompt] = made.prompts
    assert (prompt.slot, prompt.audience) == (Slot.RED, KARA)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("short_description = 5", "agent 1: short_description must be text"),
        (f'short_description = "{"x" * 501}"', "agent 1: short_description has 501 characters"),
        ('aliases = "Kay"', "agent 1: aliases must be a list"),
        ("aliases = [5]", "agent 1: aliases must be a list of texts"),
        (f"aliases = {[str(n) for n in range(21)]}", "at most 20 other names"),
        (f'group = "{"x" * 101}"', "agent 1: group has 101 characters"),
    ],
)
def test_what_a_character_of_a_script_cannot_have_is_a_problem(more: str, problem: str) -> None:
    with pytest.raises(ChapterScriptError, match=problem) as refused:
        parse_chapter_script(f'world = "w"\nchapter = "c"\n[[agent]]\n{more}\n')
    assert len({*refused.value.problems}) == len(refused.value.problems), "each is said once"


def test_what_a_script_says_of_its_characters_is_part_of_what_it_is_found_by() -> None:
    assert grouped("").key != parse_chapter_script(GROUPED.replace("The keeper.", "A keeper.")).key
    plain = 'world = "w"\nchapter = "c"\n[[agent]]\nname = "Kara"\n'
    same = parse_chapter_script(plain + 'group = "General"\ngroups_visible = ["General"]\n')
    assert parse_chapter_script(plain).key == same.key
