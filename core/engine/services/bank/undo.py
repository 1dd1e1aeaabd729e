"""Finds the next change of the bank to undo or redo, and makes the restored versions (design 15).

A change is all versions that were stored together. Undo stores the previous state of each item as a new
version, whose `undoes` names the undone one; redo undoes an undo in the same way. So nothing is
lost, and it works after a restart.

The versions of an item are asked for one after the other, from the newest on: of most items one is enough,
however many there are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.domain.bank.item import Item, ItemOrigin, Validation
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from core.engine.services.bank.item_changes import seen

MOST_LAST: Final = 200
"""Items that were changed last which are looked at first for the change to take back."""
_MORE: Final = 4
"""Factor by which more are looked at where these do not tell."""
NOTHING_TO_UNDO: Final = "There is no change of the bank of this chapter to undo."
NOTHING_TO_REDO: Final = "Nothing was undone in the memory bank; there is nothing to redo."
VersionKey = tuple[ItemId, int]
"""An item and the number of one of its versions."""
Versions = Mapping[VersionKey, Item]
Read = Callable[[Sequence[VersionKey]], Awaitable[Versions]]
"""Reads versions of items of one chapter."""


@dataclass(frozen=True, slots=True)
class Step:
    """The version of an item that would be taken back, and the item as it is now."""

    version: Item
    now: Item
    content: Item | None
    """The item as it would be; None where nothing takes the version back, and nothing before it."""


Walk = Generator[int, Item, Step | None]
"""Asks for versions of one item by their numbers, and returns what of it would be taken back."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Undo or redo."""

    walk: Callable[[Item], Walk]
    """Begins at an item as it is now."""
    refusal: str


async def taken_back(
    direction: Direction, items: Iterable[Item], of_canon: Collection[ItemId], now: datetime, read: Read
) -> list[Item]:
    """Return the versions that take back the newest change of `items`; raise IllegalCommandError without one.

    A change of nothing but what an undone prompt had is passed over: the GM does not see these items.
    """
    left = sorted(items, key=lambda item: item.updated_at, reverse=True)
    steps: list[Step] = []
    newest: datetime | None = None
    most = MOST_LAST
    # No version of an item is newer than the item.
    while left and (newest is None or left[0].updated_at >= newest):
        steps += await _steps(direction.walk, left[:most], read)
        left, most = left[most:], most * _MORE
        newest = max((step.version.updated_at for step in steps if step.now.id in of_canon), default=None)
    return await asyncio.to_thread(_restored, direction, steps, newest, now)


async def _steps(walk: Callable[[Item], Walk], items: Sequence[Item], read: Read) -> list[Step]:
    """Return what would be taken back of each item; an item whose versions are not there is left out."""
    walks = {item.id: (walk(item), 0) for item in items}
    known = {(item.id, item.version): item for item in items}
    steps: list[Step] = []
    # Thousands of items take a while.
    while asked := await asyncio.to_thread(_advance, walks, known, steps):
        read_now = await read(asked)
        for key in asked:
            if key not in read_now:
                del walks[key[0]]
        known.update(read_now)
    return steps


def _advance(walks: dict[ItemId, tuple[Walk, int]], known: Versions, steps: list[Step]) -> list[VersionKey]:
    """Let each walk go on to the first version that is not known; return these versions."""
    asked: list[VersionKey] = []
    for item_id, (walk, number) in [*walks.items()]:
        try:
            wanted = walk.send(known[item_id, number]) if number else next(walk)
            while (version := known.get((item_id, wanted))) is not None:
                wanted = walk.send(version)
        except StopIteration as end:
            del walks[item_id]
            steps += [] if end.value is None else [end.value]
        else:
            walks[item_id] = walk, wanted
            asked.append((item_id, wanted))
    return asked


def _restored(
    direction: Direction, steps: Iterable[Step], when: datetime | None, now: datetime
) -> list[Item]:
    """Return the versions that take back those of `steps` that were stored together, at `when`."""
    last = [step for step in steps if step.version.updated_at == when]
    made = [
        replace(seen(step.content), version=step.now.version + 1, updated_at=now, undoes=step.version.version)
        for step in last
        if step.content is not None
    ]
    if not made:
        raise IllegalCommandError(direction.refusal)
    return made


def _to_undo(now: Item) -> Walk:
    """Find the newest change of an item that was not undone; None if it is as it was drawn from play."""
    number = now.version
    while number >= 1:
        version = yield number
        if version.undoes is not None:
            number = version.undoes - 1
            continue
        before = (yield number - 1) if number > 1 else None
        if is_change(version, before):
            # What the GM added is taken out again.
            return Step(version, now, before or replace(version, validation=Validation.REJECTED))
        number -= 1
    return None


def _to_redo(now: Item) -> Walk:
    """Find the newest undo of an item that was not taken back itself, unless it was changed since."""
    number = now.version
    while number >= 1:
        version = yield number
        if version.undoes is None:
            before = (yield number - 1) if number > 1 else None
            if is_change(version, before):
                return Step(version, now, None)
            number -= 1
        else:
            content = yield version.undoes
            if content.undoes is None:
                return Step(version, now, content)
            number = version.undoes - 1
    return None


UNDO: Final = Direction(_to_undo, NOTHING_TO_UNDO)
REDO: Final = Direction(_to_redo, NOTHING_TO_REDO)


def is_change(version: Item, before: Item | None) -> bool:
    """Whether a version is a decision of the GM's: not the first of an extraction, nor only looked at."""
    if version.undoes is not None:
        return False
    if before is None:
        return version.origin is ItemOrigin.GM
    only_seen = replace(
        seen(before), version=version.version, updated_at=version.updated_at, undoes=version.undoes
    )
    return only_seen != version
