"""Quotation marks in names."""

import pytest

from core.text.prose import without_half_pairs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("“Tobin, you found a latchkey", "Tobin, you found a latchkey"),
        ("” I say it again", "I say it again"),
        ("Kara “the Fox", "Kara the Fox"),
        ("The “Fox” of the “Salt", "The “Fox” of the Salt"),
        ('the "Salt Jury', "the Salt Jury"),
        ("„Der Fuchs", "Der Fuchs"),
        ("Elle dit « bonjour à tous", "Elle dit bonjour à tous"),
        ("“", ""),
        ("Kara “the Fox” Venn", "Kara “the Fox” Venn"),
        ("»Der Fuchs« und „das Salz“", "»Der Fuchs« und „das Salz“"),
        ("the miller's ’prentice", "the miller's ’prentice"),
    ],
)
def test_a_name_has_both_marks_of_a_pair_or_none(name: str, expected: str) -> None:
    assert without_half_pairs(name) == expected
