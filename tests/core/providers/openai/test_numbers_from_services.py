"""Numbers and names that a service gives are bounded where they come in, whatever it sends."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.errors import ErrorCode
from core.domain.requests.cost import is_amount
from core.domain.requests.request import Usage
from core.providers.answer import AnswerChunk
from core.providers.base import LONGEST_WAIT, MAX_NAME_LENGTH, MAX_TOKENS, ProviderError
from core.providers.openai.chunks import ChunkReader
from core.providers.openai.errors import RedactedValues, provider_error, read_fault, retry_after_seconds
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import ask, fail
from tests.http_faults import DONE, FaultServer, Reply, chunk, error_reply, sse, usage_chunk

NOW = datetime(2026, 5, 1, tzinfo=UTC)
INTEGER_OF_THE_DATABASE = 2**31 - 1
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**31)
    | st.floats(allow_nan=True)
    | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
numbers = st.one_of(
    st.floats(allow_nan=True).map(str),
    st.integers().map(str),
    st.integers(min_value=10**11, max_value=10**320).map(str),
    st.just("9" * 5_000),
)
dates = st.builds(
    "Fri, {} Dec {} {}:59:59 {}".format,
    st.integers(0, 40),
    st.integers(0, 99_999),
    st.integers(0, 99),
    st.sampled_from(["GMT", "-2359", "+2359", "-9999", "+99999999999999999999", "EST", ""]),
)


def read(**fields: object) -> AnswerChunk:
    part = SimpleNamespace(model_fields_set=set(), choices=None, usage=None, model="", id="")
    return ChunkReader().read(SimpleNamespace(**{**vars(part), **fields}))


patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Under load no list of JSON is made fast enough for Hypothesis."""


@patiently
@given(values, values, values, values)
def test_every_token_count_fits_the_database_or_counts_as_not_given(
    given_in: object, given_out: object, cached: object, reasoning: object
) -> None:
    usage = read(
        usage=SimpleNamespace(
            prompt_tokens=given_in,
            completion_tokens=given_out,
            prompt_tokens_details={"cached_tokens": cached},
            completion_tokens_details=SimpleNamespace(reasoning_tokens=reasoning),
        )
    ).usage
    assert usage is not None
    assert MAX_TOKENS <= INTEGER_OF_THE_DATABASE
    if usage == Usage():
        given_in, given_out, cached, reasoning = [None] * 4  # zeros, or nothing
    for count, said in (
        (usage.input_tokens, given_in),
        (usage.output_tokens, given_out),
        (usage.cached_tokens, cached),
        (usage.reasoning_tokens, reasoning),
    ):
        is_count = type(said) is int and 0 <= said <= MAX_TOKENS
        assert count == (said if is_count else None)
        assert type(count) is not bool


@patiently
@given(values)
def test_a_bill_is_an_amount_that_can_be_stored_or_counts_as_not_given(said: object) -> None:
    billed = read(usage=SimpleNamespace(cost=said)).billed
    assert billed is None or (is_amount(billed) and float(billed) == said)


@pytest.mark.parametrize(
    ("said", "amount"),
    [(0.00014135, "0.00014135"), (0, "0"), (3, "3"), (1e-7, "0.0000001"), (0.1 + 0.2, "0.30000000000000004")],
)
def test_a_bill_is_read_as_it_was_written(said: float, amount: str) -> None:
    assert read(usage=SimpleNamespace(cost=said)).billed == Decimal(amount)


@pytest.mark.parametrize(
    ("fields", "amount"),
    [
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": 0.019}}, "0.01995"),
        ({"is_byok": True, "cost_details": SimpleNamespace(upstream_inference_cost=0.019)}, "0.01995"),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"is_byok": True}, None),
        ({"is_byok": False, "cost_details": {"upstream_inference_cost": 0.00095}}, "0.00095"),
        ({"is_byok": "yes", "cost_details": {"upstream_inference_cost": 0.019}}, "0.00095"),
    ],
)
def test_a_bill_has_what_the_service_behind_a_gateway_charges_to_a_key_of_the_gm(
    fields: dict[str, object], amount: str | None
) -> None:
    billed = read(usage=SimpleNamespace(cost=0.00095, **fields)).billed
    assert billed == (None if amount is None else Decimal(amount))


@pytest.mark.parametrize(
    ("answered", "total", "reasoning", "output"),
    [
        (9, 135, 94, 103),  # xAI counts the tokens of thoughts beside those of the answer
        (9, 135, None, 103),  # and Gemini only in the total
        (103, 135, 94, 103),
        (103, None, 94, 103),
        (103, 5, 94, 103),
        (103, "135", 94, 103),
    ],
)
def test_tokens_of_thoughts_are_output_also_where_they_are_counted_beside_the_answer(
    answered: int, total: object, reasoning: int | None, output: int
) -> None:
    details = {"reasoning_tokens": reasoning}
    usage = read(
        usage=SimpleNamespace(
            prompt_tokens=32,
            completion_tokens=answered,
            total_tokens=total,
            completion_tokens_details=details,
        )
    ).usage
    assert usage == Usage(input_tokens=32, output_tokens=output, reasoning_tokens=reasoning)


@pytest.mark.parametrize("said", [True, "0.1", -0.1, float("nan"), float("inf"), 1e30, 5e-324, None])
def test_what_is_no_bill_counts_as_not_given(said: object) -> None:
    assert read(usage=SimpleNamespace(cost=said)).billed is None


@patiently
@given(values)
def test_names_that_a_service_gives_are_bounded(model: object) -> None:
    assert len(read(model=model).model) <= MAX_NAME_LENGTH


