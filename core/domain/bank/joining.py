"""Merges the details of two items on the same subject; pure (design 15)."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from core.domain.bank.details import (
    MOST_LISTED,
    MOST_PROVED,
    Attribute,
    Details,
    Exposed,
    ItemKind,
    Performance,
    QuoteDetails,
    Relationship,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.ids import ItemId

Named = TypeVar("Named", Attribute, Relationship)
_KEYED: Final = ("attributes", "relationships")


def proved_by(quoted: Iterable[Evidence], items: Iterable[Item]) -> tuple[ItemId, ...]:
    """Return the items whose own proof is in words that are quoted, but for other quotes."""
    places = tuple(quoted)
    found = (
        item.id
        for item in items
        if item.kind is not ItemKind.QUOTE
        and any(one.overlaps(other) for one in item.evidence for other in places)
    )
    return tuple(dict.fromkeys(found))[:MOST_PROVED]


def filled(new: Details, old: Details) -> Details:
    """Return details with those of `old` where `new` says nothing.

    Of attributes and relationships both are kept; of two values of one attribute the one of `new` counts.
    """
    if type(new) is not type(old):
        return new
    values: dict[str, Any] = {}
    for one in fields(new):
        said, known = getattr(new, one.name), getattr(old, one.name)
        if one.name in _KEYED:
            values[one.name] = _each_once((*said, *known))
        elif isinstance(new, QuoteDetails) and one.name == "data_item_ids":
            values[one.name] = tuple(dict.fromkeys((*said, *known)))[:MOST_PROVED]
        elif said is None or said in ("", ()):
            values[one.name] = known
    return replace(new, **values)


def says_more(new: Details, old: Details) -> bool:
    """Whether details fill a field that others leave empty, or have an attribute or a relationship more."""
    if type(new) is not type(old):
        return False
    pairs = ((one.name, getattr(new, one.name), getattr(old, one.name)) for one in fields(new))
    return any(
        not set(map(_in_any_case, said)).issubset(map(_in_any_case, known))
        if name in _KEYED
        else isinstance(said, str | tuple) and bool(said) and not known
        for name, said, known in pairs
    )


def _in_any_case(one: Attribute | Relationship) -> tuple[str, ...]:
    return tuple(str(getattr(one, field.name)).casefold() for field in fields(one))


def followed(new: Details, old: Details, left: float) -> Details:
    """Return what follows from a newer item after an older one, of which the share `left` did not fade.

    What play spoke of then and now adds up, and so do the uses of a skill.
    """
    made = filled(new, old)
    if isinstance(made, Exposed) and isinstance(new, Exposed) and isinstance(old, Exposed):
        before, after = (old.exposure_current or 0.0) * left, new.exposure_current or 0.0
        known = (new.exposure_current, old.exposure_current)
        both = None if known == (None, None) else round(1 - (1 - before) * (1 - after), 4)
        return replace(made, exposure_current=both)
    if isinstance(made, TraitDetails) and isinstance(new, TraitDetails) and isinstance(old, TraitDetails):
        return replace(made, performance=_used_again(new.performance, old.performance))
    return made


def _used_again(new: Performance | None, old: Performance | None) -> Performance | None:
    if new is None or old is None:
        return new or old
    counts = new.execution_count, old.execution_count
    spent = _mean(new.average_duration_ms, old.average_duration_ms, counts)
    return Performance(
        execution_count=min(sum(counts), 2**31 - 1),
        success_rate=_mean(new.success_rate, old.success_rate, counts),
        last_execution=max(filter(None, (new.last_execution, old.last_execution)), default=None),
        average_duration_ms=None if spent is None else round(spent),
    )


def _mean(new: float | None, old: float | None, counts: tuple[int, int]) -> float | None:
    if new is None or old is None:
        return old if new is None else new
    return (new * counts[0] + old * counts[1]) / sum(counts)


def _each_once(listed: Iterable[Named]) -> tuple[Named, ...]:
    """Return the first of each attribute, or of each relationship to one target."""
    found: dict[object, Named] = {}
    for one in listed:
        key = one.name if isinstance(one, Attribute) else (one.relation, one.target)
        found.setdefault(key if isinstance(key, tuple) else key.casefold(), one)
    return tuple(found.values())[:MOST_LISTED]
