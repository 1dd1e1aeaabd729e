"""One call of a model: what is sent, how it ends, and what is written down of it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from core.config.models.model_config import PromptStyle
from core.context.segments import Context, plain
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request import Content, Request, Usage
from core.engine.kinds.test_call import new_test_call
from core.gateway.call_records import BUG, input_contents
from core.gateway.cancellation import Cancellation
from core.gateway.model_call import ModelCall, input_hash, model_request
from core.gateway.model_gateway import CallResult, ModelGateway
from core.providers.base import Completion, ModelRequest, OutputSchema, ProviderError, TextDelta
from core.text.delimiters import SegmentName
from tests.core.values.sessions import NOW, SESSION_ID, choice, choices

pytestmark = pytest.mark.anyio

CHOICE = replace(choice(), timeout=5.0)
CONTEXT = Context(
    agent_id=2,
    role=AgentRole.CHARACTER,
    style=PromptStyle.FULL,
    prompt_version="character@1",
    segments=(
        plain(SegmentName.SYSTEM_PROMPT, "Play.", PromptStyle.FULL, "system"),
        plain(SegmentName.USER_PROMPT, "Go on.", PromptStyle.FULL, "user"),
    ),
    max_input_tokens=1_000,
    left_out=("The oldest memory",),
)
END = Completion(finish_reason="stop", model="a-model-\x1b[2Jv2", usage=Usage(10, 20, 5, 1))


class StepModel:
    """Yields what it is given; raises an error among it, and sleeps where there is a number."""

    base_url = None

    def __init__(self, *steps: TextDelta | Completion | Exception | float, name: str = "openai") -> None:
        self._steps = steps
        self.name = name
        self.calls = 0
        self.sleeps = asyncio.Event()
        self.is_closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.calls += 1
        try:
            for step in self._steps:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, float):
                    self.sleeps.set()
                    await asyncio.sleep(step)
                else:
                    yield step
        finally:
            self.is_closed = True

    async def aclose(self) -> None:
        """Nothing is held."""


def said(*words: str) -> tuple[TextDelta, ...]:
    return tuple(TextDelta(word) for word in words)


def asked() -> Request:
    return replace(new_test_call(SESSION_ID, NOW), attempts=3)


async def call(
    model: StepModel,
    heard: list[str] | None = None,
    cancellation: Cancellation | None = None,
    **changed: float,
) -> CallResult:
    gateway = ModelGateway(model, choices(), None, lambda: NOW)
    chosen = replace(CHOICE, **changed)  # type: ignore[arg-type]  # each is a number of its field
    heard = [] if heard is None else heard
    stop = cancellation or Cancellation()
    return await gateway.call(ModelCall(CONTEXT, chosen, asked(), 2, heard.append), stop)


async def test_a_call_is_written_down_with_what_went_out_what_came_back_and_what_it_took() -> None:
    model = StepModel(*said("I ", "nod."), END)
    result = await call(model)
    assert (result.text, result.error, result.finish_reason) == ("I nod.", None, "stop")
    assert result.model == "a-model-v2"
    assert model.is_closed
    [artifact] = result.call_records.artifacts
    request = asked()
    assert (artifact.session_id, artifact.attempt, artifact.call) == (SESSION_ID, request.attempts, 2)
    assert (artifact.agent_id, artifact.provider, artifact.model) == (2, "openai", "a-model-v2")
    assert (artifact.prompt_version, artifact.finish_reason) == ("character@1", "stop")
    assert (artifact.usage, artifact.left_out) == (END.usage, ("The oldest memory",))
    assert (artifact.error_code, artifact.error_message, artifact.created_at) == (None, "", NOW)
    assert artifact.input_hash == input_hash(model_request(CONTEXT, CHOICE))
    texts = {content.hash: content.text for content in result.call_records.contents}
    assert artifact.output_ref is not None
    assert texts[artifact.output_ref] == "I nod."
    assert {"Play.", "Go on."} <= set(texts.values())
    assert Content.of("Go on.").hash in texts[artifact.input_ref]


async def test_a_thought_that_comes_without_its_opening_mark_is_no_part_of_an_answer() -> None:
    result = await call(StepModel(*said("She ", "knows.\n</th", "ink>\n\nI nod."), END))
    assert result.text == "I nod."
    assert "I nod." in [content.text for content in result.call_records.contents]


async def test_what_the_service_does_not_take_is_on_record_beside_what_did_not_fit() -> None:
    end = replace(END, refused_fields=("temperature", "stop"))
    result = await call(StepModel(*said("I nod."), end))
    assert result.refused_fields == ("temperature", "stop")
    [artifact] = result.call_records.artifacts
    assert artifact.left_out == (
        "The oldest memory",
        "temperature (the service does not take it)",
        "stop (the service does not take it)",
    )


async def test_the_times_of_a_call_are_those_that_it_took() -> None:
    result = await call(StepModel(0.03, *said("I "), 0.03, *said("nod."), END))
    [artifact] = result.call_records.artifacts
    assert artifact.first_token_ms is not None
    assert artifact.total_ms is not None
    assert 25 <= artifact.first_token_ms <= artifact.total_ms - 25
    assert artifact.total_ms < 5_000


async def test_what_is_heard_while_it_streams_is_the_clean_text_and_never_an_empty_piece() -> None:
    heard: list[str] = []
    result = await call(StepModel(*said("I \x1b", "[31mnod", "", "\x1b[0m", ".\r", "\x1b"), END), heard)
    assert "".join(heard).rstrip() == result.text.rstrip() == "I nod."
    assert all(heard)
    await call(StepModel(*said("Red", "\x1b"), END), heard := [])
    assert heard == ["Red"]
    await call(StepModel(*said("Red", "\r"), END), heard := [])
    assert heard == ["Red", "\n"], "what was held back is heard at the end"


@pytest.mark.parametrize("text", ["", " \n", "\u200b\t\ufeff"])
async def test_an_answer_in_which_nothing_can_be_seen_is_a_failure_that_keeps_it(text: str) -> None:
    result = await call(StepModel(*said(text), END))
    assert result.error is not None
    assert result.error.code is ErrorCode.LLM_ERROR
    assert "white space" in result.error.message
    [artifact] = result.call_records.artifacts
    assert artifact.error_code is ErrorCode.LLM_ERROR
    assert artifact.error_message == result.error.message
    assert (artifact.output_ref is None) is (text == "")


async def test_a_call_that_breaks_keeps_what_had_come_and_names_the_model_that_was_asked() -> None:
    error = ProviderError(ErrorCode.LLM_SERVER_ERROR, retry_after=7.0, usage=Usage(3, 4))
    result = await call(StepModel(*said("I n"), error))
    assert result.error is error
    assert (result.text, result.model, result.finish_reason) == ("I n", "a-model", "")
    assert result.retry_after == 7.0
    [artifact] = result.call_records.artifacts
    assert (artifact.error_code, artifact.usage) == (ErrorCode.LLM_SERVER_ERROR, Usage(3, 4))


async def test_a_bug_in_a_provider_is_a_failure_that_asks_for_no_wait() -> None:
    result = await call(StepModel(*said("I n"), KeyError("choices")))
    assert result.error is not None
    assert (result.error.code, result.error.message) == (ErrorCode.LLM_ERROR, BUG)
    assert result.retry_after is None
    assert result.call_records.artifacts[0].usage == Usage()


async def test_a_call_that_never_falls_silent_ends_after_many_times_its_time_out() -> None:
    steps = [step for _ in range(10_000) for step in (TextDelta("word "), 0.001)]
    result = await call(StepModel(*steps), timeout=0.01)
    assert result.error is not None
    assert result.error.code is ErrorCode.LLM_TIMEOUT
    [artifact] = result.call_records.artifacts
    assert artifact.total_ms is not None
    assert artifact.total_ms >= 90


@pytest.mark.parametrize("surplus", [0, 1])
async def test_an_answer_may_be_as_long_as_its_bound_and_no_longer(surplus: int) -> None:
    model = StepModel(
        *said("a" * (CHOICE.max_answer_characters - 1), "b" * (1 + surplus), "c" * surplus), END
    )
    heard: list[str] = []
    result = await call(model, heard)
    assert len(result.text) == CHOICE.max_answer_characters
    assert "".join(heard) == result.text
    assert (result.error is None) is (surplus == 0)
    if result.error is not None:
        assert result.error.code is ErrorCode.LLM_TRUNCATED
        assert "MAX_OUTPUT_TOKENS" in result.error.hint
        assert model.is_closed


async def test_a_call_that_was_cancelled_before_it_began_reaches_no_model() -> None:
    model, cancellation = StepModel(*said("I nod."), END), Cancellation()
    cancellation.request()
    result = await call(model, None, cancellation)
    assert result.error is not None
    assert result.error.code is ErrorCode.LLM_CANCELLED
    assert not model.calls
    [artifact] = result.call_records.artifacts
    assert artifact.first_token_ms is None


async def test_a_call_that_is_cancelled_ends_and_the_wish_holds_for_the_next() -> None:
    cancellation = Cancellation()
    model = StepModel(*said("I "), 60.0, *said("nod."), END)
    running = asyncio.create_task(call(model, None, cancellation))
    await model.sleeps.wait()
    cancellation.request()
    result = await running
    assert result.error is not None
    assert (result.error.code, result.text) == (ErrorCode.LLM_CANCELLED, "I ")
    assert model.is_closed
    cancellation.request()
    again = await call(StepModel(*said("I nod."), END), None, cancellation)
    assert again.error is not None
    assert again.error.code is ErrorCode.LLM_CANCELLED


async def test_a_call_that_nobody_waits_for_any_more_is_ended() -> None:
    model = StepModel(*said("I "), 60.0, END)
    running = asyncio.create_task(call(model))
    await model.sleeps.wait()
    running.cancel()
    await asyncio.wait({running})
    await asyncio.sleep(0)
    assert model.is_closed


@pytest.mark.parametrize(("name", "is_local"), [("local", True), ("openai", False), ("scripted", False)])
def test_only_the_program_s_own_server_is_on_this_machine(name: str, is_local: bool) -> None:
    gateway = ModelGateway(StepModel(name=name), choices(), None, lambda: NOW)
    assert gateway.is_local(CHOICE) is is_local
    assert (gateway.model_label(CHOICE) == CHOICE.model) is (name != "scripted")


SCHEMA = OutputSchema("turn_delta", {"type": "object"})


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another"},
        {"max_output_tokens": 1},
        {"schema": SCHEMA},
        {"temperature": 0.5},
        {"stop": ("\n",)},
        {"messages": ()},
    ],
)
def test_the_hash_of_an_input_changes_with_everything_that_shapes_the_answer(
    change: dict[str, object],
) -> None:
    sent = model_request(CONTEXT, CHOICE)
    changed = replace(sent, **change)  # type: ignore[arg-type]  # each is of its field's type
    assert input_hash(changed) != input_hash(sent)
    assert input_hash(replace(sent, timeout=1.0)) == input_hash(sent), "patience is no part of the input"


def test_stop_words_end_prose_and_never_memory() -> None:
    chosen = replace(CHOICE, stop=("END",), temperature=0.3)
    sent = model_request(CONTEXT, chosen)
    assert (sent.stop, sent.temperature, sent.timeout) == (("END",), 0.3, 5.0)
    assert (sent.model, sent.max_output_tokens, sent.schema) == ("a-model", 4_000, None)
    memory = model_request(replace(CONTEXT, schema=SCHEMA), chosen)
    assert (memory.stop, memory.schema) == ((), SCHEMA)


def test_what_repeats_from_call_to_call_is_one_content() -> None:
    first, parts = input_contents(CONTEXT)
    later = (*CONTEXT.segments, plain(SegmentName.USER_PROMPT, "Stop.", PromptStyle.FULL, "user"))
    second, more = input_contents(replace(CONTEXT, segments=later))
    assert more[: len(parts)] == parts
    assert first != second