@given(
    st.sampled_from(["retry-after", "retry-after-ms", "Retry-After"]), numbers | dates | st.text(max_size=60)
)
def test_a_wait_that_a_service_asks_for_is_a_time_that_can_be_added_to_now(name: str, value: str) -> None:
    wait = retry_after_seconds({name: value}, NOW)
    assert wait is None or 0 <= wait <= LONGEST_WAIT
    error = provider_error(read_fault(429, {"message": "busy"}, {name: value}), RedactedValues(""))
    assert error.retry_after is None or NOW + timedelta(seconds=error.retry_after) >= NOW
    assert len(error.hint) < 100


@given(st.floats(allow_nan=True))
def test_no_provider_can_ask_for_a_longer_wait(seconds: float) -> None:
    wait = ProviderError(ErrorCode.LLM_RATE_LIMITED, retry_after=seconds).retry_after
    assert wait is not None
    assert 0 <= wait <= LONGEST_WAIT


@patiently
@given(st.none() | st.integers(100, 999), values, values, values)
def test_no_error_body_is_beyond_reading(
    status: int | None, code: object, kind: object, message: object
) -> None:
    for body in ({"error": {"code": code, "type": kind, "message": message}}, {"detail": message}, message):
        error = provider_error(read_fault(status, body, {}), RedactedValues("sk-key"))
        assert error.message
        assert len(error.message) < 600


@pytest.mark.anyio
async def test_the_bill_of_a_service_comes_with_its_answer(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "cost": 0.0042}
    counted = sse({"id": "x", "choices": [], "usage": usage})
    server.script(Reply((chunk("Once."), chunk(finish="stop"), counted, DONE)))
    _, completion = await ask(provider)
    assert completion.billed == Decimal("0.0042")
    server.script(Reply((chunk(refusal="No."), chunk(finish="stop"), counted, DONE)))
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert caught.value.billed == Decimal("0.0042")


@pytest.mark.anyio
@pytest.mark.parametrize("count", [2**31, 10**18, 10**400, -1, 1.5, None, [3]])
async def test_a_paid_answer_is_kept_whatever_its_token_count(
    server: FaultServer, provider: OpenAIProvider, count: object
) -> None:
    details = {"cached_tokens": count}
    usage = {"prompt_tokens": count, "completion_tokens": 7, "prompt_tokens_details": details}
    counted = sse({"id": "x", "choices": [], "usage": usage})
    server.script(Reply((chunk("Once.", model="m" * 5_000), chunk(finish="stop"), counted, DONE)))
    text, completion = await ask(provider)
    assert text == "Once."
    assert (completion.usage.input_tokens, completion.usage.cached_tokens) == (None, None)
    assert completion.usage.output_tokens == 7
    assert 0 < len(completion.model) <= MAX_NAME_LENGTH


@pytest.mark.anyio
@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "1000000000000"},
        {"Retry-After": "1e300"},
        {"retry-after-ms": "1e308"},
        {"Retry-After": "Fri, 31 Dec 9999 23:59:59 -2359"},
    ],
    ids=str,
)
async def test_an_absurd_wait_is_a_day_at_most(
    server: FaultServer, provider: OpenAIProvider, headers: dict[str, str]
) -> None:
    server.script(error_reply(429, headers=headers))
    error = await fail(provider, ErrorCode.LLM_RATE_LIMITED)
    assert error.retry_after == LONGEST_WAIT


@pytest.mark.anyio
async def test_of_several_answers_the_first_alone_is_the_reply(
    server: FaultServer, provider: OpenAIProvider
) -> None:
    def other(text: str) -> bytes:
        choice = {"index": 1, "delta": {"content": text}, "finish_reason": "stop"}
        return sse({"id": "x", "object": "chat.completion.chunk", "choices": [choice]})

    both = {"index": 1, "delta": {"content": "NO"}}, {"index": 0, "delta": {"content": "pon"}}
    server.script(
        Reply((chunk("Once "), other("NO"), chunk("u"), sse({"id": "x", "choices": both}), other("NO"),
               chunk(finish="stop"), usage_chunk(), DONE))
    )  # fmt: skip
    assert (await ask(provider))[0] == "Once upon"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b'{\n  "error": {"message": "no such model"}\n}\n', ErrorCode.LLM_ERROR, "no such model"),
        (b'{"error": "Provider returned error"}', ErrorCode.LLM_ERROR, "Provider returned error"),
        (b'\n{"error": {"message": "Slow down", "code": 429}}', ErrorCode.LLM_RATE_LIMITED, "Slow down"),
    ],
)
async def test_an_error_that_comes_as_json_with_status_200_keeps_its_words(
    server: FaultServer, provider: OpenAIProvider, body: bytes, code: ErrorCode, words: str
) -> None:
    half = len(body) // 2
    server.script(Reply((body[:half], body[half:]), 200, {"Content-Type": "application/json"}))
    assert words in (await fail(provider, code)).message


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("text/html; charset=utf-8", b"<html>\ndata: log in first\n</html>", "web page"),
        ("text/html", b"<html><body>Log in first</body></html>", "web page"),
        ("application/json", b'{"choices": []}', "no answer"),
        ("application/json", b'{"code": 7, "message": "no such model"}', "no answer"),
    ],
)
async def test_what_is_no_stream_is_told_as_what_it_is(
    server: FaultServer, provider: OpenAIProvider, kind: str, body: bytes, words: str
) -> None:
    server.script(Reply((body,), 200, {"Content-Type": kind}))
    error = await fail(provider, ErrorCode.LLM_REQUEST_ERROR)
    assert words in error.message
    assert "STORYENGINE_BASE_URL" in error.hint
