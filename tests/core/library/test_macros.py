"""Macros are expanded once, from the inside out; chance comes from a seed; unknown ones stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.macros import MOST_NESTED, Draws, MacroNames, drawn, expand

NAMES = MacroNames(char="Kara", user="Tom", values={"original": "The rules."})
DRAWS = Draws("story", "7")


def expanded(text: str, names: MacroNames = NAMES, draws: Draws = DRAWS) -> str:
    return expand(text, names, draws)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain {text} }} {{", "plain {text} }} {{"),
        ("{{char}} and {{user}}", "Kara and Tom"),
        ("{{CHAR}} {{ User }}", "Kara Tom"),
        ("<BOT>, <char>, <USER>", "Kara, Kara, Tom"),
        ("{{original}} More.", "The rules. More."),
        ("{{outlet::sea}}", "{{outlet::sea}}"),
        ("{{unknown}} {{time}} {{getvar::x}}", "{{unknown}} {{time}} {{getvar::x}}"),
        ("a{{// a note }}b{{comment: a note}}c", "abc"),
        ("{{reverse:abc}}", "cba"),
        ("a{{hidden_key:lamp}}b", "ab"),
        ("{{random:one}} {{pick::two}}", "one two"),
        (r"{{random:a\,b}}", "a,b"),
        ("{{random::a,b}}", "a"),
        ("{{roll:1}} {{roll:d1}} {{roll:3d1+4}} {{roll 2d1-1}}", "1 1 7 1"),
        ("{{roll:0}} {{roll:101d6}} {{roll:x}}", "{{roll:0}} {{roll:101d6}} {{roll:x}}"),
        ("{{reverse:{{char}}}}", "araK"),
        ("{{{char}}}", "{Kara}"),
        ("{{unknown:{{char}}}}", "{{unknown:Kara}}"),
        ("{{char", "{{char"),
        ("{{ {{char}}", "{{ Kara"),
        ("{{charx}} {{char:x}}", "{{charx}} {{char:x}}"),
    ],
)
def test_a_macro_becomes_what_it_means(text: str, expected: str) -> None:
    if text == "{{random::a,b}}":
        assert expanded(text) in ("a", "b")
    else:
        assert expanded(text) == expected


def test_what_was_put_in_is_not_read_again() -> None:
    names = MacroNames(char="{{user}}", user="{{char}},{{char}}")
    assert expanded("{{char}} {{user}}", names) == "{{user}} {{char}},{{char}}"
    assert expanded("{{random:{{user}}}}", names) == "{{char}},{{char}}"
    assert expanded("{{reverse:{{char}}}}", names) == "}}resu{{"


def test_a_pick_lasts_and_a_random_draw_goes_with_the_turn() -> None:
    choices = ",".join(str(number) for number in range(50))
    picked = {expanded(f"{{{{pick:{choices}}}}}", draws=Draws("s", str(turn))) for turn in range(30)}
    rolled = {expanded(f"{{{{random:{choices}}}}}", draws=Draws("s", str(turn))) for turn in range(30)}
    assert len(picked) == 1
    assert len(rolled) > 10
    other = {expanded(f"{{{{pick:{choices}}}}}", draws=Draws(str(seed))) for seed in range(30)}
    assert len(other) > 10


def test_two_equal_macros_draw_for_themselves() -> None:
    assert len(set(expanded("{{roll:1000}} " * 20).split())) > 10


def test_the_same_seed_expands_to_the_same_text() -> None:
    text = "{{random:a,b,c}} {{roll:2d20}} {{pick:x,y}}" * 9
    assert expanded(text) == expanded(text)


def test_dice_are_fair() -> None:
    rolled = [int(expanded("{{roll:6}}", draws=Draws("s", str(turn)))) for turn in range(3_000)]
    assert {*rolled} == {1, 2, 3, 4, 5, 6}
    assert all(400 <= rolled.count(side) <= 600 for side in range(1, 7))


def test_a_drawn_number_is_from_0_up_to_but_not_including_1() -> None:
    assert all(0 <= drawn(str(number)) < 1 for number in range(1_000))


@given(st.text(st.sampled_from("{}:,\\ achrndom/pik"), max_size=60))
def test_any_text_is_expanded_without_an_error(text: str) -> None:
    assert isinstance(expanded(text), str)


def test_many_openings_take_no_more_time_than_their_length() -> None:
    assert expanded("{{a" * 100_000) == "{{a" * 100_000


@pytest.mark.parametrize("more", [0, 1, 2])
def test_macros_within_too_many_others_stay_and_those_around_them_are_expanded(more: int) -> None:
    deepest = f"{'{{reverse:' * MOST_NESTED}{'{{char}}' * more}ab{'}}' * MOST_NESTED} {{{{char}}}}"
    assert expanded(deepest) == f"{'{{char}}' * more}ab Kara"


@pytest.mark.parametrize("macro", ["{{x", "{{x <user>", "{{random:a,b"])
def test_many_macros_within_each_other_take_no_more_time_than_their_length(macro: str) -> None:
    assert expanded(macro * 20_000 + "}}" * 20_000)
