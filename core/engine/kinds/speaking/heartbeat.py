"""Handles heartbeats, which ask a character that has been silent for long whether it would say something."""

from dataclasses import dataclass, replace

from core.agents import speaking
from core.domain.agent_role import AgentRole
from core.domain.requests.request import BackgroundRequest
from core.domain.slot import Slot
from core.engine.kinds.base import BackgroundHandler, Job, called_with, failure_unless_gm_needed, input_of
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class HeartbeatOutcome:
    """The character was asked, or no longer needs to be."""


class HeartbeatHandler(BackgroundHandler[HeartbeatOutcome]):
    """Handles heartbeats, whose answers are hints to the GM alone.

    The request's text is the number of the prompt of the character's last reply.
    """

    async def run(
        self, job: Job, request: BackgroundRequest
    ) -> tuple[HeartbeatOutcome | Failed, CallRecords]:
        """Make the one call, if the character is still in the scene and silent."""
        slot = request.slot
        last = int(request.text) if request.text.isdecimal() else 0
        session = job.snapshot.session
        if slot is None or slot not in session.here or _has_spoken(job.snapshot, slot, last):
            return HeartbeatOutcome(), CallRecords()
        choice, builder = called_with(job, AgentRole.CHARACTER, slot, request.model)
        asked = speaking.heartbeat(choice.style, max(1, session.prompt_index - last))
        known = await job.known_to(slot, "")
        question = await input_of(builder, known, asked.text, is_new=False)
        question = replace(question, schema=speaking.HEARTBEAT)
        answer = await job.calls.make(asked.marked(question), choice)
        if answer.error is not None:
            return failure_unless_gm_needed(answer) or HeartbeatOutcome(), answer.call_records
        return HeartbeatOutcome(), answer.call_records


def _has_spoken(snapshot: Snapshot, slot: Slot, last: int) -> bool:
    return any(event.slot is slot and event.prompt_index > last for event in snapshot.recent)
