"""Finds what is invalid in exported items or condensed memory: a forger can compute checksums too."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from core.agents.answers.json_output import MAX_MEMORY
from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import QuoteDetails
from core.domain.bank.evidence import Evidence, find_words
from core.domain.bank.item import Item, ItemAccess
from core.domain.ids import ItemId, LogPlace
from core.domain.session.limits import is_storable_time
from core.domain.session.session import Session
from core.domain.story.condensed import FEWEST, MOST, CondensedMemory
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock, TurnDelta, compact_json
from core.text.cleaning import clean_line, has_controls
from core.text.graphemes import head

MOST_VERSIONS: Final = 200_000
"""Versions of items in one chapter."""
_MOST_COUNTED: Final = 2**31 - 1
_SHOWN: Final = 60
"""Characters of an item's name in a problem."""


def problems_of_bank(
    session: Session, items: Sequence[Item], accesses: Sequence[ItemAccess], events: Sequence[Event]
) -> Iterator[str]:
    """Yield problems of items: their bounds, their versions, and proofs that are not in the log."""
    if not items and not accesses:
        return
    if len(items) > MOST_VERSIONS:
        yield f"it has more than {MOST_VERSIONS:,} versions of items"
        return
    if not all(is_storable_time(time) for item in items for time in (item.created_at, item.updated_at)):
        yield "an item of its memory bank has a time that cannot be shown"
    log = {event.log_place: event for event in events}
    takes = {(event.prompt_index, event.take) for event in events}
    newest: dict[ItemId, Item] = {}
    for item_id, versions in groupby(items, key=lambda item: item.id):
        history = list(versions)
        if item_id in newest or [one.version for one in history] != list(range(1, len(history) + 1)):
            yield "the versions of an item have gaps"
        if any(_kept(one) != _kept(history[0]) for one in history):
            yield "an item has another label or another source than it began with"
        newest[item_id] = history[-1]
        for item in history:
            yield from (f"an item of its memory bank: {problem}" for problem in problems_of_item(item))
            if has_controls(item.name) or not _is_proved(item, log, takes):
                yield f"the item “{head(clean_line(item.name), _SHOWN)}” is not proved by the story"
    if not all(_targets(item, newest) for item in newest.values()) or _has_circle(newest):
        yield "an item goes on in one that is missing, or replaces itself"
    if not all(one in newest for item in items for one in _proved(item)):
        yield "a quote proves an item that is missing"
    if not all(0 < one.access_count < _MOST_COUNTED and one.last_accessed > 0 for one in accesses):
        yield "an item was recalled less than once"
    last = max((session.prompt_index, *(index for index, _ in takes)))
    if any(one.last_accessed > last for one in accesses):
        yield "an item was recalled at a prompt that was not played"


def not_the_newest(items: Iterable[Item], versions: Iterable[Item]) -> Iterator[str]:
    """Yield a problem for each item that is not its newest version: recall reads the one, undo the other."""
    newest = {item.id: item for item in versions}
    for item in items:
        if newest.pop(item.id, None) != item:
            yield f"the item “{head(clean_line(item.name), _SHOWN)}” is not its newest version"
    if newest:
        yield "an item that has versions is missing"


def _kept(item: Item) -> tuple[object, ...]:
    return (
        item.kind,
        item.label,
        item.origin,
        item.prompt_index,
        item.take,
        item.supersedes,
        item.created_at,
    )


def _is_proved(item: Item, log: Mapping[LogPlace, Event], takes: set[tuple[int, int]]) -> bool:
    """Whether its words are in events that all of its label witnessed; the GM's own needs no proof."""
    if item.take is not None and (item.prompt_index, item.take) not in takes:
        return False
    if item.take is not None and not item.evidence:
        return False
    return all(_is_found(one, log.get(one.place), item) for one in item.evidence)


def _is_found(proof: Evidence, event: Event | None, item: Item) -> bool:
    if event is None or not event.audience.includes(item.label):
        return False
    said = event.text[proof.start : proof.end]
    return find_words(said, proof.words) is not None and proof.end <= len(event.text)


def _targets(item: Item, newest: Mapping[ItemId, Item]) -> bool:
    """Whether what it goes on in is there. What it replaces may be of an earlier chapter of the book."""
    return item.merged_into is None or item.merged_into in newest


def _proved(item: Item) -> tuple[ItemId, ...]:
    return item.details.data_item_ids if isinstance(item.details, QuoteDetails) else ()


def _has_circle(newest: Mapping[ItemId, Item]) -> bool:
    """Whether an item replaces itself by way of others."""
    for link in ("supersedes", "merged_into"):
        done: set[ItemId] = set()
        for start in newest:
            path: list[ItemId] = []
            on_path: set[ItemId] = set()
            here: ItemId | None = start
            while here is not None and here in newest and here not in done:
                if here in on_path:
                    return True
                path.append(here)
                on_path.add(here)
                here = getattr(newest[here], link)
            done.update(path)
    return False


def problems_of_condensed(
    condensed: Sequence[CondensedMemory], blocks: Sequence[MemoryBlock]
) -> Iterator[str]:
    """Yield problems of condensed memory; `blocks` are all blocks of the session, canon or not."""
    known = {block.id: block for block in blocks}
    if len({one.sources for one in condensed}) < len(condensed):
        yield "the same memory was condensed twice"
    for one in condensed:
        sources = [known[source] for source in one.sources if source in known]
        places = [source.place for source in sources]
        is_of_blocks = FEWEST <= len(one.sources) <= MOST and len(sources) == len(one.sources)
        if (
            not is_of_blocks
            or not all(map(one.covers, sources))
            or places != sorted(set(places))
            or (one.first, one.last) != (sources[0].first, sources[-1].last)
        ):
            yield f"the condensed memory of prompts {one.first} to {one.last} is not of its deltas"
        if not _is_read(one):
            yield f"the condensed memory of prompts {one.first} to {one.last} is invalid"


def _is_read(one: CondensedMemory) -> bool:
    try:
        TurnDelta.model_validate(one.payload)
        length = len(compact_json(one.payload))
    except (ValueError, RecursionError):
        return False
    # Canon locks are those of the deltas, which inputs have word for word.
    return length <= MAX_MEMORY and not one.payload.get("canon_locks")
