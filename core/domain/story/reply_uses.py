"""Records what a reply used: active entries of lorebooks, and recalled items of the bank (design 14 and 15).

They are stored with the reply and belong to its take: an undone prompt has activated nothing, the input of
any prompt can be rebuilt from stored data, and an item is counted as used.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from core.domain.bank.item import ItemAccess
from core.domain.ids import ItemId
from core.domain.slot import Slot
from core.domain.story.event import Event

LORE: Final = "lore"
"""Key in `metadata` of a reply for the entries that were active: lists of book, uid, digest and messages."""
RECALLED: Final = "recalled"
"""Key in `metadata` of a reply for the items in its input: each with how often it was used before."""
MOST_KEPT: Final = 200
"""Entries, and items, that one reply keeps."""
LONGEST_UID: Final = 200
GREATEST_COUNT: Final = 10_000_000
MOST_USED: Final = 16
"""Number of items, from the top of the ranking, that count as used; the others are there as spares."""


@dataclass(frozen=True, slots=True)
class LoreUse:
    """An entry that was active for a character at a prompt, when there were `at` messages."""

    slot: Slot
    prompt_index: int
    book: str
    uid: str
    digest: str
    at: int


def metadata_of(
    lore: Iterable[tuple[str, str, str, int]], recalled: Iterable[tuple[ItemId, int]]
) -> dict[str, object]:
    """Return what the metadata of a reply has of these entries and items; nothing where there are none."""
    entries = [list(use) for use in lore if len(use[1]) <= LONGEST_UID][:MOST_KEPT]
    items = [[str(item_id), count] for item_id, count in recalled][:MOST_KEPT]
    return {key: kept for key, kept in ((LORE, entries), (RECALLED, items)) if kept}


def kept_from(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a reply's metadata that another text in its place keeps."""
    return {key: metadata[key] for key in (LORE, RECALLED) if key in metadata}


def uses_in(events: Iterable[Event]) -> Iterator[LoreUse]:
    """Yield the entries that replies say were active."""
    for event in events:
        if event.slot is not None:
            yield from uses_of(event.slot, event.prompt_index, event.metadata)


def uses_of(slot: Slot, prompt_index: int, metadata: Mapping[str, object]) -> Iterator[LoreUse]:
    """Yield the entries that a reply says were active; what is not such an entry is passed over."""
    for one in _listed(metadata, LORE):
        if isinstance(one, list | tuple) and len(one) == 4:
            book, uid, digest, at = one
            if all(isinstance(text, str) for text in (book, uid, digest)) and _is_count(at):
                yield LoreUse(slot, prompt_index, book, uid, digest, at)


def recalled_in(metadata: Mapping[str, object]) -> tuple[tuple[ItemId, int], ...]:
    """Return the items that a reply says it recalled; what is not such an item is passed over."""
    found = []
    for one in _listed(metadata, RECALLED):
        # One less than the greatest: an item is counted once more when it is used.
        if isinstance(one, list | tuple) and len(one) == 2 and _is_count(one[1]) and one[1] < GREATEST_COUNT:
            try:
                found.append((ItemId(UUID(str(one[0]))), int(one[1])))
            except ValueError:
                continue
    return tuple(found)


def accesses_of(metadata: Mapping[str, object], prompt_index: int) -> tuple[ItemAccess, ...]:
    """Return that the first of these items were used at a prompt once more."""
    return tuple(
        ItemAccess(item_id=item_id, access_count=count + 1, last_accessed=prompt_index)
        for item_id, count in [*dict(recalled_in(metadata)).items()][:MOST_USED]
    )


def accesses_in(events: Iterable[Event]) -> tuple[ItemAccess, ...]:
    """Return how often the items of a bank were used up to the last of these events, which are in order."""
    replies = (event for event in events if event.slot is not None)
    used = {one.item_id: one for reply in replies for one in accesses_of(reply.metadata, reply.prompt_index)}
    return tuple(used[item_id] for item_id in sorted(used))


def _listed(metadata: Mapping[str, object], key: str) -> list[object] | tuple[object, ...]:
    listed = metadata.get(key)
    return listed[:MOST_KEPT] if isinstance(listed, list | tuple) else ()


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= GREATEST_COUNT
