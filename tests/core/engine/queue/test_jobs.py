"""How each kind of request is carried out: its calls, what comes of them, and what is kept of them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.domain.errors import ErrorCode
from core.domain.requests.request import ReplyRequest, Request
from core.domain.slot import Slot
from core.engine.kinds.outcome import Failed, LockMade, Outcome, ReplyMade, SummaryMade
from core.engine.kinds.registry import handler_of
from core.engine.kinds.test_call import new_test_call
from core.engine.queue.jobs import JobFactory
from core.engine.recall.reading import BankReader
from core.engine.sync.notifications import CallStarted, Notification, StreamRestarted
from core.gateway.call_records import CallRecords
from core.gateway.cancellation import Cancellation
from core.gateway.embedding_service import EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import Simulation, active
from tests.core.values.sessions import NOW, choices, delta_payload

pytestmark = pytest.mark.anyio


class Bench:
    """The jobs of a scripted model, and what it published."""

    def __init__(
        self, simulation: Simulation, *entries: Entry, style: PromptStyle = PromptStyle.FULL, **more: Any
    ) -> None:
        self.snapshot = simulation.snapshot
        self.choices = choices(style=style)
        if more:
            roles = {role: replace(choice, **more) for role, choice in self.choices.items()}
            self.choices = ModelAssignments(roles)
        model = ScriptedProvider(Script(reply=entries))
        gateway = ModelGateway(model, self.choices, None, lambda: NOW)
        builder = ContextBuilder(self.choices)
        store, vectors = FaultyStore(self.snapshot), EmbeddingService(gateway, None, lambda: NOW)
        self.jobs = JobFactory(store, gateway, builder, self._save, BankReader(store.bank), vectors)
        self.notifications: list[Notification] = []
        self.saved: list[tuple[int, Changes]] = []
        """What was stored before the outcome, with the number of the call that had begun last."""

    async def _save(self, decide: Callable[[Snapshot], Changes]) -> Changes:
        begun = [one.call for one in self.notifications if isinstance(one, CallStarted)]
        self.saved.append((begun[-1], decide(self.snapshot)))
        return self.saved[-1][1]

    async def run(self, request: Request) -> tuple[Outcome, CallRecords]:
        job = await self.jobs.job(self.snapshot, request, Cancellation(), self.notifications.append)
        return await handler_of(request).carry_out(job, request)


def locking() -> tuple[Simulation, Request]:
    simulation = Simulation()
    simulation.set_up()
    simulation.lock()
    return simulation, simulation.begin()


def asking() -> tuple[Simulation, Request]:
    simulation = active()
    simulation.submit("Who is there?")
    return simulation, simulation.begin()


def summarising() -> tuple[Simulation, Request]:
    simulation = active()
    simulation.play(7, with_summaries=False)
    return simulation, simulation.begin()


def answering(schema: str, **how: Any) -> Entry:
    return Entry(match=ScriptMatch.model_validate({"schema": schema}), **how)


CASES = {
    "lock": (locking, LockMade, "world_chapter_lock"),
    "reply": (asking, ReplyMade, "text"),
    "summary": (summarising, SummaryMade, "turn_delta"),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_sound_answer_becomes_what_was_asked_for_in_one_call(case: str) -> None:
    prepare, made, _ = CASES[case]
    simulation, request = prepare()
    bench = Bench(simulation)
    outcome, call_records = await bench.run(request)
    assert isinstance(outcome, made)
    [artifact] = call_records.artifacts
    assert (artifact.call, artifact.attempt, artifact.error_code) == (1, 1, None)
    assert not any(isinstance(notification, StreamRestarted) for notification in bench.notifications)


@pytest.mark.parametrize("case", CASES)
async def test_a_service_that_fails_is_a_failure_with_the_wait_that_it_asked_for(case: str) -> None:
    prepare, _, schema = CASES[case]
    simulation, request = prepare()
    outcome, call_records = await Bench(
        simulation, answering(schema, fault=Fault.RATE_LIMITED, retry_after=9.0)
    ).run(request)
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.retry_after) == (ErrorCode.LLM_RATE_LIMITED, 9.0)
    assert len(call_records.artifacts) == 1, "the service is not asked again"


async def failed(case: str, fault: Fault) -> tuple[Failed, CallRecords]:
    """Do such a job with a model that makes this fault every time."""
    prepare, _, schema = CASES[case]
    simulation, request = prepare()
    outcome, call_records = await Bench(simulation, answering(schema, fault=fault)).run(request)
    assert isinstance(outcome, Failed)
    return outcome, call_records


@pytest.mark.parametrize("case", CASES)
async def test_an_answer_that_was_cut_by_its_cap_is_no_answer(case: str) -> None:
    outcome, call_records = await failed(case, Fault.TRUNCATED)
    assert outcome.error.code is ErrorCode.LLM_TRUNCATED
    [artifact] = call_records.artifacts
    assert artifact.error_code is ErrorCode.LLM_TRUNCATED
    assert artifact.output_ref is not None


async def test_memory_that_was_whole_before_its_cap_is_taken_in_one_call() -> None:
    simulation, request = summarising()
    whole = json.dumps(delta_payload())
    ran_on = answering("turn_delta", text=whole + "\n" * len(whole), fault=Fault.TRUNCATED)
    outcome, call_records = await Bench(simulation, ran_on).run(request)
    assert isinstance(outcome, SummaryMade)
    assert [artifact.finish_reason for artifact in call_records.artifacts] == ["length"]


async def test_a_reply_of_the_very_small_model_ends_at_a_whole_sentence_and_the_cut_is_told() -> None:
    simulation, request = asking()
    cut = answering("text", text="I am here. I wait. " * 2 + "Then I", fault=Fault.TRUNCATED)
    outcome, call_records = await Bench(simulation, cut, style=PromptStyle.SMALL).run(request)
    assert isinstance(outcome, ReplyMade)
    assert outcome.text.endswith((".", "?"))
    assert call_records.artifacts[0].left_out


@pytest.mark.parametrize("case", ["lock", "summary"])
async def test_memory_of_another_shape_is_asked_for_once_more_and_both_calls_are_on_record(case: str) -> None:
    prepare, made, schema = CASES[case]
    simulation, request = prepare()
    bench = Bench(simulation, answering(schema, fault=Fault.WRONG_SHAPE, times=1))
    outcome, call_records = await bench.run(request)
    assert isinstance(outcome, made)
    assert [artifact.call for artifact in call_records.artifacts] == [1, 2]
    assert [artifact.error_code for artifact in call_records.artifacts] == [ErrorCode.LLM_INVALID_JSON, None]
    assert sum(isinstance(notification, StreamRestarted) for notification in bench.notifications) == 1
    # A program that is killed during the second call has the first one and its cost on record.
    [(begun, stored)] = bench.saved
    assert (begun, stored.artifacts) == (1, call_records.artifacts[:1])
    assert set(stored.contents) <= set(call_records.contents)


@pytest.mark.parametrize("case", ["lock", "summary"])
async def test_memory_of_another_shape_twice_is_a_failure(case: str) -> None:
    outcome, call_records = await failed(case, Fault.WRONG_SHAPE)
    assert outcome.error.code is ErrorCode.LLM_INVALID_JSON
    assert [artifact.error_code for artifact in call_records.artifacts] == [ErrorCode.LLM_INVALID_JSON] * 2
    assert all(artifact.error_message for artifact in call_records.artifacts)


@pytest.mark.parametrize("case", ["lock", "summary"])
async def test_where_the_second_try_for_memory_breaks_its_error_counts_and_the_first_is_marked(
    case: str,
) -> None:
    prepare, _, schema = CASES[case]
    simulation, request = prepare()
    entries = (
        answering(schema, fault=Fault.WRONG_SHAPE, times=1),
        answering(schema, fault=Fault.SERVER_ERROR, calls=(2,)),
    )
    outcome, call_records = await Bench(simulation, *entries).run(request)
    assert isinstance(outcome, Failed)
    assert outcome.error.code is ErrorCode.LLM_SERVER_ERROR
    codes = [artifact.error_code for artifact in call_records.artifacts]
    assert codes == [ErrorCode.LLM_INVALID_JSON, ErrorCode.LLM_SERVER_ERROR]


async def test_a_test_call_is_never_queued() -> None:
    simulation, _ = asking()
    bench = Bench(simulation)
    with pytest.raises(ValueError, match="never queued"):
        await bench.run(new_test_call(simulation.snapshot.session.id, NOW))
    assert not bench.notifications


async def test_a_prompt_needs_room_only_where_what_is_not_in_memory_would_be_shortened() -> None:
    simulation = active()
    simulation.play(6, with_summaries=False)
    simulation.submit("Go on")
    simulation.begin()
    request = simulation.only(ReplyRequest)
    wide = Bench(simulation)
    assert not await wide.jobs.needs_room(simulation.snapshot, request)
    needed = (
        ContextBuilder(wide.choices)
        .character(
            simulation.snapshot.known_to(request.slot),
            request.text,
        )
        .tokens
    )
    tight = Bench(simulation, max_input_tokens=needed - 1)
    assert await tight.jobs.needs_room(simulation.snapshot, request)
    hopeless = Bench(simulation, max_input_tokens=100)
    assert not await hopeless.jobs.needs_room(simulation.snapshot, request), "no summary makes enough room"


async def test_a_reply_that_is_nothing_but_the_character_s_name_is_a_failure() -> None:
    simulation, request = asking()
    name = simulation.snapshot.session.name_of(Slot.RED)
    outcome, call_records = await Bench(simulation, answering("text", text=f"**{name}**: ")).run(request)
    assert isinstance(outcome, Failed)
    assert outcome.error.code is ErrorCode.LLM_ERROR
    assert call_records.artifacts[0].error_code is ErrorCode.LLM_ERROR
