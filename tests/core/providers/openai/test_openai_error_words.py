"""What a service's error is called, and what the GM is told of it, without a server."""

from datetime import UTC, datetime

import pytest

from core.domain.errors import ErrorCode
from core.providers.openai.errors import (
    RedactedValues,
    ServiceFault,
    code_of,
    provider_error,
    read_fault,
    retry_after_seconds,
    scrub,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def fault(status: int | None = None, message: str = "", kind: str = "") -> ServiceFault:
    return ServiceFault(status=status, message=message, kind=kind)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (299, ErrorCode.LLM_ERROR),
        (300, ErrorCode.LLM_REQUEST_ERROR),
        (399, ErrorCode.LLM_REQUEST_ERROR),
        (400, ErrorCode.LLM_REQUEST_ERROR),
        (401, ErrorCode.LLM_AUTH_ERROR),
        (402, ErrorCode.LLM_CREDIT_EXHAUSTED),
        (403, ErrorCode.LLM_AUTH_ERROR),
        (404, ErrorCode.LLM_REQUEST_ERROR),
        (405, ErrorCode.LLM_ERROR),
        (408, ErrorCode.LLM_TIMEOUT),
        (413, ErrorCode.LLM_CONTEXT_OVERFLOW),
        (422, ErrorCode.LLM_REQUEST_ERROR),
        (429, ErrorCode.LLM_RATE_LIMITED),
        (499, ErrorCode.LLM_ERROR),
        (500, ErrorCode.LLM_SERVER_ERROR),
        (599, ErrorCode.LLM_SERVER_ERROR),
        (None, ErrorCode.LLM_ERROR),
    ],
)
def test_a_status_without_words_has_one_code(status: int | None, code: ErrorCode) -> None:
    assert code_of(fault(status)) is code


@pytest.mark.parametrize("status", [None, 400, 403, 422])
def test_withheld_words_are_looked_for_where_services_say_so(status: int | None) -> None:
    assert code_of(fault(status, "flagged by moderation")) is ErrorCode.LLM_CONTENT_FILTERED


@pytest.mark.parametrize("status", [404, 429, 500])
def test_withheld_words_elsewhere_are_not_believed(status: int) -> None:
    assert code_of(fault(status, "flagged by moderation")) is code_of(fault(status))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("rate_limit_error", ErrorCode.LLM_RATE_LIMITED),
        ("timed out", ErrorCode.LLM_TIMEOUT),
        ("authentication_error", ErrorCode.LLM_AUTH_ERROR),
        ("invalid_request_error", ErrorCode.LLM_REQUEST_ERROR),
        ("overloaded_error", ErrorCode.LLM_SERVER_ERROR),
    ],
)
def test_an_error_without_a_status_is_known_by_its_name(words: str, code: ErrorCode) -> None:
    assert code_of(fault(kind=words.upper())) is code


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"error": {"message": "m", "code": "c", "type": "t", "param": "p"}}, ("m", "c", "t", "p")),
        ({"message": "m", "code": "c"}, ("m", "c", "", "")),
        ({"error": "only words"}, ("only words", "", "", "")),
        ({"detail": "of FastAPI"}, ("of FastAPI", "", "", "")),
        ("bare", ("bare", "", "", "")),
        ({"error": {"message": "", "detail": "behind it"}}, ("behind it", "", "", "")),
        ({"error": {"message": {"no": "text"}, "code": 7}}, ("", "7", "", "")),
        ([{"error": {"message": "of Google", "code": 400}}], ("of Google", "400", "", "")),
        ({"message": {"detail": "of Mistral"}, "type": "t"}, ("of Mistral", "", "t", "")),
        ({"message": "m", "metadata": {"raw": "of whom it asked"}}, ("m: of whom it asked", "", "", "")),
        ({"message": "m", "metadata": {"raw": ["no text"]}}, ("m", "", "", "")),
        ([], ("", "", "", "")),
        (None, ("", "", "", "")),
    ],
)
def test_an_error_is_read_in_every_shape(body: object, read: tuple[str, str, str, str]) -> None:
    found = read_fault(500, body, {})
    assert (found.message, found.code, found.kind, found.param) == read
    assert found.status == 500


@pytest.mark.parametrize(
    ("status", "code", "read"),
    [(None, "429", 429), (None, "502", 502), (None, "302", None), (None, "4290", None), (400, "502", 400)],
)
def test_a_stream_names_its_status_by_the_code(status: int | None, code: str, read: int | None) -> None:
    assert read_fault(status, {"error": {"code": code}}, {}).status == read


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "2500"}, 2.5),
        ({"retry-after-ms": "inf", "retry-after": "3"}, 3.0),
        ({"retry-after-ms": "", "retry-after": "3"}, 3.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:01:30 -0000"}, 90.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:01:30 +0100"}, 0.0),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sat, 99 Nov 2026"}, None),
    ],
)
def test_every_way_of_asking_for_patience_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


