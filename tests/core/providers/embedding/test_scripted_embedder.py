"""Vectors without a model are near each other where texts share words, or synonyms of the script."""

import operator

import pytest

from core.domain.bank.recall import Vector
from core.providers.embedding.scripted import ScriptedEmbedder

pytestmark = pytest.mark.anyio
HIDDEN = "Kara hides the latchkey below the well."
OTHER = "The skiff leaves at dawn."
ASKED = "When does the boat sail?"


def cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(operator.mul, one, other)))


async def vectors(embedder: ScriptedEmbedder, *texts: str) -> tuple[Vector, ...]:
    return (await embedder.embed(texts, 1.0)).vectors


async def test_the_same_text_has_the_same_vector_and_another_text_another() -> None:
    first, again, other = await vectors(ScriptedEmbedder(), HIDDEN, HIDDEN, OTHER)
    assert first == again
    assert cosine(first, first) == pytest.approx(1.0)
    assert cosine(first, other) < 0.5
    assert await vectors(ScriptedEmbedder(), HIDDEN) == (first,)


async def test_synonyms_of_the_script_bring_texts_together() -> None:
    told = ScriptedEmbedder([("boat", "Skiff", "vessel"), ("sail", "leaves")])
    plain_asked, plain_other = await vectors(ScriptedEmbedder(), ASKED, OTHER)
    asked, other, hidden = await vectors(told, ASKED, OTHER, HIDDEN)
    assert cosine(asked, other) > cosine(plain_asked, plain_other) + 0.2
    assert cosine(asked, other) > cosine(asked, hidden) + 0.2


async def test_other_synonyms_are_another_model() -> None:
    names = {ScriptedEmbedder(groups).model for groups in ((), [("key", "latchkey")], [("boat", "skiff")])}
    assert len(names) == 3


@pytest.mark.parametrize("text", ["", "…", "?!", "\U0001f5dd", "x" * 9_000])
async def test_every_text_has_a_vector(text: str) -> None:
    [vector] = await vectors(ScriptedEmbedder(), text)
    assert cosine(vector, vector) == pytest.approx(1.0)
