"""Summarises a range of prompts: agent 8 adds a delta to memory (design 6 and 7)."""

from dataclasses import replace
from datetime import datetime

from core.agents import context_summary
from core.domain.ids import BlockId, new_uuid
from core.domain.memory import BlockType, MemoryBlock
from core.domain.request import SummaryRequest
from core.domain.state_machine import Command
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.json_memory import make_memory
from core.engine.kinds.outcome import Failed, SummaryMade
from core.engine.moves import move_and_summarise
from core.gateway.call_records import CallRecords
from core.store import Changes, Snapshot


class SummaryHandler(KindHandler[SummaryRequest, SummaryMade]):
    """Handles summary requests."""

    async def run(self, job: Job, request: SummaryRequest) -> tuple[SummaryMade | Failed, CallRecords]:
        """Summarise as many prompts, from the first, as fit into one input."""
        session, blocks = job.snapshot.session, job.snapshot.blocks
        events = [event for event in job.snapshot.recent if event.prompt_index in request.prompts]
        chunk = job.builder.fitting_chunk(session, blocks, request.prompts, events)
        context = job.builder.summary(session, blocks, chunk, events)
        length = len(context_summary.chunk_text(session, chunk, events))
        style = job.calls.config_of(context).style
        made, call_records = await make_memory(
            context, job.calls, lambda text: context_summary.parse(text, session, chunk, length, style)
        )
        if isinstance(made, Failed):
            return made, call_records
        return SummaryMade(made.payload, made.json_text, chunk), call_records

    def settle(self, snapshot: Snapshot, done: SummaryRequest, made: SummaryMade, now: datetime) -> Changes:
        """Store the delta and move the boundary, with a request for the next summary if one is due."""
        chunk = made.prompts or done.prompts
        session = replace(snapshot.session, boundary=chunk.last)
        block = MemoryBlock(
            id=BlockId(new_uuid()),
            session_id=session.id,
            type=BlockType.TURN_DELTA,
            first=chunk.first,
            last=chunk.last,
            payload=made.payload,
            json_text=made.json_text,
            created_at=now,
        )
        session, due = move_and_summarise(snapshot, session, Command.SUMMARY_STORED, now)
        requests = (replace(done, prompts=chunk), *due)
        return Changes(session_id=session.id, session=session, blocks=(block,), requests=requests)

    def is_done(self, request: SummaryRequest, changes: Changes) -> bool:
        """Whether its prompts are in memory."""
        return changes.session is not None and request.prompts.last <= changes.session.boundary
