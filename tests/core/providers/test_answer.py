"""The end of an answer: whole, empty, declined or broken off."""

import pytest

from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.answer import Answer, AnswerChunk
from core.providers.base import Completion, ProviderError


def ended(*pieces: AnswerChunk) -> Completion:
    answer = Answer("asked")
    for piece in pieces:
        answer.add(piece)
    answer.rest()
    return answer.completion()


def refused(*pieces: AnswerChunk) -> ProviderError:
    with pytest.raises(ProviderError) as error:
        ended(*pieces)
    return error.value


STOP = AnswerChunk(finish_reason="stop")


def test_what_the_service_said_last_of_model_usage_and_reason_counts() -> None:
    made = ended(
        AnswerChunk(text="I ", model="first", usage=Usage(1, 1)),
        AnswerChunk(text="nod.", model="second", usage=Usage(2, 2)),
        AnswerChunk(finish_reason="length"),
        AnswerChunk(),
    )
    assert made.model == "second"
    assert (made.usage, made.finish_reason) == (Usage(2, 2), "length")
    assert ended(AnswerChunk(text="x"), STOP).model == "asked"


@pytest.mark.parametrize(
    ("text", "is_blank"),
    [
        ("", True),
        (" \n", True),
        ("<think>I wonder.</think>", True),
        ("  <think>I wonder, and never end", True),
        ("<think>I wonder.</think> I nod.", False),
        ("I say <think>aloud</think>", False),
        ("I nod. <think>all of it", False),
    ],
)
def test_an_answer_of_thoughts_alone_is_none(text: str, is_blank: bool) -> None:
    if is_blank:
        assert refused(AnswerChunk(text=text), STOP).code is ErrorCode.LLM_ERROR
    else:
        assert ended(AnswerChunk(text=text), STOP).finish_reason == "stop"


def test_words_before_a_thought_are_an_answer_though_nothing_follows() -> None:
    assert ended(AnswerChunk(text="<b>I nod.</b><think>x"), STOP)


@pytest.mark.parametrize("length", [199, 200, 201])
def test_a_model_that_declines_is_quoted_up_to_two_hundred_characters(length: int) -> None:
    words = "n" * length
    error = refused(AnswerChunk(refusal=words[:150]), AnswerChunk(refusal=words[150:]), STOP)
    assert error.code is ErrorCode.LLM_CONTENT_FILTERED
    assert ("…" in error.message) == (length > 200)
    assert f"“{words[:200]}" in error.message
    assert "…" in refused(AnswerChunk(refusal="n" * 200), AnswerChunk(refusal="o"), STOP).message


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([AnswerChunk(text="I n")], ErrorCode.LLM_SERVER_ERROR),
        ([AnswerChunk(text="x", finish_reason="content_filter")], ErrorCode.LLM_CONTENT_FILTERED),
        ([AnswerChunk(text="x", finish_reason="error")], ErrorCode.LLM_SERVER_ERROR),
    ],
)
def test_an_answer_that_was_broken_off_or_withheld_is_an_error(
    pieces: list[AnswerChunk], code: ErrorCode
) -> None:
    assert refused(*pieces).code is code


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "max_tokens", "model_length"])
def test_an_answer_that_was_cut_off_is_known_in_the_words_of_every_service(reason: str) -> None:
    assert ended(AnswerChunk(text="I n", finish_reason=reason)).finish_reason == "length"


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "eos", "tool_calls"])
def test_an_answer_that_ended_for_another_reason_is_whole(reason: str) -> None:
    assert ended(AnswerChunk(text="I nod.", finish_reason=reason)).finish_reason in ("stop", "other")


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("SAFETY", ErrorCode.LLM_CONTENT_FILTERED),
        ("content_filter: RECITATION", ErrorCode.LLM_CONTENT_FILTERED),
        ("refusal", ErrorCode.LLM_CONTENT_FILTERED),
        ("insufficient_system_resource", ErrorCode.LLM_SERVER_ERROR),
    ],
)
def test_an_answer_that_was_withheld_is_none_in_the_words_of_every_service(
    reason: str, code: ErrorCode
) -> None:
    assert refused(AnswerChunk(text="I n", finish_reason=reason)).code is code


@pytest.mark.parametrize("end", [AnswerChunk(finish_reason="length"), AnswerChunk()])
def test_an_answer_that_ran_on_behind_its_end_is_whole(end: AnswerChunk) -> None:
    assert ended(AnswerChunk(text="I nod.<|im_end|>\n<|im_start|>user"), end).finish_reason == "stop"
