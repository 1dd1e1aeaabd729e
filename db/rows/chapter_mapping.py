"""Rows of tab 1, prompt blocks, lore, condensed memory, statuses and proposals, and the domain, both ways."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from core.domain.agent_role import AgentRole
from core.domain.audience import Audience
from core.domain.ids import BlockId, CharacterId, ProposalId, RequestId, SessionId
from core.domain.proposal import Occasion, Proposal, ProposalState, ProposedPart
from core.domain.session.carry_over import NOTHING_CARRIED, CarriedLine, CarryKind, CarryOver
from core.domain.session.lore import ChapterLorebook, Lorebooks
from core.domain.session.profile import ADDED, Profile, Profiles
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, BlockPlace, PromptBlock, PromptBlocks
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import ContextStatus, EventStatus, Statuses
from core.domain.story.memory import compact_json
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
        blocks = tuple(map(_to_prompt_block, row.blocks))
    except (KeyError, TypeError) as error:
        raise ValueError("a prompt block has other fields than this program writes") from error
    return PromptBlocks(variant=row.variant, variants=tuple(row.variants), blocks=blocks)


def _to_prompt_block(block: Mapping[str, Any]) -> PromptBlock:
    return PromptBlock(
        id=block["id"],
        name=block["name"],
        text=block["text"],
        order=block["order"],
        place=BlockPlace(block["place"]),
        is_on=block["is_on"],
        variants=_listed(block, "variants"),
        slots=tuple(map(Slot, _listed(block, "slots"))),
        roles=tuple(map(AgentRole, _listed(block, "roles"))),
    )


def _listed(block: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """Return the entries of a list; raise TypeError for a string, which would become its letters."""
    if not isinstance(block[name], list):
        raise TypeError(f"{name} is not a list")
    return tuple(block[name])


_SHARED: Final = ("name", "entry_count", "file_hash", "copy_hash", "copy_length", "seed")


def lore_values(session_id: SessionId, books: Lorebooks) -> list[Values]:
    """Return the rows of the lorebooks, numbered from 1."""
    return [
        {
            "session_id": session_id,
            "number": number,
            "groups": list(book.groups),
            "owner": book.owner,
            "label": book.label.mask,
            **{name: getattr(book, name) for name in _SHARED},
        }
        for number, book in enumerate(books, start=1)
    ]


def to_lore(rows: Sequence[Mapping[str, Any]] | None) -> Lorebooks:
    """Return the lorebooks of rows in their order."""
    return tuple(
        ChapterLorebook(
            groups=tuple(row["groups"]),
            owner=None if row["owner"] is None else Slot(row["owner"]),
            label=Audience.of_mask(row["label"]),
            **{name: row[name] for name in _SHARED},
        )
        for row in rows or ()
    )


def condensed_values(one: CondensedMemory) -> Values:
    """Return the row of one block."""
    return {
        "session_id": one.session_id,
        "condensed_id": one.id,
        "from_prompt": one.first,
        "to_prompt": one.last,
        "audience": one.audience.mask,
        "sources": list(one.sources),
        "json_text": compact_json(one.payload),
        "created_at": one.created_at,
    }


def to_condensed(rows: Sequence[Mapping[str, Any]] | None) -> tuple[CondensedMemory, ...]:
    """Return the blocks of rows that were read as JSON."""
    return tuple(
        CondensedMemory(
            id=BlockId(UUID(row["condensed_id"])),
            session_id=SessionId(UUID(row["session_id"])),
            first=row["from_prompt"],
            last=row["to_prompt"],
            audience=Audience.of_mask(row["audience"]),
            sources=tuple(BlockId(UUID(source)) for source in row["sources"]),
            payload=json.loads(row["json_text"]),
            created_at=datetime.fromisoformat(row["created_at"]),
        )
        for row in rows or ()
    )


def status_values(session_id: SessionId, one: EventStatus) -> Values:
    """Return the row of the status of an event."""
    place = {"prompt_index": one.prompt_index, "take": one.take, "ordinal": one.ordinal}
    return {"session_id": session_id, **place, "status": one.status.value}


def to_statuses(rows: Sequence[Sequence[Any]] | None) -> Statuses:
    """Return the statuses of rows in their order, each with its place and what was said."""
    return tuple(
        EventStatus(prompt_index, take, ordinal, ContextStatus(status))
        for prompt_index, take, ordinal, status in rows or ()
    )


_PLAIN = ("id", "character_id", "why", "session_id", "request_id", "prompt_index", "created_at", "settled_at")


def proposal_values(proposal: Proposal) -> Values:
    """Return the row of a proposal."""
    return {
        **{name: getattr(proposal, name) for name in _PLAIN},
        "part": proposal.part.value,
        "occasion": proposal.occasion.value,
        "state": proposal.state.value,
        "before": [dict(record) for record in proposal.before],
        "after": [dict(record) for record in proposal.after],
    }


def to_proposal(row: Any) -> Proposal:
    """Return the proposal of a row."""
    values = {name: getattr(row, name) for name in _PLAIN}
    values |= {
        "id": ProposalId(row.id),
        "character_id": CharacterId(row.character_id),
        "session_id": None if row.session_id is None else SessionId(row.session_id),
        "request_id": None if row.request_id is None else RequestId(row.request_id),
    }
    return Proposal(
        **values,
        part=ProposedPart(row.part),
        occasion=Occasion(row.occasion),
        state=ProposalState(row.state),
        before=tuple(row.before),
        after=tuple(row.after),
    )