def test_words_of_a_service_are_quoted_on_one_line_and_short() -> None:
    assert scrub("two\nlines", RedactedValues("")) == "two lines"
    assert scrub("it is letmein, I say", RedactedValues("letmein")) == "it is [key], I say"
    assert scrub("the text exceeds", RedactedValues("x")) == "the text exceeds"
    length = len(scrub("x" * 5_000, RedactedValues(""))) - 1
    assert scrub("x" * length, RedactedValues("")) == "x" * length
    assert scrub("x" * (length + 1), RedactedValues("")) == "x" * length + "…"


def test_what_the_gm_can_do_is_said() -> None:
    assert "STORYENGINE_API_KEY" in provider_error(fault(401), RedactedValues("key")).hint
    assert "no key is set" in provider_error(fault(401), RedactedValues("")).message
    assert "no key is set" not in provider_error(fault(401), RedactedValues("key")).message
    assert "STORYENGINE_MODEL" in provider_error(fault(404), RedactedValues("key")).hint
    patience = ServiceFault(status=429, retry_after=1.2)
    assert " 2 s" in provider_error(patience, RedactedValues("key")).hint
    assert provider_error(fault(429), RedactedValues("key")).hint == ""
    assert provider_error(patience, RedactedValues("key")).retry_after == 1.2


def test_what_the_service_said_is_quoted_except_of_a_key_and_of_a_move() -> None:
    assert "“too busy”" in provider_error(fault(500, "too busy"), RedactedValues("key")).message
    assert "said" not in provider_error(fault(500), RedactedValues("key")).message
    assert "said" not in provider_error(fault(401, "no such key"), RedactedValues("key")).message
    assert "moved to another address" in provider_error(fault(300, "there"), RedactedValues("key")).message
    assert "moved to another address" in provider_error(fault(399, "there"), RedactedValues("key")).message
    assert "moved" not in provider_error(fault(400, "there"), RedactedValues("key")).message
    assert "moved" not in provider_error(fault(299, "there"), RedactedValues("key")).message


@pytest.mark.parametrize("status", [423, 401, 413])
def test_only_the_statuses_that_withhold_are_looked_at_for_withheld_words(status: int) -> None:
    assert code_of(fault(status, "flagged by moderation")) is code_of(fault(status))


@pytest.mark.parametrize(("said", "shown"), [("Slow down", "“Slow down”."), ("Slow down!", "“Slow down!”")])
def test_the_words_of_a_service_end_as_a_sentence(said: str, shown: str) -> None:
    message = provider_error(fault(429, said), RedactedValues("key")).message
    assert message.endswith(f"The service said: {shown}")


@pytest.mark.parametrize(
    "words",
    [
        "The model is loaded with context length of only 4096 tokens, which is not enough.",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "Input is too long for requested model.",
        "Range of input length should be [1, 30720]",
        "Your request exceeded model token limit: 8192",
        "Prompt exceeds max length",
        "`inputs` tokens + `max_new_tokens` must be <= 8193.",
        "prompt token count of 130000 exceeds the limit of 128000",
        "Prompt length 9000 is greater than max_seq_len 8192",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    ],
)
def test_an_input_that_is_too_long_is_known_in_the_words_of_every_service(words: str) -> None:
    assert code_of(fault(400, words)) is ErrorCode.LLM_CONTEXT_OVERFLOW


@pytest.mark.parametrize(
    "words", ["API key not valid. Please pass a valid API key.", "Incorrect API key provided"]
)
def test_a_key_that_is_refused_as_a_bad_request_is_a_refused_key(words: str) -> None:
    assert code_of(fault(400, words)) is ErrorCode.LLM_AUTH_ERROR


def test_what_can_be_done_about_a_cap_and_about_roles_is_said() -> None:
    for words in ("max_tokens is too large: 32000.", "Range of max_tokens should be [1, 8192]"):
        assert "tokens out" in provider_error(fault(400, words), RedactedValues("key")).hint
    roles = fault(500, "Conversation roles must alternate user/assistant")
    assert "alternate_roles" in provider_error(roles, RedactedValues("key")).hint


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Please retry in 34.07s.", 34.07),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 250ms.", 0.25),
        ("Please try again in a moment.", None),
    ],
)
def test_a_wait_that_the_message_alone_names_is_read(said: str, seconds: float | None) -> None:
    assert read_fault(429, {"message": said}, {}).retry_after == seconds
    assert read_fault(429, {"message": said}, {"retry-after": "3"}).retry_after == 3.0
