"""A reply that only repeats something is asked for once more, and the calls say so."""

from dataclasses import replace
from typing import Any

import pytest

from core.agents.role.prompt_file import load_prompt
from core.config.models.model_config import SMALL_SAMPLING, PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request import ReplyRequest
from core.engine.kinds.outcome import Failed, ReplyMade
from core.engine.kinds.registry import handler_of
from core.engine.sync.notifications import Notification, StreamRestarted
from core.gateway.cancellation import Cancellation
from core.providers.scripted.script import Entry, Fault
from tests.core.engine.queue.test_jobs import Bench, answering
from tests.core.rooms.simulation import Simulation, active
from tests.core.values.sessions import choice

pytestmark = pytest.mark.anyio
EXAMPLE = (load_prompt(AgentRole.CHARACTER, PromptStyle.SMALL, has_room=True).example or ("", ""))[1]
ASKED = "The lamp goes out and the stair is dark. Who is there with you?"
OWN = "Nobody is. I count my breaths and feel for the matches in my coat."


def asking() -> tuple[Simulation, ReplyRequest]:
    simulation = active()
    simulation.submit(ASKED)
    simulation.begin()
    return simulation, simulation.only(ReplyRequest)


def bench(simulation: Simulation, *texts: str | Fault, **more: Any) -> Bench:
    """A model that gives these answers one after the other, and avoids repeats."""
    entries: list[Entry] = []
    for number, text in enumerate(texts, start=1):
        how: dict[str, Any] = {"fault": text} if isinstance(text, Fault) else {"text": text}
        entries.append(answering("text", calls=(number,), **how))
    return Bench(simulation, *entries, **{"avoids_repeats": True, "style": PromptStyle.SMALL, **more})


@pytest.mark.parametrize("repeated", [EXAMPLE, ASKED, "speak as this character in the first person. "])
async def test_a_reply_that_repeats_what_the_model_was_given_is_asked_for_once_more(repeated: str) -> None:
    simulation, request = asking()
    asked = bench(simulation, repeated, OWN)
    outcome, call_records = await asked.run(request)
    assert outcome == ReplyMade(OWN)
    first, second = call_records.artifacts
    assert (first.call, second.call) == (1, 2)
    assert "because it repeats" in first.left_out[0]
    assert second.left_out == ()
    assert sum(isinstance(one, StreamRestarted) for one in asked.notifications) == 1


async def test_an_earlier_reply_is_named_by_its_prompt() -> None:
    simulation = active()
    simulation.play(2, with_summaries=False)
    simulation.submit(ASKED)
    simulation.begin()
    request = simulation.only(ReplyRequest)
    earlier = "I go up to the gallery and look for the boat that was there before."
    *_, last = simulation.snapshot.recent
    recent = (*simulation.snapshot.recent[:-1], replace(last, text=earlier))
    made = bench(simulation, f"{earlier}", OWN)
    made.snapshot = replace(simulation.snapshot, recent=recent)
    outcome, call_records = await made.run(request)
    assert outcome == ReplyMade(OWN)
    assert f"the reply to prompt {last.prompt_index};" in call_records.artifacts[0].left_out[0]


async def test_a_second_reply_that_repeats_something_is_shown_and_marked() -> None:
    simulation, request = asking()
    outcome, call_records = await bench(simulation, EXAMPLE, ASKED).run(request)
    assert outcome == ReplyMade(ASKED, repeats="the GM's prompt")
    first, second = call_records.artifacts
    assert "because it repeats an example" in first.left_out[0]
    assert "although this answer repeats the GM's prompt" in second.left_out[0]


async def test_what_a_reply_repeats_is_stored_with_it() -> None:
    simulation = active()
    simulation.submit(ASKED)
    settled = simulation.settle(ReplyMade(ASKED, repeats="the GM's prompt"))
    assert [event.repeats for event in settled.events] == ["", "the GM's prompt"]


async def test_where_the_second_call_fails_the_first_reply_is_kept_and_marked() -> None:
    simulation, request = asking()
    outcome, call_records = await bench(simulation, EXAMPLE, Fault.SERVER_ERROR).run(request)
    assert outcome == ReplyMade(EXAMPLE, repeats="an example or a rule of its prompt")
    first, second = call_records.artifacts
    assert "although this answer repeats" in first.left_out[0]
    assert "was no better" not in first.left_out[0], "there was none"
    assert (first.error_code, second.error_code) == (None, ErrorCode.LLM_SERVER_ERROR)


async def test_who_stops_the_second_call_gets_the_prompt_back() -> None:
    simulation, request = asking()
    made, cancellation = bench(simulation, EXAMPLE, OWN), Cancellation()

    def publish(notification: Notification) -> None:
        if isinstance(notification, StreamRestarted):
            cancellation.request()

    job = await made.jobs.job(made.snapshot, request, cancellation, publish)
    outcome, call_records = await handler_of(request).carry_out(job, request)
    assert isinstance(outcome, Failed)
    assert outcome.error.code is ErrorCode.LLM_CANCELLED
    assert "because it repeats" in call_records.artifacts[0].left_out[0]


@pytest.mark.parametrize("text", ["Yes.", OWN])
async def test_a_reply_with_something_to_say_and_a_short_one_cost_one_call(text: str) -> None:
    simulation, request = asking()
    outcome, call_records = await bench(simulation, text).run(request)
    assert outcome == ReplyMade(text)
    [only] = call_records.artifacts
    assert only.left_out == ()


async def test_the_setting_takes_every_reply_as_it_is() -> None:
    simulation, request = asking()
    outcome, call_records = await bench(simulation, EXAMPLE, avoids_repeats=False).run(request)
    assert outcome == ReplyMade(EXAMPLE)
    assert len(call_records.artifacts) == 1


async def test_the_second_call_sends_the_same_messages_with_other_sampling() -> None:
    simulation, request = asking()
    made = bench(simulation, EXAMPLE, OWN, temperature=0.3, sampling=SMALL_SAMPLING)
    outcome, call_records = await made.run(request)
    assert isinstance(outcome, ReplyMade)
    first, second = call_records.artifacts
    assert first.input_ref == second.input_ref
    assert first.input_hash != second.input_hash


@pytest.mark.parametrize("style", PromptStyle)
def test_another_try_differs_in_nothing_but_its_sampling(style: PromptStyle) -> None:
    usual = replace(choice(style=style), temperature=0.3)
    again = usual.another_try
    assert again != usual
    assert replace(again, temperature=usual.temperature, sampling=usual.sampling) == usual
