"""Records the lorebook entries that were active for a reply, as later inputs depend on them (design 14).

They are stored with the reply and belong to its take: an undone prompt has activated nothing, and the input
of any prompt can be rebuilt from stored data.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from core.domain.slot import Slot
from core.domain.story.event import Event

LORE: Final = "lore"
"""Key in `metadata` of a reply for the entries that were active: lists of book, uid, digest and messages."""
MOST_USES: Final = 200
"""Entries that one reply keeps."""
LONGEST_UID: Final = 200
GREATEST_COUNT: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class LoreUse:
    """An entry that was active for a character at a prompt, when there were `at` messages."""

    slot: Slot
    prompt_index: int
    book: str
    uid: str
    digest: str
    at: int


def metadata_of(uses: Iterable[tuple[str, str, str, int]]) -> dict[str, object]:
    """Return what the metadata of a reply has of these entries; nothing where there are none."""
    kept = [list(use) for use in uses if len(use[1]) <= LONGEST_UID][:MOST_USES]
    return {LORE: kept} if kept else {}


def kept_from(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a reply's metadata that another text in its place keeps."""
    return {LORE: metadata[LORE]} if LORE in metadata else {}


def uses_in(events: Iterable[Event]) -> Iterator[LoreUse]:
    """Yield the entries that replies say were active; what is not such an entry is passed over."""
    for event in events:
        listed = event.metadata.get(LORE)
        if event.slot is None or not isinstance(listed, list | tuple):
            continue
        for one in listed[:MOST_USES]:
            if isinstance(one, list | tuple) and len(one) == 4:
                book, uid, digest, at = one
                if all(isinstance(text, str) for text in (book, uid, digest)) and _is_count(at):
                    yield LoreUse(event.slot, event.prompt_index, book, uid, digest, at)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= GREATEST_COUNT
