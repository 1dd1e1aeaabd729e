"""Provenance of an item: the author of its first version, and that of its last change; pure (design 15).

It is not stored but derived from the superseded items and the versions. Extraction makes the first version
of an item; each later one is the GM's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.domain.bank.item import Item, ItemOrigin
from core.domain.ids import ItemId, RequestId
from core.engine.services.bank.undo import is_change


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The GM, or the reading that was made for a request."""

    is_gm: bool
    at: datetime
    prompt_index: int
    """The last prompt that was read; for the GM the prompt of the item."""
    request_id: RequestId | None = None
    """The extraction; None for the GM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProvenance:
    """Authors of an item."""

    learned_by: Author
    last_changed_by: Author | None = None
    """None if it was not changed since it was learned. That the GM has seen it does not count as a change."""


def provenance_of(history: Sequence[Item], others: Mapping[ItemId, Item]) -> ItemProvenance:
    """Return who made an item; `history` are its versions, oldest first, `others` the items of its chapter.

    What supersedes an item was learned with it, and changed by the reading that found it again.
    """
    made = history[0]
    first, passed = made, {made.id}
    while first.supersedes is not None and first.supersedes not in passed and first.supersedes in others:
        first = others[first.supersedes]
        passed.add(first.id)
    changes = (number for number in range(len(history), 1, -1) if _is_change(history, number))
    newest = next(changes, None)
    last = None if first is made else _maker(made)
    if newest is not None:
        last = Author(is_gm=True, at=history[newest - 1].updated_at, prompt_index=made.prompt_index)
    return ItemProvenance(learned_by=_maker(first), last_changed_by=last)


def _is_change(history: Sequence[Item], number: int) -> bool:
    # What takes a change back is one as well.
    version = history[number - 1]
    return version.undoes is not None or is_change(version, history[number - 2])


def _maker(item: Item) -> Author:
    is_gm = item.origin is ItemOrigin.GM
    return Author(
        is_gm=is_gm,
        at=item.created_at,
        prompt_index=item.prompt_index,
        request_id=None if is_gm else item.request_id,
    )
