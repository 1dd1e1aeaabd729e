"""Summarises a range of prompts: agent 8 adds a delta to memory (design 6 and 7)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from core.agents.answers.json_output import ParsedMemory
from core.agents.memory import context_summary
from core.context.visibility import Knowledge
from core.domain.agent_role import AgentRole
from core.domain.audience import Audience, widest_first
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import BlockId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest, Request, SummaryRequest
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.story.event import Event
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.changes.canon import block_before
from core.engine.changes.moves import is_rebuilt, move_and_summarise, provenance
from core.engine.kinds.bank.requests import extractions, named_by
from core.engine.kinds.base import Job, KindHandler, called_with
from core.engine.kinds.json_answer import make_memory
from core.engine.kinds.outcome import Failed, SummaryMade
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot

NO_PLACE: Final = (
    "Memory of {} has no place for lines that only some heard, as corrections of yours follow it: mark these "
    "lines as never sent again, or correct canon for those who heard them. Nothing was asked."
)


class SummaryHandler(KindHandler[SummaryRequest, SummaryMade]):
    """Handles summary requests."""

    async def run(self, job: Job, request: SummaryRequest) -> tuple[SummaryMade | Failed, CallRecords]:
        """Summarise as many prompts, from the first, as fit into one input: once for each audience.

        Each delta but the last is stored as soon as it is made, and an attempt after a crash goes on with the
        next one. A block that is built again is made from the memory before it, and of all of its prompts.
        """
        snapshot, blocks = job.snapshot, job.snapshot.blocks
        events: Sequence[Event] = snapshot.recent
        is_again = is_rebuilt(snapshot.session, request)
        if is_again:
            first, last = request.prompts.first, request.prompts.last
            blocks = tuple(block for block in blocks if block.last < first)
            snapshot = replace(snapshot, session=replace(snapshot.session, boundary=first - 1))
            events = await job.store.canon(snapshot.session.id, first=first - 1, last=last)
        events = context_summary.events_of(request.prompts, snapshot.marked(events))
        everything = snapshot.chapter_known_to(None, blocks, events)
        _, builder = called_with(job, AgentRole.CONTEXT_SUMMARY, None, request.model)
        chunk = builder.fitting_chunk(everything, request.prompts)
        if chunk != request.prompts and is_again:
            return Failed(StoryEngineError(ErrorCode.LLM_CONTEXT_OVERFLOW)), CallRecords()
        if not context_summary.events_of(chunk, events):
            return SummaryMade(context_summary.empty_delta(chunk), prompts=chunk), CallRecords()
        if is_again:
            require_places(job.snapshot.blocks, chunk, events)
        *wider, narrowest = widest_first(event.audience for event in context_summary.events_of(chunk, events))
        parts = await _stored_parts(job, chunk) if wider else []
        for audience in wider[len(parts) :]:
            made, call_records = await _summarised(
                job, request, snapshot.known_to_all_of(audience, (*blocks, *parts), events), chunk
            )
            if isinstance(made, Failed):
                return made, call_records
            parts.append(_block(snapshot, made, chunk, audience, parts, request.updated_at))
            await job.save(partial(_part_stored, request, parts[-1], call_records))
        knowledge = snapshot.known_to_all_of(narrowest, (*blocks, *parts), events)
        made, call_records = await _summarised(job, request, knowledge, chunk)
        if isinstance(made, Failed):
            return made, call_records
        return SummaryMade(made.payload, made.json_text, chunk, narrowest, tuple(parts)), call_records

    def settle(self, snapshot: Snapshot, done: SummaryRequest, made: SummaryMade, now: datetime) -> Changes:
        """Store the last delta and move the boundary, with a request for the next summary if one is due.

        In a chapter that keeps a memory bank, items are drawn from these prompts then.

        A block that is built again replaces its earlier revision in canon, and the boundary stays.
        """
        chunk = made.prompts or done.prompts
        before = snapshot.session
        block = _block(snapshot, made, chunk, made.audience, made.parts, now)
        blocks = (*made.parts, block)
        drawn: Iterable[BackgroundRequest] = ()
        if is_rebuilt(before, done):
            session = replace(before, canon_version=before.canon_version + 1)
        else:
            session = replace(before, boundary=chunk.last)
            if session.keeps_bank:
                known = named_by(snapshot.requests)
                drawn = extractions(session.id, blocks, snapshot.recent, now, known)
        session, due = move_and_summarise(snapshot, session, Command.SUMMARY_STORED, now)
        requests: tuple[Request, ...] = (replace(done, prompts=chunk), *due, *drawn)
        return Changes(session_id=session.id, session=session, blocks=blocks, requests=requests)

    def is_done(self, request: SummaryRequest, changes: Changes) -> bool:
        """Whether its prompts are in memory."""
        if any(block.first == request.prompts.first for block in changes.blocks):
            return True
        return changes.session is not None and request.prompts.last <= changes.session.boundary


def require_places(blocks: Sequence[MemoryBlock], chunk: PromptRange, events: Sequence[Event]) -> None:
    """Raise IllegalCommandError where a block that is built again has no place for a delta of each audience.

    The GM's corrections keep their places behind the deltas that were there. A line that only some heard, and
    that models may be sent again since, would need one more.
    """
    told = {event.audience for event in context_summary.events_of(chunk, events)}
    corrections = (one for one in blocks if one.type is BlockType.CANON_CORRECTION and one.last == chunk.last)
    if len(told) > min((one.ordinal for one in corrections), default=len(told)):
        raise IllegalCommandError(NO_PLACE.format(chunk.named))


async def _summarised(
    job: Job, request: SummaryRequest, knowledge: Knowledge, chunk: PromptRange
) -> tuple[ParsedMemory | Failed, CallRecords]:
    """Request the delta of a chunk for those who have this knowledge.

    What an earlier summary made of the same input is used again: the newest prompt was undone and redone, or
    the GM did something else while it was made. Memory that is built again is to be another one.
    """
    choice, builder = called_with(job, AgentRole.CONTEXT_SUMMARY, None, request.model)
    context = builder.summary(knowledge, chunk)
    is_again = is_rebuilt(job.snapshot.session, request)
    length = len(context_summary.chunk_text(knowledge.session, chunk, knowledge.events))
    return await make_memory(
        context,
        job.calls,
        lambda text: context_summary.parse(text, knowledge.session, chunk, length, choice.style),
        choice,
        None if is_again else job.calls.on_record.in_chapter(job.snapshot.session),
    )


async def _stored_parts(job: Job, chunk: PromptRange) -> list[MemoryBlock]:
    """Return the deltas of a chunk that an earlier attempt has stored, in order.

    A change of canon gives later blocks another revision, so those of an older canon are not among them.
    """
    session = job.snapshot.session
    return [
        block
        for block in await job.store.revisions(session.id)
        if (block.first, block.last) == (chunk.first, chunk.last) and block.revision == _revision(session)
    ]


def _part_stored(
    request: SummaryRequest, part: MemoryBlock, call_records: CallRecords, _: Snapshot
) -> Changes:
    return replace(provenance(request, call_records), revisions=(part,))


def _revision(session: Session) -> int:
    return session.canon_version + 1


def _block(
    snapshot: Snapshot,
    made: ParsedMemory | SummaryMade,
    chunk: PromptRange,
    audience: Audience,
    parts: Sequence[MemoryBlock],
    now: datetime,
) -> MemoryBlock:
    """Return the next delta of a chunk, after `parts`."""
    return MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=snapshot.session.id,
        type=BlockType.TURN_DELTA,
        first=chunk.first,
        last=chunk.last,
        payload=made.payload,
        json_text=made.json_text,
        ordinal=len(parts),
        revision=_revision(snapshot.session),
        made_from=parts[-1].id if parts else block_before(snapshot.blocks, chunk.first),
        audience=audience,
        created_at=now,
    )
