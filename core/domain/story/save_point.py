"""Save points: stored states of a session from which a new session can begin (design 12).

The log, memory and drafts are append-only. So a save point contains only what changes (the session's row, tab
1, the composers), the lengths of the rest, and a hash chain over it: it stays small however long the story
is, and the next one reads only new rows. Its SHA-256 covers the canonical JSON of all this, and of its
number, label and time, so it protects every word of the story and what the list shows. Save points of an
earlier version have the SHA-256 of their content only, and remain valid.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from operator import not_
from typing import Annotated, Any, Final, cast

from pydantic import Field, TypeAdapter, ValidationError

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.session.lore import Lorebooks
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.context_status import Statuses
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Secret
from core.text.canonical_json import canonical, checksum

AUTOMATIC: Final = range(10)
"""Numbers of the automatic ring: one at every summary, and before a reset, a restore or an import."""
NAMED: Final = range(10, 15)
"""Numbers of the save points that the GM names; only the GM replaces them."""
LONGEST_LABEL: Final = 60
EMPTY_CHAIN: Final = "0" * 64
"""The hash chain of zero rows."""

Growing = Event | MemoryBlock | NarrativeDraft

_LINK_FIELDS_V1: Final[Mapping[type[Growing], Any]] = {
    Event: {"id", "prompt_index", "ordinal", "role", "slot", "text", "created_at"},
    MemoryBlock: {"id", "type", "first", "last", "payload", "created_at"},
    NarrativeDraft: {
        **dict.fromkeys(("id", "version", "definition", "target_words", "model", "text", "created_at"), ...),
        "source": {"prompt_index", "block_ids"},
    },
}
_LINK_FIELDS_V2: Final[Mapping[type[Growing], Any]] = {
    Event: {*_LINK_FIELDS_V1[Event], "audience"},
    MemoryBlock: {*_LINK_FIELDS_V1[MemoryBlock], "audience"},
    NarrativeDraft: _LINK_FIELDS_V1[NarrativeDraft],
}
_LINK_FIELDS: Final = {1: _LINK_FIELDS_V1, 2: _LINK_FIELDS_V2}
"""The fields that a link of each version covers: only those that stay the same, also in a restored row.

A version is never changed, because save points are stored with it. To cover one more field, add a version.
"""
LINKS: Final = max(_LINK_FIELDS)
"""The version of new links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """Hash chains over events, blocks and drafts, one link for each row in order."""

    version: int = 1
    """The key in `_LINK_FIELDS`; save points stored without one have version 1."""
    events: str = EMPTY_CHAIN
    blocks: str = EMPTY_CHAIN
    drafts: str = EMPTY_CHAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SavePointContent:
    """The stored state of a session."""

    session: Session
    tab1: Tab1Inputs
    unsent: Mapping[Slot, str]
    """The texts in the composers, including prompts that were still open."""
    draft_count: int
    chains: Chains
    corrections: int = 0
    """The ordinal of the last block of memory that ends at the boundary; its link is in the chain."""
    prompt_blocks: Annotated[PromptBlocks, Field(exclude_if=not_)] = NO_PROMPT_BLOCKS
    secrets: Annotated[tuple[Secret, ...], Field(exclude_if=not_)] = ()
    lore: Annotated[Lorebooks, Field(exclude_if=not_)] = ()
    """The lorebooks; their copies stay with the session, which deletes none."""
    statuses: Annotated[Statuses, Field(exclude_if=not_)] = ()
    """The GM's status of events: whether models are sent them."""
    lines: Annotated[int, Field(exclude_if=not_)] = 0
    """The number of lines and further replies at the last prompt; those added later are not part of it."""
    takes: Mapping[int, int] = field(default_factory=dict)
    """The take that was canon at each prompt at which it was not the first one."""
    revisions: tuple[tuple[int, int, int], ...] = ()
    """The places of memory, with the revision that was canon there, where it was not the first one.

    A revision of 0 says that no block at the place was canon, although there was one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SavePoint:
    """One save point of a session; `document` is its content as stored, not yet validated."""

    session_id: SessionId
    number: int
    label: str
    """The GM's name for it, or the occasion of an automatic one."""
    taken_at: datetime
    prompt_index: int
    state: SessionState
    document: Mapping[str, object]
    sha256: str

    @property
    def is_named(self) -> bool:
        """Whether the GM named it: only the GM deletes it."""
        return self.number in NAMED


class SavePointDamagedError(StorageError):
    """A save point, or the story that it covers, was changed after it was stored."""

    def __init__(self, number: int, reason: str) -> None:
        self.reason = reason
        super().__init__(
            ErrorCode.STORAGE_LOAD_FAILED,
            f"Save slot {number} cannot be used: {reason}; nothing was changed.",
            "Choose another slot, or go back to a backup.",
            is_transient=False,
        )


# Created on first use: they take milliseconds, and the first paint waits for this module.
@cache
def _rows(kind: type[Growing]) -> TypeAdapter[Growing]:
    return TypeAdapter(kind)


