"""The chapter script: what is read, what is refused and how it is said, and that no text breaks it."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.domain.errors import ErrorCode
from core.domain.slot import Slot
from core.exchange.scripts.chapter_script import (
    MAX_FILE_BYTES,
    ChapterScript,
    ChapterScriptError,
    load_chapter_script,
    parse_chapter_script,
)

SETTING = 'world = "A city on stilts."\nchapter = "The tide is late."\n'
CAST = '[[agent]]\nname = "Kara"\n[[agent]]\n[[agent]]\nname = "Ines"\nidentity = "A diver."\n'


def problems_of(text: str) -> list[str]:
    with pytest.raises(ChapterScriptError) as caught:
        parse_chapter_script(text)
    return [str(problem) for problem in caught.value.problems]


def with_prompts(*prompts: str) -> str:
    return SETTING + CAST + "".join(f"[[prompt]]\n{prompt}\n" for prompt in prompts)


def test_reads_every_field() -> None:
    script = parse_chapter_script(
        'title = "Low  Water"\nnarrative = "Past tense."\ntarget_words = 900\n'
        + with_prompts('to = "Ines"\ntext = "Dive."')
    )
    assert script.title == "Low Water"
    assert script.definition == "Past tense."
    assert script.target_words == 900
    assert tuple(one.slot for one in script.cast) == (Slot.RED, Slot.ORANGE, Slot.YELLOW)
    assert [one.name for one in script.cast] == ["Kara", "Agent Orange", "Ines"]
    assert (script.world, script.chapter) == ("A city on stilts.", "The tide is late.")
    assert [one.identity for one in script.cast] == ["", "", "A diver."]
    assert [(prompt.slot, prompt.text) for prompt in script.prompts] == [(Slot.YELLOW, "Dive.")]


def test_only_names_that_the_gm_gave_are_names() -> None:
    assert parse_chapter_script(SETTING + CAST).names == {Slot.RED: "Kara", Slot.YELLOW: "Ines"}


def test_what_is_optional_may_be_left_out() -> None:
    script = parse_chapter_script(SETTING + "[[agent]]\n")
    assert (script.title, script.definition, script.target_words, script.prompts) == ("", "", None, ())


@pytest.mark.parametrize(
    ("addressees", "slots"),
    [
        (["", "", "", ""], [1, 2, 3, 1]),
        (["to = 3", "", ""], [3, 1, 2]),
        (['to = "Agent Orange"', "", 'to = "kara"', ""], [2, 3, 1, 2]),
        (['to = " INES "', "to = 1"], [3, 1]),
    ],
)
def test_the_rotation_goes_on_after_the_previous_addressee(addressees: list[str], slots: list[int]) -> None:
    script = parse_chapter_script(with_prompts(*(f'{to}\ntext = "Go on."' for to in addressees)))
    assert [prompt.slot for prompt in script.prompts] == slots


def test_text_is_cleaned_and_stripped_before_it_is_measured() -> None:
    world = "\\n\\u001b[31m" + "x" * 5_000 + "\\u0007\\r\\n"
    script = parse_chapter_script(f'world = "{world}"\nchapter = "a\\r\\nb"\n[[agent]]\n')
    assert script.world == "x" * 5_000
    assert script.chapter == "a\nb"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse_chapter_script("\ufeff" + SETTING + CAST).cast


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty."),
        ("\ufeff \n", "the file is empty."),
        (SETTING, "[[agent]] is missing; a chapter has 1 to 7 characters."),
        (SETTING + "[[agent]]\n" * 8, "[[agent]] occurs 8 times; a chapter has 1 to 7 characters."),
        (SETTING + "agent = 3", "agent must be written as a table for each one, headed [[agent]]."),
        (SETTING + "[agent]\n", "agent must be written as a table for each one, headed [[agent]]."),
        ('chapter = "c"\n[[agent]]', "world is missing."),
        ('world = " \\u200b"\nchapter = "c"\n[[agent]]', "world is blank."),
        ('world = "w"\nchapter = 7\n[[agent]]', "chapter must be text in quotes, not a number."),
        (
            f'world = "{"w" * 5_001}"\nchapter = "c"\n[[agent]]',
            "world has 5,001 characters, and 5,000 fit.",
        ),
        (
            SETTING + 'naration = "x"\n[[agent]]',
            '"naration" is not a known key; did you mean narrative?',
        ),
        (
            SETTING + "[[agent]]\nzzz = 1",
            'agent 1: "zzz" is not a known key; the keys here are name, identity, short_description, '
            "aliases, group, groups_visible.",
        ),
        (SETTING + "target_words = 0\n[[agent]]", "target_words must be a whole number from 1 to 5,000."),
        (SETTING + "target_words = true\n[[agent]]", "target_words must be a whole number from 1 to 5,000."),
        (SETTING + "target_words = 2.5\n[[agent]]", "target_words must be a whole number from 1 to 5,000."),
        (SETTING + f'[[agent]]\nname = "{"n" * 41}"', "agent 1: name has 41 characters, and 40 fit."),
        (
            SETTING + '[[agent]]\ngroup = "Crew, old"',
            "agent 1 is not possible: The name of a group has no semicolon, which separates groups, and no "
            "comma: “Crew, old”.",
        ),
        (SETTING + '[[agent]]\nname = "a\\nb"', "agent 1: name must be on one line."),
        (
            SETTING + '[[agent]]\n[[agent]]\nname = "AGENT RED"',
            'agent 2: name = "AGENT RED" is already the name of agent 1.',
        ),
        (
            SETTING + '[[agent]]\nname = "Zo\\u00e9"\n[[agent]]\nname = "Zoe\\u0301"',
            'agent 2: name = "Zoe\u0301" is already the name of agent 1.',
        ),
        (
            with_prompts('text = "Go."\nzzz = 1'),
            'prompt 1: "zzz" is not a known key; the keys here are to, then, text, takes, undo, branch_at, '
            "branch_title, away, present, heard_by, whisper, scene, line, roll.",
        ),
        (with_prompts('to = "Kara"'), "prompt 1: text is missing."),
        (with_prompts('text = "  "'), "prompt 1: text is blank."),
        (
            with_prompts(f'text = "{"p" * 20_001}"'),
            "prompt 1: text has 20,001 characters, and 20,000 fit.",
        ),
        (
            with_prompts('text = "Go."', 'to = "Karra"\ntext = "Go."'),
            'prompt 2: to = "Karra" names no character; the cast is Kara, Agent Orange, Ines.',
        ),
        (
            with_prompts('to = 4\ntext = "Go."'),
            "prompt 1: to = 4 names no character; the cast is Kara, Agent Orange, Ines.",
        ),
        (
            with_prompts(f'to = 0x{"f" * 5_000}\ntext = "Go."'),
            "prompt 1: to = that number names no character; the cast is Kara, Agent Orange, Ines.",
        ),
        (
            with_prompts('to = true\ntext = "Go."'),
            "prompt 1: to must be a name or a slot number, not true or false.",
        ),
        ("a = " + "9" * 5_000, "the file has a number too long, or brackets too deep, to be read."),
        ("a = " + "[" * 50_000, "the file has a number too long, or brackets too deep, to be read."),
    ],
)
def test_says_what_is_wrong_and_where(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


@pytest.mark.parametrize("words", [1, 5_000])
def test_a_chapter_may_be_as_short_and_as_long_as_the_sentence_says(words: int) -> None:
    assert parse_chapter_script(SETTING + f"target_words = {words}\n" + CAST).target_words == words


def test_a_text_may_be_as_long_as_its_field_and_a_cast_as_large_as_the_table() -> None:
    cast = "".join(f'[[agent]]\nname = "{n}{"n" * 39}"\n' for n in range(1, 8))
    script = parse_chapter_script(f'{SETTING}{cast}[[prompt]]\ntext = "{"p" * 20_000}"\n')
    assert len(script.cast) == 7
    assert len(script.cast[6].name) == 40
    assert len(script.prompts[0].text) == 20_000


def test_an_error_of_toml_names_line_and_column() -> None:
    (problem,) = problems_of('title = "a"\nworld = \n')
    assert problem.startswith("line 2, column 9 is not valid TOML: ")


def test_an_open_string_is_found_at_the_end_of_the_file() -> None:
    (problem,) = problems_of('world = """never closed')
    assert problem.startswith("the end of the file is not valid TOML: ")


