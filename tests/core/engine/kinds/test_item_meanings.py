"""The vector by which an item of the memory bank is found: of what it says and what it is about."""

import pytest

from core.engine.kinds.bank.embedding import meaning_of, texts_to_embed
from tests.core.values.bank import fact


@pytest.mark.parametrize(
    ("about", "expected"),
    [((0.0, 1.0), (0.5**0.5, 0.5**0.5)), ((-1.0, 0.0), (1.0, 0.0))],
    ids=["apart", "opposite"],
)
def test_an_item_whose_subject_is_the_opposite_of_its_text_is_found_by_its_text(
    about: tuple[float, float], expected: tuple[float, float]
) -> None:
    said, name, *parts = texts_to_embed(fact())
    made = meaning_of(fact(), {**dict.fromkeys(parts, about), name: about, said: (1.0, 0.0)})
    assert made is not None
    assert made.vector == pytest.approx(expected)
