"""Summarises a range of prompts: agent 8 adds a delta to memory (design 6 and 7)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.agents import context_summary
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import BlockId, new_uuid
from core.domain.requests.request import SummaryRequest
from core.domain.session import Session
from core.domain.state_machine import Command
from core.domain.story.event import Event
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.canon import block_before
from core.engine.kinds.base import Job, KindHandler, with_model
from core.engine.kinds.json_memory import make_memory
from core.engine.kinds.outcome import Failed, SummaryMade
from core.engine.moves import move_and_summarise
from core.gateway.call_records import CallRecords
from core.store import Changes, Snapshot


class SummaryHandler(KindHandler[SummaryRequest, SummaryMade]):
    """Handles summary requests."""

    async def run(self, job: Job, request: SummaryRequest) -> tuple[SummaryMade | Failed, CallRecords]:
        """Summarise as many prompts, from the first, as fit into one input.

        A block that is built again is made from the memory before it, and of all of its prompts.
        """
        session, blocks = job.snapshot.session, job.snapshot.blocks
        events: Sequence[Event] = job.snapshot.recent
        if _is_rebuilt(session, request):
            first, last = request.prompts.first, request.prompts.last
            blocks = tuple(block for block in blocks if block.last < first)
            session = replace(session, boundary=first - 1)
            events = await job.store.canon(session.id, first=first, last=last)
        events = [event for event in events if event.prompt_index in request.prompts]
        chunk = job.builder.fitting_chunk(session, blocks, request.prompts, events)
        if chunk != request.prompts and _is_rebuilt(job.snapshot.session, request):
            return Failed(StoryEngineError(ErrorCode.LLM_CONTEXT_OVERFLOW)), CallRecords()
        context = job.builder.summary(session, blocks, chunk, events)
        length = len(context_summary.chunk_text(session, chunk, events))
        choice = with_model(job.calls.config_of(context), request.model)
        made, call_records = await make_memory(
            context,
            job.calls,
            lambda text: context_summary.parse(text, session, chunk, length, choice.style),
            choice,
        )
        if isinstance(made, Failed):
            return made, call_records
        return SummaryMade(made.payload, made.json_text, chunk), call_records

    def settle(self, snapshot: Snapshot, done: SummaryRequest, made: SummaryMade, now: datetime) -> Changes:
        """Store the delta and move the boundary, with a request for the next summary if one is due.

        A block that is built again replaces its earlier revision in canon, and the boundary stays.
        """
        chunk = made.prompts or done.prompts
        before = snapshot.session
        if _is_rebuilt(before, done):
            session = replace(before, canon_version=before.canon_version + 1)
        else:
            session = replace(before, boundary=chunk.last)
        block = MemoryBlock(
            id=BlockId(new_uuid()),
            session_id=session.id,
            type=BlockType.TURN_DELTA,
            first=chunk.first,
            last=chunk.last,
            payload=made.payload,
            json_text=made.json_text,
            revision=session.canon_version + 1,
            made_from=block_before(snapshot.blocks, chunk.first),
            created_at=now,
        )
        session, due = move_and_summarise(snapshot, session, Command.SUMMARY_STORED, now)
        requests = (replace(done, prompts=chunk), *due)
        return Changes(session_id=session.id, session=session, blocks=(block,), requests=requests)

    def is_done(self, request: SummaryRequest, changes: Changes) -> bool:
        """Whether its prompts are in memory."""
        if any(block.first == request.prompts.first for block in changes.blocks):
            return True
        return changes.session is not None and request.prompts.last <= changes.session.boundary


def _is_rebuilt(session: Session, request: SummaryRequest) -> bool:
    return request.prompts.last <= session.boundary
