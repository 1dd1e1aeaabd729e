"""What slots have of characters of the library, as the JSON of tab 1, both ways. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from core.domain.ids import CharacterId
from core.domain.session.profile import Profile, Profiles
from core.domain.slot import Slot


def profiles_values(profiles: Profiles) -> dict[str, Any]:
    """Return the value of the column: empty where every slot was made by hand."""
    return {
        str(int(slot)): {**asdict(one), "character_id": one.character_id and str(one.character_id)}
        for slot, one in profiles.items()
    }


def to_profiles(found: Mapping[str, Any]) -> Profiles:
    """Return the profiles by slot; raise ValueError for what this program does not write."""
    try:
        return {Slot(int(slot)): _to_profile(found[slot]) for slot in sorted(found)}
    except (KeyError, TypeError) as error:
        raise ValueError("what a slot has of a character of the library has other fields") from error


def _to_profile(found: Mapping[str, Any]) -> Profile:
    of = found["character_id"]
    lists = {name: tuple(found[name]) for name in ("aliases", "groups_visible")}
    return Profile(**{**found, **lists, "character_id": None if of is None else CharacterId(UUID(of))})
