"""The requests that extract items from play: one for each block of memory, with the events to read.

The text of a request names the events that are read. They never change, so that the requests that are done
say what was read, and nothing is read twice. What is undone and played again has other takes, and is new.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeGuard

from core.agents.memory.context_summary import events_of
from core.domain.audience import Audience
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.story.event import Event
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.changes.moves import new_work

Named = Collection[tuple[str, Audience]]
"""The texts of requests, and the audiences for which they read."""


def analysed_for(audience: Audience, chunk: PromptRange, events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events of a chunk that are read for this audience: those that exactly it witnessed."""
    return tuple(event for event in events_of(chunk, events) if event.audience == audience)


def mark_of(audience: Audience, chunk: PromptRange, events: Collection[Event]) -> str:
    """Return the names of the events that are read, as the text of a request: prompt, take and ordinal.

    Where none of them is of the last prompt of the chunk, its take is added: the items depend on it. Empty
    where nothing is read.
    """
    read = analysed_for(audience, chunk, events)
    names = [f"{event.prompt_index}.{event.take}.{event.ordinal}" for event in read]
    last = chunk.last
    if read and all(event.prompt_index != last for event in read):
        names += sorted({f"{last}.{event.take}" for event in events if event.prompt_index == last})
    return " ".join(names)


def sorted_by_prompt(events: Iterable[Event]) -> Mapping[int, Sequence[Event]]:
    """Return events by the prompts with which they are summarised."""
    by_prompt: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_prompt[event.summarised_with].append(event)
    return by_prompt


def mark_in(by_prompt: Mapping[int, Sequence[Event]], audience: Audience, chunk: PromptRange) -> str:
    """Return the text of a request that reads a chunk of these events for an audience; empty without any."""
    played = chain.from_iterable(by_prompt.get(index, ()) for index in range(chunk.first, chunk.last + 1))
    return mark_of(audience, chunk, tuple(played))


def extractions(
    session_id: SessionId, blocks: Sequence[MemoryBlock], events: Iterable[Event], now: datetime, known: Named
) -> Iterator[BackgroundRequest]:
    """Yield the requests that read the prompts of these blocks, in their order.

    Not those that are `known`: what was read, and what waits to be read. `events` are of canon.
    """
    by_prompt = sorted_by_prompt(events)
    for block in blocks:
        if block.type is not BlockType.TURN_DELTA:
            continue
        chunk = PromptRange(block.first, block.last)
        mark = mark_in(by_prompt, block.audience, chunk)
        if mark and (mark, block.audience) not in known:
            yield BackgroundRequest(
                text=mark,
                prompts=chunk,
                audience=block.audience,
                **new_work(RequestKind.EXTRACTION, session_id, now),
            )


def named_by(requests: Iterable[object]) -> Named:
    """Return what the extractions among requests read."""
    return {(one.text, one.audience) for one in requests if is_extraction(one)}


def is_extraction(request: object) -> TypeGuard[BackgroundRequest]:
    """Whether a request draws items from play."""
    return isinstance(request, BackgroundRequest) and request.kind is RequestKind.EXTRACTION
