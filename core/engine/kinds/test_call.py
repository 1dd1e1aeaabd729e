"""Test calls of a model: one short prompt outside the queue, with full provenance (design 4)."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.context.segments import Context, plain
from core.domain.agent_role import AgentRole
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import RequestState, TestCallRequest
from core.domain.slot import Slot
from core.gateway.cancellation import Cancellation
from core.gateway.model_call import ModelCall
from core.gateway.model_gateway import CallResult, ModelGateway
from core.storage.changes import Changes
from core.text.cleaning import clean
from core.text.delimiters import SegmentName

TEST_PROMPT: Final = "Answer with one word: ready."
TEST_TOKENS: Final = 1_000
"""Enough for models that reason before they answer; unused tokens cost nothing."""
TEST_VERSION: Final = "test@1"
"""The prompt version in artifacts of test calls, which have no system prompt."""


def new_test_call(session_id: SessionId, now: datetime) -> TestCallRequest:
    """Return the request of a test call, which is stored only with its outcome."""
    return TestCallRequest(
        id=RequestId(new_uuid()),
        session_id=session_id,
        state=RequestState.DONE,
        attempts=1,
        created_at=now,
        updated_at=now,
    )


def tested(choices: ModelAssignments) -> ModelConfig:
    """Return what a test calls: the model of the first character that has none of its own."""
    slot = _tested_slot(choices)
    return choices.of(AgentRole.CHARACTER, slot)


def _tested_slot(choices: ModelAssignments) -> Slot:
    return next((slot for slot in Slot if slot not in choices.characters), Slot.RED)


async def make_test_call(
    gateway: ModelGateway, test: TestCallRequest, cancellation: Cancellation
) -> CallResult:
    """Make one short call to the model of the first character without a model of its own."""
    slot, choice = _tested_slot(gateway.choices), tested(gateway.choices)
    choice = replace(choice, max_output_tokens=min(TEST_TOKENS, choice.max_output_tokens))
    context = Context(
        agent_id=slot,
        role=AgentRole.CHARACTER,
        style=choice.style,
        prompt_version=TEST_VERSION,
        segments=(plain(SegmentName.USER_PROMPT, TEST_PROMPT, choice.style, "user"),),
        max_input_tokens=choice.max_input_tokens,
    )
    return await gateway.call(ModelCall(context, choice, test, 1), cancellation)


def record_of_test_call(test: TestCallRequest, result: CallResult, now: datetime) -> Changes:
    """Return the changes that store a test call; a failed one is cancelled, because nothing retries it."""
    settled = replace(test, updated_at=now)
    if result.error is not None:
        settled = replace(
            settled,
            state=RequestState.CANCELLED,
            error_code=result.error.code,
            error_message=clean(str(result.error)),
        )
    return Changes(
        session_id=test.session_id,
        requests=(settled,),
        artifacts=result.call_records.artifacts,
        contents=result.call_records.contents,
    )
