"""What a service answers is read whole and in order, or refused: it is data from outside."""

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import ErrorCode
from core.providers.base import MAX_TOKENS, ProviderError
from core.providers.embedding.base import MOST_DIMENSIONS, Embedding, shortened
from core.providers.embedding.service import read_embedding


def item(*numbers: object, **changes: object) -> dict[str, object]:
    return {"object": "embedding", "embedding": [*numbers], **changes}


def read(*items: object, count: int | None = None, **more: object) -> Embedding:
    body = json.dumps({"data": [*items], **more}).encode()
    return read_embedding(body, len(items) if count is None else count, "asked")


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one() -> None:
    made = read(item(0, 2, index=1), item(3, 4, index=0), model="m", usage={"prompt_tokens": 7})
    assert made.vectors == ((0.6, 0.8), (0.0, 1.0))
    assert made.model == "m"
    assert (made.usage.input_tokens, made.usage.output_tokens) == (7, 0)


def test_a_service_that_numbers_nothing_keeps_the_order() -> None:
    assert read(item(1, 0), item(0, 1)).vectors == ((1.0, 0.0), (0.0, 1.0))


@pytest.mark.parametrize(
    "items",
    [
        [item(1, 0), item(1, 0, 0)],
        [item(1, index=0), item(1, index=0)],
        [item(1, index=0), item(1, index=2)],
        [item(1, index=True), item(1, index=0)],
        [item(1, index="0"), item(1, index=1)],
        [item(1), "text"],
        [item(1), None],
        [item(1), {}],
        [item(1), {"embedding": "AACAPw=="}],
        [item(1), item()],
        [item(1), item("1")],
        [item(1), item(None)],
        [item(1), item(True)],
        [item(1), item([1])],
        [item(1), item(math.nan)],
        [item(1), item(math.inf)],
        [item(1), item(-math.inf)],
        [item(1), item(1e300)],
        [item(1), item(10**400)],
        [item(1), item(0)],
        [item(1), item(1e-300)],
        [item(1), item(*([1] * (MOST_DIMENSIONS + 1)))],
    ],
    ids=lambda items: str(items)[-40:],
)
def test_what_is_no_set_of_vectors_of_one_length_is_refused(items: list[object]) -> None:
    with pytest.raises(ProviderError) as caught:
        read(*items)
    assert caught.value.code is ErrorCode.LLM_SERVER_ERROR
    assert "[embedding]" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"data": {}}', b"[" * 100_000, b'{"data": [1' + b"0" * 5_000 + b"]}"],
    ids=lambda body: body[:12],
)
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    with pytest.raises(ProviderError, match=r"nothing is lost"):
        read_embedding(body, 1, "asked")


@pytest.mark.parametrize("found", [0, 1, 3, 100_000])
def test_too_many_and_too_few_vectors_are_refused(found: int) -> None:
    body = b'{"data": [' + b",".join([b'{"embedding": [1]}'] * found) + b"]}"
    with pytest.raises(ProviderError, match=f"{found:,} vectors for 2 texts"):
        read_embedding(body, 2, "asked")


@pytest.mark.parametrize("tokens", [-1, 0, True, "7", 7.0, MAX_TOKENS + 1, None])
def test_tokens_that_are_no_count_are_not_given(tokens: object) -> None:
    usage = read(item(1), usage={"prompt_tokens": tokens}).usage
    assert (usage.input_tokens, usage.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        ({"prompt_tokens": 7, "cost": 0.0123}, Decimal("0.0123")),
        (
            {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
            Decimal("0.021"),
        ),
        ({"prompt_tokens": 7, "cost": -1}, None),
        ({"prompt_tokens": 7}, None),
    ],
)
def test_the_bill_of_a_service_comes_with_its_vectors(usage: object, billed: Decimal | None) -> None:
    assert read(item(1), usage=usage).billed == billed


def test_a_name_that_could_act_on_a_terminal_is_cleaned_and_bounded() -> None:
    assert read(item(1), model="\x1b[2Jm" + "x" * 900).model == "m" + "x" * 199
    assert read(item(1), model=7).model == "asked"


anything: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["data", "embedding", "index", "model", "usage"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(st.lists(anything | st.builds(lambda numbers: {"embedding": numbers}, st.lists(anything, max_size=3))))
def test_whatever_is_sent_there_are_as_many_vectors_as_texts_or_a_sentence(items: list[object]) -> None:
    try:
        made = read(*items, count=2, usage=items[:1], model=items[-1:])
    except ProviderError:
        return
    assert len(made.vectors) == 2
    assert len({len(vector) for vector in made.vectors}) == 1
    assert all(math.isclose(math.hypot(*vector), 1.0) for vector in made.vectors)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("  Kara\nhid \t the key. ", "Kara hid the key."),
        ("", "…"),
        (" \u200b\n", "…"),
        ("\x1b[31mred\ud800", "red"),
        ("word " * 900, "word " * 249 + "word"),
        ("漢" * 9_000, "漢" * 2_000),
    ],
)
def test_a_text_is_cut_to_what_a_model_reads(text: str, cut: str) -> None:
    assert shortened(text) == cut