def test_all_problems_are_found_in_one_reading() -> None:
    text = (
        'chapter = "c"\nworlds = "w"\n[[agent]]\nidentity = 3\n[[prompt]]\nto = "Bo"\n[[prompt]]\ntext = ""\n'
    )
    assert problems_of(text) == [
        '"worlds" is not a known key; did you mean world?',
        "world is missing.",
        "agent 1: identity must be text in quotes, not a number.",
        'prompt 1: to = "Bo" names no character; the cast is Agent Red.',
        "prompt 1: text is missing.",
        "prompt 2: text is blank.",
    ]


def test_the_message_counts_the_problems_and_shows_no_more_than_can_be_read() -> None:
    with pytest.raises(ChapterScriptError) as caught:
        parse_chapter_script(with_prompts(*["text = 1"] * 1_000))
    assert caught.value.message.endswith("1,000 problems in it.")
    assert len(caught.value.hint.splitlines()) == 22
    assert caught.value.hint.endswith("… and 980 more")
    with pytest.raises(ChapterScriptError) as caught:
        parse_chapter_script(with_prompts(*["text = 1"] * 20))
    assert len(caught.value.hint.splitlines()) == 21
    assert "more" not in caught.value.hint


def test_the_key_is_that_of_the_set_up_and_not_of_the_prompts() -> None:
    script = parse_chapter_script(SETTING + CAST)
    assert len(script.key) == 64
    later = parse_chapter_script(
        'narrative = "n"\ntarget_words = 9\n' + with_prompts('text = "And now?"', 'text = "And then?"')
    )
    assert later.key == script.key


