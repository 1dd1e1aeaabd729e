"""The difference of two texts: lossless in both directions, in words, and paragraphs find their versions."""

import random

from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis.difference import (
    DEEPEST,
    Difference,
    Part,
    differences,
    paragraphs_of,
    shared_runs,
)
from core.text.analysis.difference_lines import Kind, difference_lines

PIECES = [
    "the",
    "boat",
    "Mira",
    "a",
    ".",
    ",",
    "“",
    "”",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "語",
    "e\u0301",
    "é",
    "[-",
    "+}",
    "👩\u200d👧",
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
sequences = st.lists(st.sampled_from("abcdefgh"), max_size=30)


def words(text: str) -> str:
    return " ".join(text.split())


def lines(before: str, after: str) -> list[str]:
    return [line.text for line in difference_lines(differences(before, after))]


@given(before=texts, after=texts)
def test_a_difference_has_all_of_both_texts(before: str, after: str) -> None:
    found = list(differences(before, after))
    assert "".join(one.before for one in found) == before
    assert "".join(one.after for one in found) == after
    for one in found:
        assert one.parts
        for part, next_ in zip(one.parts, one.parts[1:], strict=False):
            assert part.is_same != next_.is_same


@given(text=texts, other=texts)
def test_a_text_is_its_paragraphs_and_differs_from_itself_in_nothing(text: str, other: str) -> None:
    assert "".join(paragraphs_of(text)) == text
    assert all(one.is_same for one in differences(text, text))
    turned = [
        Difference(tuple(Part(part.after, part.before, part.is_same) for part in one.parts))
        for one in differences(other, text)
    ]
    assert "".join(one.after for one in turned) == other


@given(old=sequences, new=sequences)
def test_runs_are_shared_in_order_and_do_not_overlap(old: list[str], new: list[str]) -> None:
    here = there = 0
    for begin, other, length in shared_runs(old, new):
        assert length
        assert begin >= here
        assert other >= there
        assert old[begin : begin + length] == new[other : other + length]
        here, there = begin + length, other + length


@given(before=texts, after=texts)
def test_the_marked_parts_of_lines_are_where_they_say_and_in_order(before: str, after: str) -> None:
    for line in difference_lines(differences(before, after)):
        assert line.text.startswith(line.kind)
        assert "\n" not in line.text
        end = 0
        for part in line.parts:
            assert end <= part.begin < part.end <= len(line.text)
            end = part.end
            if line.kind is Kind.CHANGED:
                assert line.text[part.begin : part.end].startswith({"-": "[-", "+": "{+"}[part.kind])


def test_words_that_differ_are_marked_and_white_space_is_no_difference() -> None:
    before = "She waited.\n\nThe boat was gone. The lamp was dark, and the tide came in.\n\nThe end. Or so."
    after = "She  waited.\nThe boat had gone. The lamp was dark and the slow tide came in.\n\nThe end."
    assert lines(before, after) == [
        "= 1 paragraph the same",
        "~ The boat [-was-]{+had+} gone. The lamp was dark[-,-] and the {+slow+} tide came in.",
        "~ The end. [-Or so.-]",
    ]
    assert lines("It hung open, clean, oiled.", "It hung open, clean and oiled.") == [
        "~ It hung open, clean[-,-] {+and+} oiled."
    ]
    assert lines(after, before)[-1] == "~ The end. {+Or so.+}"
    assert lines("Caf\u00e9.", "Cafe\u0301.") == ["= 1 paragraph the same"], "the same letter"
    assert lines("我們在船上等她。", "我們在岸上等她。") == ["~ 我們在[-船-]{+岸+}上等她。"]


def test_a_paragraph_finds_its_version_among_new_ones_and_what_has_none_is_shown_whole() -> None:
    before = "One.\n\nNobody came to the mill that night, not even Joss.\n\nThe oars were wet.\n\nLast."
    after = before.replace("the mill", "the old mill").replace("The oars were wet", "A bell rang")
    after = after.replace("One.", "One.\n\nRain fell.")
    assert lines(before, after) == [
        "= 1 paragraph the same",
        "+ Rain fell.",
        "~ Nobody came to the {+old+} mill that night, not even Joss.",
        "- The oars were wet.",
        "+ A bell rang.",
        "= 1 paragraph the same",
    ]


def test_versions_are_paired_for_the_most_that_they_have_in_common_together() -> None:
    before = "a b c d\n\ne f g h"
    assert lines(before, "e f g x\n\na b c x\n\ne f g y") == [
        "+ e f g x",
        "~ a b c [-d-]{+x+}",
        "~ e f g [-h-]{+y+}",
    ]


def test_a_word_that_two_sentences_share_by_chance_does_not_take_them_apart() -> None:
    assert lines("Joss saw the grey boat leave.", "Joss heard an old bell the wind had moved leave.") == [
        "- Joss saw the grey boat leave.",
        "+ Joss heard an old bell the wind had moved leave.",
    ]
    crossing = "Mira and Joss and Ines went down to the sea {}, and waited."
    [line] = lines(crossing.format("slow and very cold"), crossing.format("quick and wet of rain"))
    changed = "[-slow and very cold-]{+quick and wet of rain+}"
    assert line == f"~ {crossing.replace('{}', changed)}"
    [line] = lines(crossing.format("slow and so very cold"), crossing.format("quick and so very wet"))
    assert line == f"~ {crossing.replace('{}', '[-slow-]{+quick+} and so very [-cold-]{+wet+}')}"


def test_one_word_is_found_in_a_paragraph_of_thousands() -> None:
    words = [f"{number} the boat" for number in range(1_000)]
    other = [*words[:200], "200 a boat", *words[201:800], *words[801:]]
    [found] = differences(" ".join(words), " ".join(other))
    assert [part[:2] for part in found.parts if not part.is_same] == [("the ", "a "), ("the boat 800 ", "")]


def test_empty_texts_and_white_space_alone_have_no_lines_of_words() -> None:
    assert lines("", "") == []
    assert lines("", "Word.") == ["+ Word."]
    assert lines("Word.", "") == ["- Word."]
    assert lines(" \n ", "Word.") == ["+ Word."]


def test_two_books_of_other_words_and_texts_of_one_word_take_no_square_of_time() -> None:
    """Each of these took minutes, or never ended, where all words were compared with all."""
    chance = random.Random(7)
    book = [" ".join(f"w{int(chance.paretovariate(0.5))}" for _ in range(60)) + "." for _ in range(600)]
    other = [" ".join(f"w{int(chance.paretovariate(0.5))}" for _ in range(60)) + "." for _ in range(600)]
    pairs = [
        ("\n\n".join(book), "\n\n".join(other)),
        (" ".join(book), " ".join(other)),
        ("a " * 50_000, "b " + "a " * 50_000),
        ("a b c " * 20_000, "b a c " * 20_000),
        (" \n" * 100_000, "\t" * 100_000),
        ("x" * 100_000, "-" * 100_000),
        (" ".join(map(str, range(20_000))), " ".join(map(str, range(20_000, 0, -1)))),
    ]
    for before, after in pairs:
        found = list(differences(before, after))
        assert "".join(one.before for one in found) == before
        assert "".join(one.after for one in found) == after
    nested = [str(number) for number in range(DEEPEST * 3)]
    assert shared_runs(nested, nested[::-1]), "one of them at least"
