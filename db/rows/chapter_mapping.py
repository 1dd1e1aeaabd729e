"""Rows of tab 1, prompt blocks, lore, condensed memory, statuses and proposals, and the domain, both ways."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from core.domain.ids import CharacterId, SessionId
from core.domain.proposal import Proposal
from core.domain.session.carry_over import NOTHING_CARRIED, CarriedLine, CarryKind, CarryOver
from core.domain.session.lore import ChapterLorebook, Lorebooks
from core.domain.session.profile import ADDED, Profile, Profiles
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlock, PromptBlocks
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import ContextStatus, EventStatus, Statuses
from core.domain.story.memory import compact_json
from db.rows.row_mapping import Form, RowMapping, Values


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


def prompt_blocks_values(session_id: SessionId, prompt_blocks: PromptBlocks) -> Values:
    """Return the row of the prompt blocks of a chapter."""
    return {
        "session_id": session_id,
        "variant": prompt_blocks.variant,
        "variants": list(prompt_blocks.variants),
        "blocks": [asdict(block) for block in prompt_blocks.blocks],
    }


def to_prompt_blocks(row: Any) -> PromptBlocks:
    """Return the prompt blocks of a row; raise ValueError where it holds what this program does not write."""
    if row.variant is None:
        return NO_PROMPT_BLOCKS
    try:
        blocks = tuple(map(_PROMPT_BLOCKS.record_of_json, row.blocks))
    except (KeyError, TypeError) as error:
        raise ValueError("a prompt block has other fields than this program writes") from error
    return PromptBlocks(variant=row.variant, variants=tuple(row.variants), blocks=blocks)


def lore_values(session_id: SessionId, books: Lorebooks) -> list[Values]:
    """Return the rows of the lorebooks, numbered from 1."""
    return [
        {"session_id": session_id, "number": number, **_LOREBOOKS.values(book)}
        for number, book in enumerate(books, start=1)
    ]


def to_lore(rows: Sequence[Mapping[str, Any]] | None) -> Lorebooks:
    """Return the lorebooks of rows in their order."""
    return tuple(map(_LOREBOOKS.record_of_json, rows or ()))


def condensed_values(one: CondensedMemory) -> Values:
    """Return the row of one block."""
    return {**_CONDENSED.values(one), "json_text": compact_json(one.payload)}


def to_condensed(rows: Sequence[Mapping[str, Any]] | None) -> tuple[CondensedMemory, ...]:
    """Return the blocks of rows that were read as JSON."""
    return tuple(
        _CONDENSED.record_of_json(
            row,
            id=UUID(row["condensed_id"]),
            session_id=UUID(row["session_id"]),
            sources=tuple(map(UUID, row["sources"])),
            payload=json.loads(row["json_text"]),
            created_at=datetime.fromisoformat(row["created_at"]),
        )
        for row in rows or ()
    )


def to_statuses(rows: Sequence[Sequence[Any]] | None) -> Statuses:
    """Return the statuses of rows in their order, each with its place and what was said."""
    return tuple(
        EventStatus(prompt_index, take, ordinal, ContextStatus(status))
        for prompt_index, take, ordinal, status in rows or ()
    )


TAB1: Final = RowMapping(
    Tab1Inputs,
    forms={"profiles": Form(_profiles_values, to_profiles), "carried": Form(_carried_values, _to_carried)},
)
STATUSES: Final = RowMapping(EventStatus)
PROPOSALS: Final = RowMapping(Proposal)
_PROMPT_BLOCKS: Final = RowMapping(PromptBlock)
_LOREBOOKS: Final = RowMapping(ChapterLorebook)
_CONDENSED: Final = RowMapping(
    CondensedMemory,
    columns={"id": "condensed_id", "first": "from_prompt", "last": "to_prompt"},
    beside=["payload"],
)
