"""Names and numbers that a text has and its sources do not."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis.grounding import Vocabulary

SOURCES = (
    "Kara gives Joss the brass key.",
    "Three guards, 40 barrels; the gate of Old-Varn is shut at 9:30.",
    "Der Schlüssel liegt im Turm.",
)
KNOWN = Vocabulary.of(SOURCES)


@pytest.mark.parametrize(
    "text",
    [
        *SOURCES,
        "Joss has the key.",
        "Meanwhile, Kara's key opens Varn.",
        "kara hides, trembling with fear",
        "3 guards at the gate",
        "Guards know Kara. Then the gate shuts; Three of them leave.",
        "“Schlüssel”, sagt Kara.",
        "",
    ],
)
def test_what_the_sources_have_in_whatever_order_and_case_is_known(text: str) -> None:
    assert list(KNOWN.unknown_in(text)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bob has the key.", ["Bob"]),
        ("The key is with Bob.", ["Bob"]),
        ("Then Bob leaves. Mira waits.", ["Bob", "Mira"]),
        ("Kara pays 41 coins at 9:31.", ["41", "9:31"]),
        ("Kara sees four guards.", ["four"]),
        ("Kara sees sixty guards, forty-one barrels.", ["sixty", "forty-one"]),
        ("A four-day gate of a million guards.", ["four-day", "million"]),
        ("Everyone fears The Meanwhile.", ["Meanwhile"]),
        ("Kara trifft Hans.", ["Hans"]),
    ],
)
def test_a_name_or_a_number_of_its_own_is_found_where_it_is(text: str, found: list[str]) -> None:
    assert list(KNOWN.unknown_in(text)) == found


def test_a_number_of_two_words_is_one_number_in_words_and_in_digits() -> None:
    known = Vocabulary.of(["Thirty-one guards keep 52 keys."])
    assert list(known.unknown_in("31 guards keep fifty-two keys.")) == []
    assert list(known.unknown_in("thirty guards keep fifty keys")) == ["thirty", "fifty"]


@pytest.mark.parametrize(("source", "text"), [("Zo\u00eb", "Zoe\u0308"), ("Zoe\u0308", "Zo\u00eb")])
def test_a_name_is_known_however_its_accents_are_written(source: str, text: str) -> None:
    assert list(Vocabulary.of([f"{source} waits."]).unknown_in(f"There {text} waits.")) == []


def test_in_a_name_every_word_counts_whatever_its_case() -> None:
    assert list(KNOWN.unknown_in("kara", is_name=True)) == []
    assert list(KNOWN.unknown_in("the innkeeper", is_name=True)) == ["innkeeper"]


@given(st.lists(st.text(max_size=60), max_size=4))
def test_no_text_has_anything_of_its_own_against_itself(texts: list[str]) -> None:
    known = Vocabulary.of(texts)
    assert [word for text in texts for word in known.unknown_in(text, is_name=True)] == []


@pytest.mark.parametrize("gap", [" ", "“ ", "\n", "1 ", "… "])
def test_a_very_long_text_of_names_is_looked_through_at_once(gap: str) -> None:
    text = f"{gap.join(f'Kara{letter}' for letter in 'ABCDEFGHIJ')}{gap}" * 5_000
    began = thread_time()
    assert "KaraB" in list(Vocabulary.of(["kara"]).unknown_in(f"{text}, KaraB", is_paraphrase=True))
    assert thread_time() - began < 2


def test_a_number_is_known_in_the_digits_of_any_script() -> None:
    known = Vocabulary.of(["带着１２把钥匙", "في ٣٠ يومًا"])
    assert list(known.unknown_in("12 keys, ١٢, 30")) == []
    assert list(known.unknown_in("13把")) == ["13"]


def test_a_name_is_known_within_a_text_without_spaces() -> None:
    known = Vocabulary.of(["李明走进了房间。", "Karaは来た。"])
    assert list(known.unknown_in("李明", is_name=True)) == []
    assert list(known.unknown_in("王芳", is_name=True)) == ["王", "芳"]
    assert list(known.unknown_in("There Kara met Bob")) == ["Bob"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Kara", "Kara"),
        ("the innkeeper", "the innkeeper"),
        ("Kara Brandt", "Kara"),
        ("Brandt's Kara", "Kara"),
        ("Kara's Doctor", "Kara"),
        ("Brandt", ""),
        ("The Brandt", ""),
        ("Guard 99 of Kara", "Guard of Kara"),
    ],
)
def test_of_a_name_the_part_is_told_that_the_sources_have(name: str, told: str) -> None:
    assert Vocabulary.of(["A guard asks where Kara went."]).told_part(name) == told
