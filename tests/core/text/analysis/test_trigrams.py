"""Names that are spelled otherwise are found by their letters."""

import pytest

from core.text.analysis.trigrams import ALIKE, likeness, nearest


def test_it_is_the_measure_of_pg_trgm() -> None:
    # As `SELECT similarity(…)` gives them.
    assert likeness("Karra", "Kara") == pytest.approx(4 / 7)
    assert likeness("word", "words") == pytest.approx(4 / 7)
    assert likeness("Kara", "KARA") == 1.0
    assert likeness("", "Kara") == 0.0
    assert likeness("Ren\xe9e", "Rene\u0301e") == 1.0


def test_the_nearest_name_is_taken_and_a_short_or_another_word_has_none() -> None:
    names = ("Kara", "Mara", "Joss", "Quarrie")
    assert nearest("Karra", names) == "Kara"
    assert nearest("quarry", names) == "Quarrie"
    assert likeness("Mara", "Kara") < ALIKE
    assert nearest("boat", names) is None
    assert nearest("Jos", names) is None
    assert nearest("Karra", ()) is None
