"""Finds the next change of the bank to undo or redo, and makes the restored versions; pure (design 15).

A change is all versions that were stored together. Undo stores the previous state of each item as a new
version, whose `undoes` names the undone one; redo undoes an undo in the same way. So nothing is
lost, and it works after a restart.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from core.domain.bank.item import Item, ItemOrigin, Validation
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from core.engine.services.bank.changes import seen

NOTHING_TO_UNDO: Final = "There is no change of the bank of this chapter to undo."
NOTHING_TO_REDO: Final = "Nothing was undone last in the bank, so nothing can be redone."
Versions = Sequence[Item]
"""All versions of one item, oldest first."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The version of an item that would be taken back, and the item as it is now."""

    version: Item
    now: Item
    content: Item


def undone(history: Iterable[Item], now: datetime, of_canon: Collection[ItemId]) -> list[Item]:
    """Return the versions that undo the newest change; raise IllegalCommandError without one.

    A change of nothing but what an undone prompt had is passed over: the GM does not see these items.
    """
    steps = [step for versions in _by_item(history) if (step := _to_undo(versions)) is not None]
    return _taken_back(steps, now, of_canon, NOTHING_TO_UNDO)


def redone(history: Iterable[Item], now: datetime, of_canon: Collection[ItemId]) -> list[Item]:
    """Return the versions that redo what was undone last, unless something was changed since then."""
    all_versions = _by_item(history)
    shown = [one for one in all_versions if one[-1].id in of_canon]
    newest = max(
        (one[-1] for one in shown if is_change(one, len(one)) or one[-1].undoes is not None),
        key=lambda item: item.updated_at,
        default=None,
    )
    if newest is None or newest.undoes is None:
        raise IllegalCommandError(NOTHING_TO_REDO)
    steps = [step for versions in all_versions if (step := _to_redo(versions)) is not None]
    return _taken_back(steps, now, of_canon, NOTHING_TO_REDO)


def _taken_back(
    steps: Sequence[_Step], now: datetime, of_canon: Collection[ItemId], refusal: str
) -> list[Item]:
    """Return the versions that take back those of `steps` that were stored together, and last."""
    when = max((step.version.updated_at for step in steps if step.now.id in of_canon), default=None)
    if when is None:
        raise IllegalCommandError(refusal)
    return [
        replace(seen(step.content), version=step.now.version + 1, updated_at=now, undoes=step.version.version)
        for step in steps
        if step.version.updated_at == when
    ]


def _to_undo(versions: Versions) -> _Step | None:
    """Return the newest change of an item that was not undone; None if it is as it was drawn from play."""
    number = len(versions)
    while number >= 1:
        version = versions[number - 1]
        if version.undoes is not None:
            number = version.undoes - 1
        elif is_change(versions, number):
            # What the GM added is taken out again.
            before = versions[number - 2] if number > 1 else replace(version, validation=Validation.REJECTED)
            return _Step(version, versions[-1], before)
        else:
            number -= 1
    return None


def _to_redo(versions: Versions) -> _Step | None:
    """Return the newest undo of an item that was not taken back itself."""
    number = len(versions)
    while number >= 1:
        version = versions[number - 1]
        if version.undoes is None:
            if is_change(versions, number):
                return None
            number -= 1
        elif versions[version.undoes - 1].undoes is None:
            content = versions[version.undoes - 1]
            return _Step(version, versions[-1], content)
        else:
            number = version.undoes - 1
    return None


def is_change(versions: Versions, number: int) -> bool:
    """Whether a version is a decision of the GM's: not the first of an extraction, nor only looked at."""
    version = versions[number - 1]
    if version.undoes is not None:
        return False
    if number == 1:
        return version.origin is ItemOrigin.GM
    before = versions[number - 2]
    only_seen = replace(
        seen(before), version=version.version, updated_at=version.updated_at, undoes=version.undoes
    )
    return only_seen != version


def _by_item(history: Iterable[Item]) -> list[Versions]:
    """Return the versions of each item; one whose versions are not complete is left out."""
    in_order = sorted(history, key=lambda item: (item.id, item.version))
    found: Mapping[ItemId, list[Item]] = {
        item_id: list(versions) for item_id, versions in groupby(in_order, key=lambda item: item.id)
    }
    return [one for one in found.values() if [item.version for item in one] == list(range(1, len(one) + 1))]
