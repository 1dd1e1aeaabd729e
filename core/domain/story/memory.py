"""Structured memory: the JSON objects of agents 0 and 8, with the keys of the seed, and their blocks.

The pydantic models give the JSON schema for requests and validate the answers. Unknown keys are kept. The
lengths of texts and lists are checked apart from the schema: see `Bounds`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import ndiff
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import BlockId, SessionId
from core.domain.session.limits import LONGEST_CORRECTION

Phrase = str
Phrases = list[Phrase]
_MOST_DIGITS: Final = 10
MemoryPlace = tuple[int, int]
"""Place of a block in memory: its last prompt, and its ordinal among those of that prompt."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The maximum length of a text and of a list in memory."""

    phrase: int
    entries: int

    def exceeded_by(self, value: object, path: str = "") -> Iterator[str]:
        """Yield a line for every text or list in `value`, at any depth, that is too long."""
        if isinstance(value, str) and len(value) > self.phrase:
            yield f"{path[:80]}: {len(value):,} characters; write at most {self.phrase:,}"
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from self.exceeded_by(inner, f"{path}.{key}" if path else str(key))
        elif isinstance(value, list | tuple):
            if len(value) > self.entries:
                yield f"{path[:80]}: {len(value):,} entries; write at most {self.entries:,}"
            for number, inner in enumerate(value):
                yield from self.exceeded_by(inner, f"{path}.{number}")


SMALL_BOUNDS = Bounds(phrase=400, entries=16)
"""For very small models, which repeat themselves until the output is cut: longer memory is refused."""
WIDE_BOUNDS = Bounds(phrase=2_000, entries=64)
"""For all other models, which are asked once to write less."""


