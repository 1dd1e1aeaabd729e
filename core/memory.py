"""Structured memory: the JSON objects of agents 0 and 8, with the keys of the seed, and their blocks.

The models serve three ends: the JSON schema that a model is held to, the check of what it returned,
and the compact form in which memory goes into later inputs. Small models need every string and every
array bounded, or they run on until their output is cut; the bounds here are wide for any good one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from core.ids import BlockId, SessionId

Phrase = Annotated[str, StringConstraints(max_length=400)]
Phrases = Annotated[list[Phrase], Field(max_length=16)]


class _Memory(BaseModel):
    model_config = ConfigDict(extra="forbid")


class World(_Memory):
    """What holds everywhere in the story."""

    genre: Phrase
    tone: Phrase
    themes: Phrases
    rules_of_reality: Phrases
    factions_or_powers: Phrases
    key_lore: Phrases
    safety_or_boundaries: Phrases


class Chapter(_Memory):
    """Where this chapter begins."""

    premise: Phrase
    location: Phrase
    time: Phrase
    environment: Phrases
    active_threats: Phrases
    open_mysteries: Phrases
    chapter_goals: Phrases


class RosterEntry(_Memory):
    """One character of the cast."""

    slot: Annotated[int, Field(ge=1, le=7)]
    color: Literal["red", "orange", "yellow", "green", "blue", "indigo", "violet"]
    name: Annotated[str, StringConstraints(max_length=40)]


class WorldChapterLock(_Memory):
    """The first memory block, made by agent 0 when tab 1 is locked."""

    memory_type: Literal["world_chapter_lock"]
    world: World
    chapter: Chapter
    agents: Annotated[list[RosterEntry], Field(max_length=7)]
    canon_locks: Phrases
    assumptions: Phrases


class DeltaRange(_Memory):
    """Which prompts a delta covers."""

    from_marker: Annotated[str, StringConstraints(max_length=40)]
    to_marker: Annotated[str, StringConstraints(max_length=40)]
    prompt_count_in_chunk: Annotated[int, Field(ge=1)]


class LocationUpdates(_Memory):
    """Where the characters are now."""

    where: Phrase
    notable_environment_changes: Phrases


class MajorEvent(_Memory):
    """Something that happened, with its cause and its effect."""

    event: Phrase
    cause: Phrase
    effect: Phrase
    participants: Phrases


class CharacterAction(_Memory):
    """What one character did."""

    agent_slot: Annotated[int, Field(ge=1, le=7)]
    name: Annotated[str, StringConstraints(max_length=40)]
    did: Phrase
    intent: Phrase
    result: Phrase


class StateChange(_Memory):
    """Something that is now otherwise than before."""

    key: Phrase
    before: Phrase
    after: Phrase
    notes: Phrase


class RelationshipShift(_Memory):
    """A change between two."""

    between: Annotated[list[Phrase], Field(min_length=2, max_length=2)]
    change: Phrase
    evidence: Phrase


class Discovery(_Memory):
    """An item or a clue."""

    thing: Phrase
    who_found: Phrase
    why_it_matters: Phrase


class UnresolvedThread(_Memory):
    """Something that is still open."""

    thread: Phrase
    stakes: Phrase
    next_likely_trigger: Phrase


class TurnDelta(_Memory):
    """What a chunk of prompts added to canon, made by agent 8."""

    memory_type: Literal["turn_delta"]
    range: DeltaRange
    location_updates: LocationUpdates
    major_events: Annotated[list[MajorEvent], Field(max_length=14)]
    character_actions: Annotated[list[CharacterAction], Field(max_length=14)]
    state_changes: Annotated[list[StateChange], Field(max_length=14)]
    relationship_shifts: Annotated[list[RelationshipShift], Field(max_length=14)]
    items_clues_discovered: Annotated[list[Discovery], Field(max_length=14)]
    unresolved_threads: Annotated[list[UnresolvedThread], Field(max_length=14)]
    canon_locks: Phrases
    contradictions_or_questions: Phrases


class BlockType(StrEnum):
    """The two kinds of memory block."""

    WORLD_CHAPTER_LOCK = "world_chapter_lock"
    TURN_DELTA = "turn_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    """One JSON object of structured memory; append-only.

    The lock covers no prompts: its range is 0 to 0. `payload` is what validated, as it was returned.
    """

    id: BlockId
    session_id: SessionId
    type: BlockType
    first: int
    last: int
    payload: Mapping[str, object]
    created_at: datetime


def is_whole(block: MemoryBlock) -> bool:
    """Whether the payload has everything that validated, and not its canon alone."""
    return block.type is BlockType.WORLD_CHAPTER_LOCK or "range" in block.payload


def folded(blocks: Sequence[MemoryBlock], whole_from: int) -> tuple[MemoryBlock, ...]:
    """Return the memory that inputs are made of: of deltas up to prompt `whole_from` only their canon.

    One of these without canon goes, but for the first, so that what was left out can be named from its
    beginning. No budget reaches back that far, and a session takes no more room than it did.
    """
    return tuple(
        _canon_of(block) if _is_old(block, whole_from) and is_whole(block) else block
        for block in blocks
        if not _is_old(block, whole_from) or block.first == 1 or block.payload.get("canon_locks")
    )


def _is_old(block: MemoryBlock, whole_from: int) -> bool:
    return block.type is BlockType.TURN_DELTA and block.first <= whole_from


def _canon_of(block: MemoryBlock) -> MemoryBlock:
    canon = {"memory_type": block.type.value, "canon_locks": block.payload.get("canon_locks", [])}
    return replace(block, payload=canon)


def without_empty(value: object) -> object:
    """Return `value` without empty strings, lists and objects at any depth: memory as models see it."""
    if isinstance(value, Mapping):
        pruned = {key: without_empty(inner) for key, inner in value.items()}
        return {key: inner for key, inner in pruned.items() if inner not in ("", [], {}, None)}
    if isinstance(value, list | tuple):
        return [inner for inner in map(without_empty, value) if inner not in ("", [], {}, None)]
    return value
