"""Makes the bank of a session that begins with the canon of another one (design 12 and 15)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from core.domain.bank.details import Details, QuoteDetails
from core.domain.bank.item import Item, ItemOrigin
from core.domain.ids import ItemId


def bank_at(
    history: Iterable[Item], takes: Mapping[int, int], last: int, until: datetime | None = None
) -> tuple[Item, ...]:
    """Return the items of canon up to prompt `last`, as they were at a time, or are now.

    `history` has every version of them, and `takes` the take that is canon at each prompt. The copy has one
    take of each prompt and one version of each item; what the GM rejected or merged stays so, as does what an
    item replaces of an earlier chapter.
    """
    newest: dict[ItemId, Item] = {}
    for version in history:
        known = newest.get(version.id)
        is_newer = known is None or version.version > known.version
        if is_newer and (until is None or version.updated_at <= until):
            newest[version.id] = version
    copied = {one.id: one for item in newest.values() if (one := _copied(item, takes, last)) is not None}
    left = newest.keys() - copied.keys()
    return tuple(
        replace(
            item,
            supersedes=None if item.supersedes in left else item.supersedes,
            merged_into=item.merged_into if item.merged_into in copied else None,
            details=_within(item.details, copied),
        )
        for item in copied.values()
    )


def _within(details: Details, copied: Collection[ItemId]) -> Details:
    """Return details that name only items that the copy has."""
    if not isinstance(details, QuoteDetails):
        return details
    return replace(details, data_item_ids=tuple(one for one in details.data_item_ids if one in copied))


def _copied(item: Item, takes: Mapping[int, int], last: int) -> Item | None:
    """Return an item as the copy has it; None where what it was drawn from is not part of the copy."""
    if item.prompt_index > last or (item.take is not None and takes.get(item.prompt_index) != item.take):
        return None
    evidence = tuple(replace(one, take=1) for one in item.evidence if takes.get(one.prompt_index) == one.take)
    if not evidence and item.origin is ItemOrigin.EXTRACTED:
        return None
    take = None if item.take is None else 1
    return replace(item, version=1, undoes=None, take=take, evidence=evidence)
