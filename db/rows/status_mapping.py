"""Maps the GM's statuses of events to rows, both ways. Pure: no connection, no clock."""

from collections.abc import Sequence
from typing import Any

from core.domain.ids import SessionId
from core.domain.story.context_status import ContextStatus, EventStatus, Statuses
from db.rows.mapping import Values


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
