"""Draws items from a chunk of play: scan, match, update (design 15).

What a model says is stored only with words that the program found in the event itself. Each answer is stored
at once, and the items with the outcome, in one transaction: a crash repeats at most the call that was made.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from core.agents.bank import compare, scan, scan_answer, small_scan
from core.agents.bank.compare import Comparison
from core.agents.bank.findings import (
    Finding,
    Source,
    items_of,
    known_in_words,
    rejected_in_words,
    unproved_in_words,
)
from core.agents.bank.scan import Known, ScanPart
from core.agents.role.setup import AgentSetup
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context
from core.context.visibility import Knowledge
from core.domain.agent_role import AgentRole
from core.domain.bank.details import NAMED, ItemKind
from core.domain.bank.evidence import find_words
from core.domain.bank.item import Item
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest
from core.domain.story.event import Event
from core.engine.changes.moves import given_up
from core.engine.kinds.bank.nearest import Neighbours, earlier_bank
from core.engine.kinds.bank.requests import analysed_for, mark_of, named_by
from core.engine.kinds.bank.sorting import Sorted, Sorter
from core.engine.kinds.base import BackgroundHandler, Job, called_with
from core.engine.kinds.json_answer import answers
from core.engine.kinds.on_record import AnswersOnRecord
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.name_list import name_key

Found = TypeVar("Found")
Reading = Callable[[str], Awaitable[tuple[Found, tuple[str, ...]]]]
"""Parses an answer; returns its findings, and notes for the GM on its unused parts."""


class NoAnswerError(Exception):
    """A call failed, or its answer cannot be used; `failed` and `call_records` are the outcome."""

    def __init__(self, failed: Failed, call_records: CallRecords) -> None:
        super().__init__(failed.error)
        self.failed = failed
        self.call_records = call_records


@dataclass(eq=False)
class Asking:
    """The calls of one attempt, each answer stored at once.

    So an attempt after a crash, or after it made room for the play, goes on with the next question: an answer
    to the same input that is on record is not asked for again.
    """

    _job: Job
    _choice: ModelConfig
    _earlier: AnswersOnRecord
    _is_on_record = False

    async def ask(self, context: Context, read: Reading[Found]) -> Found:
        """Return what an answer says; one that cannot be read is shown to its author once.

        Raises NoAnswerError.
        """
        async for tried in answers(context, self._job.calls, read, self._choice, on_record=self._earlier):
            if not isinstance(tried.made, Failed):
                found, notes = tried.made
                await self._store(tried.call_records.noting(notes))
                return found
            if tried.is_last:
                raise NoAnswerError(replace(tried.made, is_on_record=self._is_on_record), tried.rejected)
            await self._store(tried.rejected)
        raise AssertionError("the second answer ends it")

    async def _store(self, records: CallRecords) -> None:
        await self._job.calls.keep(records)
        self._is_on_record = self._is_on_record or bool(records.artifacts)


BEFORE = 3
"""Prompts before a chunk that are given with it, so that it is understood."""


@dataclass(frozen=True, slots=True)
class ItemsMade:
    """Items extracted from a chunk; of one that was not read there are none."""

    items: tuple[Item, ...] = ()
    was_read: bool = True


NOT_READ = ItemsMade(was_read=False)


class ExtractionHandler(BackgroundHandler[ItemsMade]):
    """Handles extractions; `core.engine.kinds.bank.requests` says what a request has."""

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[ItemsMade | Failed, CallRecords]:
        """Read the chunk, unless it is no longer the story as it was asked about, or was read."""
        work = await _work_of(job, request)
        if work is None:
            return NOT_READ, CallRecords()
        try:
            return ItemsMade(await work.done()), CallRecords()
        except NoAnswerError as end:
            return end.failed, end.call_records

    def settle(self, snapshot: Snapshot, done: BackgroundRequest, made: ItemsMade, now: datetime) -> Changes:
        """Store the items; nothing of the story changes.

        They have the time of this outcome: a save point of before has neither it nor them. A request is done
        only when its items are stored: what is done is never read again. One that was not read, or whose
        chapter keeps no bank any longer, is given up: it may be asked for once more.
        """
        if not (made.was_read and snapshot.session.keeps_bank):
            return Changes(session_id=snapshot.session.id, requests=(given_up(done, now),))
        items = tuple(replace(item, created_at=now, updated_at=now) for item in made.items)
        return Changes(session_id=snapshot.session.id, requests=(done,), items=items)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """One chunk with everything that is needed to read it."""

    asking: Asking
    neighbours: Neighbours
    choice: ModelConfig
    knowledge: Knowledge
    source: Source
    analysed: tuple[Event, ...]
    known: Known
    sorter: Sorter
    now: datetime

    async def done(self) -> tuple[Item, ...]:
        """Return the items of the chunk; raise NoAnswerError."""
        setup = AgentSetup.for_task(self.choice, scan.SCAN)
        found: list[Sorted] = []
        for part in scan.parts_of(setup, self.knowledge, self.analysed, self.known):
            for context in _contexts(setup, self.knowledge, part, self.known):
                found.append(await self.asking.ask(context, partial(self._scanned, part)))
        doubtful = [question for one in found for question in one.doubtful]
        changing = [question for one in found for question in one.changing]
        changing += await self._matched(doubtful)
        await self._updated(changing)
        return self.sorter.made

    async def _scanned(self, part: ScanPart, text: str) -> tuple[Sorted, tuple[str, ...]]:
        """Return the proved findings, sorted, and notes on the unused ones."""
        found = self._findings(part, text)
        items, unproved = await asyncio.to_thread(items_of, found, self.source, self.now)
        near = await self.neighbours.of(items)
        await asyncio.to_thread(self.sorter.know_earlier, near.earlier)
        result = await asyncio.to_thread(self.sorter.sort, items, near.similar)
        return result, (*unproved_in_words(unproved), *_noted(result))

    def _findings(self, part: ScanPart, text: str) -> list[Finding]:
        if self.choice.style is PromptStyle.SMALL:
            return small_scan.read_small_scan(text, part, self.known)
        cast = {name_key(name): slot for name, slot in self.known.cast.items()}
        return scan_answer.read_scan(text, cast)

    async def _matched(self, doubtful: Sequence[Comparison]) -> list[Comparison]:
        """Return those that are the same as something that is there, and may change it."""
        setup = AgentSetup.for_task(self.choice, compare.MATCH)
        changing: list[Comparison] = []

        async def read(asked: Sequence[Comparison], text: str) -> tuple[Sorted, tuple[str, ...]]:
            result = self.sorter.settle_doubts(asked, compare.read_match(text, asked))
            return result, _noted(result)

        for asked in _in_parts(setup, doubtful):
            context = compare.match_context(setup, asked)
            changing += (await self.asking.ask(context, partial(read, asked))).changing
        return changing

    async def _updated(self, changing: Sequence[Comparison]) -> None:
        setup = AgentSetup.for_task(self.choice, compare.UPDATE)

        async def read(asked: Sequence[Comparison], text: str) -> tuple[None, tuple[str, ...]]:
            return None, known_in_words(self.sorter.update(asked, compare.read_update(text, asked)))

        for asked in _in_parts(setup, changing):
            await self.asking.ask(compare.update_context(setup, asked), partial(read, asked))


def scans_of(
    snapshot: Snapshot, request: BackgroundRequest, choice: ModelConfig, canon: Sequence[Event]
) -> list[Context]:
    """Return the inputs with which a request that waits will read its chunk, as far as they are known now.

    Names of people and places from the parts before are left out, and so are questions about the findings.
    """
    chunk = request.prompts
    if chunk is None:
        return []
    events = [one for one in canon if max(0, chunk.first - BEFORE) <= one.prompt_index <= chunk.last]
    knowledge, analysed = _analysed(snapshot, request, chunk, events)
    known = _known(snapshot, request, (), knowledge.events)
    setup = AgentSetup.for_task(choice, scan.SCAN)
    parts = scan.parts_of(setup, knowledge, analysed, known)
    return [context for part in parts for context in _contexts(setup, knowledge, part, known)]


def _contexts(setup: AgentSetup, knowledge: Knowledge, part: ScanPart, known: Known) -> Iterator[Context]:
    if setup.style is PromptStyle.SMALL:
        yield from small_scan.contexts_of(setup, knowledge, part, known)
    else:
        yield scan.scan_context(setup, knowledge, part, known)


def _analysed(
    snapshot: Snapshot, request: BackgroundRequest, chunk: PromptRange, events: Sequence[Event]
) -> tuple[Knowledge, tuple[Event, ...]]:
    """Return what is given about a chunk, and the events that are read in it.

    A request hashes all played events; those that the GM marked as never sent are not analysed.
    """
    blocks = [block for block in snapshot.blocks if block.last < chunk.first]
    knowledge = snapshot.known_to_all_of(request.audience, blocks, events)
    return knowledge, analysed_for(request.audience, chunk, knowledge.events)


def _in_parts(setup: AgentSetup, rest: Sequence[Comparison]) -> Iterator[Sequence[Comparison]]:
    """Yield questions in parts, each with as many as fit into one input."""
    while rest:
        count = compare.as_many_as_fit(setup, rest)
        yield rest[:count]
        rest = rest[count:]


async def _work_of(job: Job, request: BackgroundRequest) -> _Work | None:
    """Return what there is to do for a request; None where there is nothing."""
    snapshot, session, chunk = job.snapshot, job.snapshot.session, request.prompts
    if not session.keeps_bank or chunk is None or session.prompt_index < chunk.last:
        return None
    events = await job.store.canon(session.id, first=max(0, chunk.first - BEFORE), last=chunk.last)
    is_as_asked = mark_of(request.audience, chunk, events) == request.text
    knowledge, analysed = _analysed(snapshot, request, chunk, events)
    if not analysed or not is_as_asked or await _was_read(job, request):
        return None
    items = await job.store.bank.items(session.id)
    taken_out = await job.store.bank.taken_out(session.id)
    book = await earlier_bank(job, request.audience)
    known_items = (*reversed(items), *(one.item for one in reversed(book.named)))
    known = _known(snapshot, request, known_items, knowledge.events)
    sorter = await asyncio.to_thread(Sorter, request.audience, items, taken_out)
    await asyncio.to_thread(sorter.know_earlier, book.named, book.taken_out)
    choice, _ = called_with(job, AgentRole.CONTEXT_SUMMARY, None, request.model)
    return _Work(
        # An earlier reading may have been given up, because the bank was switched off.
        asking=Asking(job, choice, job.calls.on_record.in_chapter(session)),
        neighbours=Neighbours(job, book, taken_out),
        choice=choice,
        knowledge=knowledge,
        source=Source(
            session_id=session.id,
            request_id=request.id,
            label=request.audience,
            events=knowledge.events,
            prompt_index=chunk.last,
            take=_take_at(chunk.last, events),
            names=dict(session.roster),
            other_names=tuple(known.cast),
            known_names=(*known.people, *known.places),
            definitions=(snapshot.tab1.world, snapshot.tab1.chapter),
            analysed=analysed,
            language=session.language,
        ),
        analysed=analysed,
        known=known,
        sorter=sorter,
        now=request.updated_at,
    )


async def _was_read(job: Job, request: BackgroundRequest) -> bool:
    """Whether another request has read the same events."""
    readings = await job.store.bank.readings(request.session_id)
    return (request.text, request.audience) in named_by(readings)


def _known(
    snapshot: Snapshot, request: BackgroundRequest, items: Sequence[Item], events: Sequence[Event]
) -> Known:
    """Return the names of the cast, and of people and places that the audience may know, of these items."""
    session, cast = snapshot.session, snapshot.cast
    own = {name: slot for slot, name in session.roster}
    names: dict[ItemKind, dict[str, None]] = {kind: {} for kind in NAMED}
    for item in items:
        if item.kind in NAMED and item.label.includes(request.audience):
            names[item.kind][item.name] = None
    people, places = (tuple(names[kind]) for kind in NAMED)
    # Who heard another name need not know whose it is: the one who is called so knows, the others may not.
    heard = [
        name
        for name, slot in cast.other_names.items()
        if request.audience == session.audience_of((slot,))
        and any(find_words(one.text, name) for one in events)
    ]
    return Known(cast={**own, **cast.other_names}, heard=heard, people=people, places=places)


def _take_at(prompt_index: int, events: Sequence[Event]) -> int:
    return next(event.take for event in events if event.prompt_index == prompt_index)


def _noted(result: Sorted) -> tuple[str, ...]:
    return (
        *known_in_words(result.known),
        *known_in_words(result.known_before, is_earlier=True),
        *rejected_in_words(result.rejected),
        *rejected_in_words(result.rejected_before, is_earlier=True),
    )