@cache
def _contents() -> TypeAdapter[SavePointContent]:
    return TypeAdapter(SavePointContent)


def chained(chain: str, rows: Iterable[Growing], version: int = LINKS) -> str:
    """Return `chain` extended by a link of `version` for each row."""
    for row in rows:
        link = hashlib.sha256(canonical(_plain(row, version))).digest()
        chain = hashlib.sha256(bytes.fromhex(chain) + link).hexdigest()
    return chain


def events_at(content: SavePointContent, log: Iterable[Event], until: datetime | None = None) -> list[Event]:
    """Return those events of `log` that were canon at a save point, in order.

    With `until` none that were added to a prompt later, as to one that was the newest again after an undo.
    """
    last = content.session.prompt_index
    events: list[Event] = []
    lines = 0
    for event in log:
        if event.take != content.takes.get(event.prompt_index, 1):
            continue
        if until is not None and event.is_added and event.created_at > until:
            continue
        if event.prompt_index == last and event.is_added:
            lines += 1
            if lines > content.lines:
                continue
        events.append(event)
    return events


def lines_after(events: Iterable[Event], last: int) -> int:
    """Return how many lines and further replies `events` have at prompt `last`."""
    return sum(event.prompt_index == last and event.is_added for event in events)


def memory_at(content: SavePointContent, blocks: Iterable[MemoryBlock]) -> list[MemoryBlock]:
    """Return the memory of a save point in order, given every block of its session, canon or not.

    Where memory of several prompts was begun and then made of fewer, a delta of the former may have the place
    and the revision of a later one, or follow one that begins later: it was never canon.
    """
    in_order = sorted(blocks, key=lambda block: block.first)
    found = {(*block.place, block.revision): block for block in in_order}
    revisions = {(last, ordinal): revision for last, ordinal, revision in content.revisions}

    def block_at(last: int, ordinal: int, first: int = 0) -> MemoryBlock | None:
        block = found.get((last, ordinal, revisions.get((last, ordinal), 1)))
        return None if block is None or block.first < first else block

    memory: list[MemoryBlock] = []
    block = block_at(content.session.boundary, 0) if content.session.tab1_locked else None
    most: float = content.corrections
    while block is not None:
        corrections: list[MemoryBlock] = []
        while len(corrections) < most:
            following = block_at(block.last, len(corrections) + 1, block.first)
            if following is None:
                break
            corrections.append(following)
        memory = [block, *corrections, *memory]
        block, most = block_at(block.first - 1, 0), float("inf")
    return memory


def make_save_point(number: int, label: str, content: SavePointContent, now: datetime) -> SavePoint:
    """Return the save point with its SHA-256."""
    point = SavePoint(
        session_id=content.session.id,
        number=number,
        label=label,
        taken_at=now,
        prompt_index=content.session.prompt_index,
        state=content.session.state,
        document=json.loads(_contents().dump_json(content)),
        sha256="",
    )
    return replace(point, sha256=_sha256(_hashed_fields(point)))


def content_of(point: SavePoint) -> SavePointContent:
    """Return the content of a save point; raise SavePointDamagedError when it was changed."""
    # No document hashes to both forms, so a newer save point is never accepted as an older one.
    if point.sha256 not in (_sha256(_hashed_fields(point)), _sha256(point.document)):
        raise SavePointDamagedError(point.number, "its content does not match its checksum")
    try:
        content = _contents().validate_json(canonical(point.document))
    except ValidationError as error:
        raise SavePointDamagedError(point.number, "another version of the program took it") from error
    if content.chains.version not in _LINK_FIELDS:
        raise SavePointDamagedError(point.number, "a newer version of the program took it")
    if content.session.id != point.session_id:
        raise SavePointDamagedError(point.number, "it is of another chapter")
    if (point.prompt_index, point.state) != (content.session.prompt_index, content.session.state):
        raise SavePointDamagedError(point.number, "it is listed as something else than it holds")
    return content


def number_for_automatic(taken: Iterable[SavePoint], *, spared: int | None = None) -> int:
    """Return the next number of the automatic ring: a free one, else that of the oldest but `spared`."""
    ring = {point.number: point for point in taken if point.number in AUTOMATIC}
    for number in AUTOMATIC:
        if number not in ring:
            return number
    return min(
        (number for number in AUTOMATIC if number != spared),
        key=lambda number: (ring[number].taken_at, number),
    )


def _plain(row: Growing, version: int) -> dict[str, Any]:
    moment = replace(row, created_at=row.created_at.astimezone(UTC))
    fields = _LINK_FIELDS[version][type(row)]
    return cast(
        "dict[str, Any]", _rows(cast("Any", type(row))).dump_python(moment, mode="json", include=fields)
    )


def _hashed_fields(point: SavePoint) -> dict[str, object]:
    """Return all fields of a save point that its hash covers; the others repeat its content."""
    return {
        "version": 2,
        "number": point.number,
        "label": point.label,
        "taken_at": point.taken_at.astimezone(UTC).isoformat(),
        "document": point.document,
    }


def _sha256(value: object) -> str:
    return checksum(canonical(value))
