"""Condenses memory: several deltas of one audience become one block of a wider range.

The deltas stay. What is made counts while they are what canon has (`core.domain.story.condensed`), so a
change of canon under way takes nothing but the answer.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from core.agents.memory import condense
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.ids import BlockId, new_uuid
from core.domain.requests.request import BackgroundRequest
from core.domain.session.session_state import SessionState
from core.domain.story.condensed import FEWEST, CondensedMemory
from core.domain.story.memory import BlockType, MemoryBlock, is_full
from core.engine.kinds.base import BackgroundHandler, Job
from core.engine.kinds.json_answer import make_memory
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CondensedMade:
    """Condensed memory and the version of canon that it is of; none where nothing is left to condense."""

    memory: CondensedMemory | None = None
    canon_version: int = 0


NONE_CONDENSED = CondensedMade()
_LEFT: Final = (ErrorCode.CONSENT_REQUIRED, ErrorCode.CEILING_REACHED)
"""Failures after which the call is left: the GM did not ask for it, and is not asked to agree to it."""


class CondenseHandler(BackgroundHandler[CondensedMade]):
    """Handles requests for condensed memory: of the deltas of their audience within their prompts."""

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[CondensedMade | Failed, CallRecords]:
        """Make the call, unless it is no longer wanted."""
        choices, snapshot = job.calls.choices, job.snapshot
        is_wanted = choices.condensing.is_on and snapshot.session.state is SessionState.ACTIVE
        deltas = await _deltas(job, request) if is_wanted else ()
        if len(deltas) < FEWEST or any(one.covers(deltas[0]) for one in snapshot.condensed):
            return NONE_CONDENSED, CallRecords()
        knowledge = snapshot.known_to_all_of(request.audience, deltas, ())
        known = [block for block in knowledge.blocks if block.type is BlockType.TURN_DELTA]
        choice = choices[AgentRole.CONTEXT_SUMMARY]
        task = condense.task_of(snapshot.session, known, choice, choices.condensing.ratio)
        context = condense.condensing_context(task)
        made, records = await make_memory(context, job.calls, partial(condense.parse, task=task), choice)
        if isinstance(made, Failed):
            return (NONE_CONDENSED if made.error.code in _LEFT else made), records
        sources = deltas[: len(task.sources)]
        memory = CondensedMemory(
            id=BlockId(new_uuid()),
            session_id=request.session_id,
            first=sources[0].first,
            last=sources[-1].last,
            audience=request.audience,
            sources=tuple(block.id for block in sources),
            payload=made.payload,
            created_at=request.updated_at,
        )
        return CondensedMade(memory, snapshot.session.canon_version), records

    def settle(
        self, snapshot: Snapshot, done: BackgroundRequest, made: CondensedMade, now: datetime
    ) -> Changes:
        """Store what was made, if canon still has all that it was made of."""
        changes = Changes(session_id=snapshot.session.id, requests=(done,))
        if made.memory is None or not _is_of_canon(made.memory, made.canon_version, snapshot):
            return changes
        return Changes(session_id=snapshot.session.id, requests=(done,), condensed=(made.memory,))


async def _deltas(job: Job, request: BackgroundRequest) -> tuple[MemoryBlock, ...]:
    """Return the whole deltas that canon has for the audience of a request within its prompts."""
    prompts = request.prompts
    if prompts is None:
        return ()

    def own(blocks: "tuple[MemoryBlock, ...]") -> tuple[MemoryBlock, ...]:
        return tuple(
            block
            for block in blocks
            if block.type is BlockType.TURN_DELTA
            and block.audience == request.audience
            and block.first in prompts
            and block.last in prompts
        )

    known = own(job.snapshot.blocks)
    if known and all(map(is_full, known)):
        return known
    return own(tuple(await job.store.blocks(request.session_id, after=prompts.first - 1)))


def _is_of_canon(memory: CondensedMemory, canon_version: int, snapshot: Snapshot) -> bool:
    if any(one.sources == memory.sources for one in snapshot.condensed):
        return False
    if snapshot.session.canon_version == canon_version:
        return True
    ids = {block.id for block in snapshot.blocks if memory.covers(block)}
    return ids == set(memory.sources)
