"""Records the items of the memory bank that a reply recalled (design 15).

They are kept with the reply, so that it can be said later what an input had, and the item is counted as used.
"""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from core.domain.bank.item import ItemAccess
from core.domain.ids import ItemId

RECALLED: Final = "recalled"
"""Key in `metadata` of a reply for the items in its input: each with how often it was used before."""
GREATEST_COUNT: Final = 10_000_000
MOST_RECALLED: Final = 200
MOST_USED: Final = 16
"""Number of items, from the top of the ranking, that count as used; the others are there as spares."""


def metadata_of(recalled: Iterable[tuple[ItemId, int]]) -> dict[str, object]:
    """Return what the metadata of a reply has of these items; nothing where there are none."""
    kept = [[str(item_id), count] for item_id, count in recalled][:MOST_RECALLED]
    return {RECALLED: kept} if kept else {}


def kept_from(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a reply's metadata that another text in its place keeps."""
    return {RECALLED: metadata[RECALLED]} if RECALLED in metadata else {}


def recalled_in(metadata: Mapping[str, object]) -> tuple[tuple[ItemId, int], ...]:
    """Return the items that a reply says it recalled; what is not such an item is passed over."""
    listed = metadata.get(RECALLED)
    found = []
    for one in listed[:MOST_RECALLED] if isinstance(listed, list | tuple) else ():
        if isinstance(one, list | tuple) and len(one) == 2 and _is_count(one[1]):
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


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < GREATEST_COUNT
