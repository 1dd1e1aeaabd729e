"""Identifiers: UUIDs of version 7, which sort by creation time (design 4)."""

from typing import NewType
from uuid import UUID

SessionId = NewType("SessionId", UUID)
EventId = NewType("EventId", UUID)
BlockId = NewType("BlockId", UUID)
DraftId = NewType("DraftId", UUID)
RequestId = NewType("RequestId", UUID)
ArtifactId = NewType("ArtifactId", UUID)
CharacterId = NewType("CharacterId", UUID)
LorebookId = NewType("LorebookId", UUID)
BookId = NewType("BookId", UUID)
ProposalId = NewType("ProposalId", UUID)
ItemId = NewType("ItemId", UUID)
LogPlace = tuple[int, int, int]
"""Place of an event in the log: prompt index, take and ordinal."""


def new_uuid() -> UUID:
    """Return a new UUIDv7 as a plain `uuid.UUID`."""
    # Imported late: the package reads its own metadata at import, which takes 20 ms.
    from uuid6 import uuid7

    return UUID(int=uuid7().int)