class _Memory(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


SECTION_TITLES: Final = {
    "world": "World",
    "chapter": "Chapter",
    "agents": "Cast",
    "canon_locks": "Canon",
    "assumptions": "Assumed",
    "location_updates": "Where",
    "major_events": "What happened",
    "character_actions": "Who did what",
    "state_changes": "What changed",
    "relationship_shifts": "Between them",
    "items_clues_discovered": "Found",
    "unresolved_threads": "Still open",
    "contradictions_or_questions": "Questions",
}
"""The sections of a payload as the GM reads them, wherever one is named."""


class World(_Memory):
    """Facts that are true everywhere in the story."""

    genre: Phrase
    tone: Phrase
    themes: Phrases
    rules_of_reality: Phrases
    factions_or_powers: Phrases
    key_lore: Phrases
    safety_or_boundaries: Phrases


class Chapter(_Memory):
    """The situation at the beginning of the chapter."""

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
    name: str


class WorldChapterLock(_Memory):
    """The first memory block, written by agent 0 when tab 1 is locked."""

    memory_type: Literal["world_chapter_lock"]
    world: World
    chapter: Chapter
    agents: Annotated[list[RosterEntry], Field(max_length=7)]
    canon_locks: Phrases
    assumptions: Phrases


class DeltaRange(_Memory):
    """The prompts that a delta covers."""

    from_marker: str
    to_marker: str
    prompt_count_in_chunk: Annotated[int, Field(ge=1)]


class LocationUpdates(_Memory):
    """The current location of the characters."""

    where: Phrase
    notable_environment_changes: Phrases


class MajorEvent(_Memory):
    """Something that happened, with its cause and its effect."""

    event: Phrase
    cause: Phrase
    effect: Phrase
    participants: Phrases


class CharacterAction(_Memory):
    """An action of one character; slot 0 is someone outside the cast."""

    agent_slot: Annotated[int, Field(ge=0, le=7)]
    name: str
    did: Phrase
    intent: Phrase
    result: Phrase


class StateChange(_Memory):
    """Something that changed."""

    key: Phrase
    before: Phrase
    after: Phrase
    notes: Phrase


class RelationshipShift(_Memory):
    """A change in a relationship."""

    between: Annotated[list[Phrase], Field(min_length=2)]
    change: Phrase
    evidence: Phrase


class Discovery(_Memory):
    """An item or a clue."""

    thing: Phrase
    who_found: Phrase
    why_it_matters: Phrase


class UnresolvedThread(_Memory):
    """A plot thread that is still open."""

    thread: Phrase
    stakes: Phrase
    next_likely_trigger: Phrase


class TurnDelta(_Memory):
    """Canon added by a chunk of prompts, written by agent 8."""

    memory_type: Literal["turn_delta"]
    range: DeltaRange
    location_updates: LocationUpdates
    major_events: list[MajorEvent]
    character_actions: list[CharacterAction]
    state_changes: list[StateChange]
    relationship_shifts: list[RelationshipShift]
    items_clues_discovered: list[Discovery]
    unresolved_threads: list[UnresolvedThread]
    canon_locks: Phrases
    contradictions_or_questions: Phrases


class Markers(_Memory):
    """The prompts that a correction is about."""

    from_marker: str
    to_marker: str


class CanonCorrection(_Memory):
    """A correction by the GM; it has precedence over all memory and prompts before it."""

    memory_type: Literal["canon_correction"]
    made_after: str
    corrects: Markers | None = None
    """Read where a file has it; this program writes none."""
    correction: Annotated[str, Field(min_length=1, max_length=LONGEST_CORRECTION)]


class BlockType(StrEnum):
    """The kinds of memory block."""

    WORLD_CHAPTER_LOCK = "world_chapter_lock"
    TURN_DELTA = "turn_delta"
    CANON_CORRECTION = "canon_correction"
    CARRY_OVER = "carry_over"
    """Lines from earlier chapters. It is made of tab 1 for each input, and never stored."""
    CONDENSED = "condensed"
    """Several deltas in one (`core.domain.story.condensed`), for inputs; it is stored apart from blocks."""


_OF_INPUTS: Final = (BlockType.CARRY_OVER, BlockType.CONDENSED)
STORED_TYPES: Final = tuple(kind for kind in BlockType if kind not in _OF_INPUTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    """One JSON object of structured memory; append-only.

    The lock covers no prompts: its range is 0 to 0. A chunk that was not witnessed by the same characters
    has a delta for each audience: that of the widest has `ordinal` 0, and private ones follow it. A
    correction covers no prompts either: `first` and `last` are the boundary when it was made. `ordinal`
    numbers all that ends at one boundary. `payload` is the validated object,
    its keys in the model's order. `json_text` is the text it was parsed from; empty if that is the compact
    JSON of `payload`.
    """

    id: BlockId
    session_id: SessionId
    type: BlockType
    first: int
    last: int
    payload: Mapping[str, object]
    created_at: datetime
    json_text: str = ""
    ordinal: int = 0
    revision: int = 1
    """Grows with `Session.canon_version`, so two blocks about the same prompts never have the same one."""
    made_from: BlockId | None = None
    """The block before it when it was made; None where that is not known or there was none."""
    is_by_gm: bool = False
    """Whether the GM edited it; otherwise a model wrote it, but for corrections."""
    audience: Audience = EVERYONE
    """Its label: only those in it may know it (design 13)."""

    @property
    def place(self) -> MemoryPlace:
        """The sort key of memory: blocks are added and read in this order."""
        return self.last, self.ordinal

    @property
    def corrects_after(self) -> int:
        """The prompt after which this correction was made; 0 before the first, and where it says none."""
        marker = str(self.payload.get("made_after", "")).rstrip(")")
        # A file may have any text there, also digits that are no number, or more than one can have.
        return int(marker) if marker.isdecimal() and len(marker) <= _MOST_DIGITS else 0


def correction_payload(text: str, made_after: int) -> dict[str, object]:
    """Return the payload of a correction made after prompt `made_after` (0: before the first)."""
    return {
        "memory_type": BlockType.CANON_CORRECTION.value,
        "made_after": f"{made_after})" if made_after else "",
        "correction": text,
    }


def corrections_length(blocks: Iterable[MemoryBlock]) -> int:
    """Return the total number of characters of the corrections in `blocks`."""
    return sum(
        len(str(block.payload.get("correction", "")))
        for block in blocks
        if block.type is BlockType.CANON_CORRECTION
    )


def lock_key(lock: str) -> str:
    """Return what two wordings of the same canon lock have in common."""
    return " ".join(lock.casefold().split())


def compact_json(value: object) -> str:
    """Return `value` as JSON without spaces and without escapes for other scripts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def compared(before: MemoryBlock, after: MemoryBlock) -> list[str]:
    """Return two revisions line by line: "- " is only in `before`, "+ " only in `after`, "  " in both."""
    old, new = (
        json.dumps(block.payload, ensure_ascii=False, indent=2).splitlines() for block in (before, after)
    )
    return [line for line in ndiff(old, new) if not line.startswith("?")]


def is_full(block: MemoryBlock) -> bool:
    """Whether the payload is complete, rather than reduced to its canon."""
    return block.type is not BlockType.TURN_DELTA or "range" in block.payload


def compact_old_deltas(blocks: Sequence[MemoryBlock], full_deltas_from: int) -> tuple[MemoryBlock, ...]:
    """Return memory for model inputs, with deltas up to prompt `full_deltas_from` reduced to their canon.

    Old deltas without canon are dropped, except the first: an input says from where on deltas were left out.
    No budget reaches back that far, and the session's use of memory stays bounded.
    """
    return tuple(
        canon_of(block) if _is_old(block, full_deltas_from) and is_full(block) else block
        for block in blocks
        if not _is_old(block, full_deltas_from) or block.first == 1 or block.payload.get("canon_locks")
    )


def _is_old(block: MemoryBlock, full_deltas_from: int) -> bool:
    return block.type is BlockType.TURN_DELTA and block.first <= full_deltas_from


def canon_of(block: MemoryBlock) -> MemoryBlock:
    """Return the block reduced to its canon, with the key order of model inputs."""
    canon = {"memory_type": block.type.value, "canon_locks": block.payload.get("canon_locks", [])}
    return replace(block, payload=canon, json_text="")


def without_empty(value: object) -> object:
    """Return `value` without empty strings, lists and objects at any depth, as model inputs have it."""
    if isinstance(value, Mapping):
        pruned = {key: without_empty(inner) for key, inner in value.items()}
        return {key: inner for key, inner in pruned.items() if inner not in ("", [], {}, None)}
    if isinstance(value, list | tuple):
        return [inner for inner in map(without_empty, value) if inner not in ("", [], {}, None)]
    return value
