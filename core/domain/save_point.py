"""A save slot is where a session stood, so that a new session can begin there (design 12).

The log, memory and drafts are append-only. So a slot holds only what changes (the session's row, tab 1, what
waits in the composers) and how far the rest had come, with a chained hash of it: it stays small however long
the story is, and the next one reads only what is new. Its SHA-256 is that of the canonical JSON of all this
and of what the list shows of it (number, label, time), and so vouches for every word of the story up to
there, and for what the GM chooses it by. A slot of an earlier program has the SHA-256 of its content alone,
and holds.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from core.domain.draft import NarrativeDraft
from core.domain.errors import ErrorCode, StorageError
from core.domain.event import Event
from core.domain.ids import SessionId
from core.domain.memory import MemoryBlock
from core.domain.session import Session, SessionState, Tab1Inputs
from core.domain.slot import Slot
from core.text.canonical_json import canonical, checksum

AUTOMATIC: Final = range(10)
"""Numbers of the ring that fills itself: at every summary, and before a reset, a restore or an import."""
NAMED: Final = range(10, 15)
"""Numbers of the slots that the GM names; nothing but the GM ever writes into them."""
LONGEST_LABEL: Final = 60
EMPTY_CHAIN: Final = "0" * 64
"""The chain of no rows at all."""

Growing = Event | MemoryBlock | NarrativeDraft

_LINK_FIELDS_V1: Final[Mapping[type[Growing], Any]] = {
    Event: {"id", "prompt_index", "ordinal", "role", "slot", "text", "created_at"},
    MemoryBlock: {"id", "type", "first", "last", "payload", "created_at"},
    NarrativeDraft: {
        **dict.fromkeys(("id", "version", "definition", "target_words", "model", "text", "created_at"), ...),
        "source": {"prompt_index", "block_ids"},
    },
}
_LINK_FIELDS: Final = {1: _LINK_FIELDS_V1}
"""What a link of each version stands for: nothing that a restored row does not share, or that may change.

A version is never changed: slots are stored with it. To vouch for one more field, add a version.
"""
LINKS: Final = max(_LINK_FIELDS)
"""The version of new links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """A hash over each of the three things that only grow, link by link in their order."""

    version: int = 1
    """Which fields a link stands for: a key of `_LINK_FIELDS`. What was stored without it has version 1."""
    events: str = EMPTY_CHAIN
    blocks: str = EMPTY_CHAIN
    drafts: str = EMPTY_CHAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SavePointContent:
    """Where a session stood."""

    session: Session
    tab1: Tab1Inputs
    unsent: Mapping[Slot, str]
    """What waited in the composers, prompts that were still open included."""
    draft_count: int
    chains: Chains
    corrections: int = 0
    """How many corrections of canon stood behind the newest lock or delta; their links are in the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavePoint:
    """One slot of a session; `document` is its content as it is stored, not yet checked."""

    session_id: SessionId
    number: int
    label: str
    """The GM's name for it, or for an automatic one what was about to happen."""
    taken_at: datetime
    prompt_index: int
    state: SessionState
    document: Mapping[str, object]
    sha256: str

    @property
    def is_named(self) -> bool:
        """Whether the GM named it, and so it stays until the GM lets it go."""
        return self.number in NAMED


class SlotDamagedError(StorageError):
    """What a slot stands for is not what it was when the slot was taken."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(
            ErrorCode.STORAGE_LOAD_FAILED,
            f"Save slot {number} cannot be used: {reason}; nothing was changed.",
            "Choose another slot, or go back to a backup.",
            is_transient=False,
        )


# Both are made when first needed: they take milliseconds, and the first paint waits for this module.
@cache
def _rows(kind: type[Growing]) -> TypeAdapter[Growing]:
    return TypeAdapter(kind)


@cache
def _contents() -> TypeAdapter[SavePointContent]:
    return TypeAdapter(SavePointContent)


def chained(chain: str, rows: Iterable[Growing], version: int = LINKS) -> str:
    """Return `chain` with one more link of `version` for each of `rows`."""
    for row in rows:
        link = hashlib.sha256(canonical(_plain(row, version))).digest()
        chain = hashlib.sha256(bytes.fromhex(chain) + link).hexdigest()
    return chain


def make_slot(number: int, label: str, content: SavePointContent, now: datetime) -> SavePoint:
    """Return the slot, with the SHA-256 of its content."""
    slot = SavePoint(
        session_id=content.session.id,
        number=number,
        label=label,
        taken_at=now,
        prompt_index=content.session.prompt_index,
        state=content.session.state,
        document=json.loads(_contents().dump_json(content)),
        sha256="",
    )
    return replace(slot, sha256=_sha256(_vouched_for(slot)))


def content_of(slot: SavePoint) -> SavePointContent:
    """Return what is in a slot; raise SlotDamagedError when it is not what was put there."""
    # What hashes as the one form is no hash of the other, so a newer slot does not pass for an older one.
    if slot.sha256 not in (_sha256(_vouched_for(slot)), _sha256(slot.document)):
        raise SlotDamagedError(slot.number, "its content does not match its checksum")
    try:
        content = _contents().validate_json(canonical(slot.document))
    except ValidationError as error:
        raise SlotDamagedError(slot.number, "another version of the program took it") from error
    if content.chains.version not in _LINK_FIELDS:
        raise SlotDamagedError(slot.number, "a newer version of the program took it")
    if content.session.id != slot.session_id:
        raise SlotDamagedError(slot.number, "it is of another chapter")
    if (slot.prompt_index, slot.state) != (content.session.prompt_index, content.session.state):
        raise SlotDamagedError(slot.number, "it is listed as something else than it holds")
    return content


def number_for_automatic(taken: Iterable[SavePoint], *, spared: int | None = None) -> int:
    """Return the number of the ring that is written next: a free one, else the oldest but `spared`."""
    ring = {slot.number: slot for slot in taken if slot.number in AUTOMATIC}
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


def _vouched_for(slot: SavePoint) -> dict[str, object]:
    """Return everything of a slot that must not change; the list reads the rest from its content."""
    return {
        "version": 2,
        "number": slot.number,
        "label": slot.label,
        "taken_at": slot.taken_at.astimezone(UTC).isoformat(),
        "document": slot.document,
    }


def _sha256(value: object) -> str:
    return checksum(canonical(value))