def test_a_chapter_that_an_earlier_version_began_is_found_again_by_the_same_key() -> None:
    key = "5b55d224e7057afb0dce6836cf9d5c0ca1e7028efbcb607c27771c2275f34b89"
    assert parse_chapter_script(SETTING + CAST).key == key
    key = "0538ed6de4b673b603fb544f8a2c894365cf08ae5cf7fbababae4f3c81ae25f7"
    assert parse_chapter_script('world = "Über dem Fluß, 語 🌊"\nchapter = "Nacht"\n[[agent]]\n').key == key


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stilts", "wheels"),
        ("late", "early"),
        ("Kara", "Mara"),
        ("diver", "pilot"),
        ("world", 'title = "t"\nworld'),
    ],
)
def test_a_changed_set_up_has_another_key(old: str, new: str) -> None:
    text = SETTING + CAST
    assert parse_chapter_script(text.replace(old, new)).key != parse_chapter_script(text).key


def test_a_default_name_written_out_is_the_same_set_up() -> None:
    blank = SETTING + "[[agent]]\n"
    assert parse_chapter_script(blank + 'name = "Agent Red"').key == parse_chapter_script(blank).key


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'world = "w"\nchapter = "caf\xe9"\n', "line 2 is not UTF-8; save the file as UTF-8 and try again."),
        ("world".encode("utf-16"), "the file is UTF-16; save it as UTF-8 and try again."),
        pytest.param(b"#" * (MAX_FILE_BYTES + 1), "the file is larger than 5 MB.", id="too large"),
        (b"", "the file is empty."),
    ],
)
def test_a_file_that_is_no_script_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(ChapterScriptError) as caught:
        load_chapter_script(path)
    assert caught.value.message == f"odd.toml cannot be played: {problem}"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(ChapterScriptError) as caught:
            load_chapter_script(path)
        assert caught.value.code is ErrorCode.STORAGE_LOAD_FAILED
        assert path.name in caught.value.message


