"""The rows of condensed memory and the domain, both ways. Pure: no connection, no clock."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from core.domain.audience import Audience
from core.domain.ids import BlockId, SessionId
from core.domain.story.condensed import CondensedMemory
from core.domain.story.memory import compact_json
from db.rows.mapping import Values


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
