"""What a chapter takes over from earlier ones, as the JSON of its tab 1, both ways. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.domain.session.carry_over import NOTHING_CARRIED, CarriedLine, CarryKind, CarryOver


def carried_values(carried: CarryOver) -> dict[str, Any]:
    """Return the value of the column: empty where nothing comes over."""
    return asdict(carried) if carried else {}


def to_carried(found: Mapping[str, Any]) -> CarryOver:
    """Return what comes over from earlier chapters; raise ValueError for what this program does not write."""
    if not found:
        return NOTHING_CARRIED
    try:
        lines = tuple(
            CarriedLine(**{**line, "kind": CarryKind(line["kind"]), "known_to": tuple(line["known_to"])})
            for line in found["lines"]
        )
        return CarryOver(budget=int(found["budget"]), lines=lines)
    except (KeyError, TypeError) as error:
        raise ValueError("what comes over from earlier chapters has other fields") from error