def test_nothing_in_a_message_can_act_on_a_terminal() -> None:
    text = (
        SETTING + '"\\u001b[2J\\n\\u0007" = 1\n[[agent]]\n[[prompt]]\nto = "\\u001b]0;x\\u0007"\ntext = "x"'
    )
    assert not any(ord(character) < 32 for problem in problems_of(text) for character in problem)


toml_lines = st.sampled_from(
    [
        'world = "w"',
        'chapter = "c"',
        "[[agent]]",
        "[agent]",
        "[[prompt]]",
        "[[prompt.to]]",
        'name = "Kara"',
        "identity = 1979-05-27",
        'to = "Kara"',
        "to = -1",
        "to = inf",
        'text = "x"',
        "text = [[{a = 1}]]",
        "target_words = 5_000",
    ]
)


@given(st.one_of(st.text(), st.lists(st.one_of(toml_lines, st.text(max_size=20))).map("\n".join)))
@example("\ud800 = 1")
@example('"\\udfff" = 1')
def test_any_text_is_a_script_or_a_chapter_script_error(text: str) -> None:
    with contextlib.suppress(ChapterScriptError):
        assert 1 <= len(parse_chapter_script(text).cast) <= 7


@given(st.binary())
def test_any_bytes_are_a_script_or_a_chapter_script_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    with pytest.raises(ChapterScriptError):
        load_chapter_script(path)


printable = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)


@given(
    world=printable,
    names=st.lists(printable, min_size=1, max_size=7, unique_by=str.casefold),
    turns=st.lists(st.tuples(st.integers(0, 6), printable), max_size=12),
)
def test_what_was_written_is_what_is_read(world: str, names: list[str], turns: list[tuple[int, str]]) -> None:
    addressed = [(position % len(names), text) for position, text in turns]
    script = parse_chapter_script(written(world, names, addressed))
    assert script.world == world
    assert [one.name for one in script.cast] == names
    assert [(prompt.slot - 1, prompt.text) for prompt in script.prompts] == addressed


def written(world: str, names: list[str], turns: list[tuple[int, str]]) -> str:
    """Write a script; a JSON string without escapes above the BMP is a TOML string."""
    lines = [f"world = {quoted(world)}", 'chapter = "c"']
    for name in names:
        lines += ["[[agent]]", f"name = {quoted(name)}"]
    for position, text in turns:
        lines += ["[[prompt]]", f"to = {quoted(names[position])}", f"text = {quoted(text)}"]
    return "\n".join(lines)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize(
    ("name", "agents", "prompts"),
    [
        ("the_long_way_down", 1, 8),
        ("the_lamp_at_grey_point", 3, 15),
        ("the_salt_jury", 7, 22),
        ("the_theft_at_the_royal", 7, 21),
    ],
)
def test_an_example_is_a_whole_chapter(name: str, agents: int, prompts: int) -> None:
    script: ChapterScript = load_chapter_script(EXAMPLES / f"{name}.toml")
    assert (len(script.cast), len(script.prompts)) == (agents, prompts)
    assert {prompt.slot for prompt in script.prompts} == {one.slot for one in script.cast}
    assert all(one.identity for one in script.cast)
    assert script.title
    assert script.definition
    assert script.target_words


def test_every_example_is_tested() -> None:
    assert len(list(EXAMPLES.glob("*.toml"))) == 4


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("true", "true or false"),
        ("1.5", "a number"),
        ("[1]", "a list"),
        ("{a = 1}", "a table"),
        ("1979-05-27", "a date or time"),
    ],
)
def test_what_is_no_name_is_called_what_it_is(value: str, kind: str) -> None:
    [problem] = problems_of(with_prompts(f'to = {value}\ntext = "Dive."'))
    assert problem.endswith(f"must be a name or a slot number, not {kind}.")


@pytest.mark.parametrize(
    ("number", "shown"), [("999999", "= 999999 names"), ("1000000", "= that number names")]
)
def test_a_slot_with_many_digits_is_not_repeated(number: str, shown: str) -> None:
    [problem] = problems_of(with_prompts(f'to = {number}\ntext = "Dive."'))
    assert shown in problem
