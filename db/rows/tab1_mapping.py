"""The row of tab 1 and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from core.domain.ids import CharacterId, SessionId
from core.domain.session.carry_over import NOTHING_CARRIED, CarriedLine, CarryKind, CarryOver
from core.domain.session.profile import ADDED, Profile, Profiles
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from db.rows.mapping import Values, by_slot, to_slots


def tab1_values(session_id: SessionId, tab1: Tab1Inputs) -> Values:
    """Return the row of tab 1."""
    return {
        "session_id": session_id,
        "world": tab1.world,
        "chapter": tab1.chapter,
        "identities": by_slot(tab1.identities),
        "profiles": _profiles_values(tab1.profiles),
        "carried": _carried_values(tab1.carried),
    }


def to_tab1(row: Any) -> Tab1Inputs:
    """Return tab 1 of a row."""
    return Tab1Inputs(
        world=row.world,
        chapter=row.chapter,
        identities=to_slots(row.identities),
        profiles=to_profiles(row.profiles),
        carried=_to_carried(row.carried),
    )


def _carried_values(carried: CarryOver) -> dict[str, Any]:
    """Return the value of the column: empty where nothing comes over."""
    return asdict(carried) if carried else {}


def _to_carried(found: Mapping[str, Any]) -> CarryOver:
    """Return the lines of earlier chapters; raise ValueError for data that this program does not write."""
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


def _profiles_values(profiles: Profiles) -> dict[str, Any]:
    """Return the value of the column: empty where every slot was made by hand."""
    return {str(int(slot)): _profile_values(one) for slot, one in profiles.items()}


def _profile_values(profile: Profile) -> dict[str, Any]:
    values = {**asdict(profile), "character_id": profile.character_id and str(profile.character_id)}
    return {name: value for name, value in values.items() if value or name not in ADDED}


def to_profiles(found: Mapping[str, Any]) -> Profiles:
    """Return the profiles by slot; raise ValueError for data that this program does not write."""
    try:
        return {Slot(int(slot)): _to_profile(found[slot]) for slot in sorted(found)}
    except (KeyError, TypeError) as error:
        raise ValueError("what a slot has of a character of the library has other fields") from error


def _to_profile(found: Mapping[str, Any]) -> Profile:
    of = found["character_id"]
    lists = {name: tuple(found.get(name, ())) for name in ("aliases", "groups_visible", "tags")}
    return Profile(**{**found, **lists, "character_id": None if of is None else CharacterId(UUID(of))})
