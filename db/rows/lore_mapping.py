"""The rows of a chapter's lorebooks and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.domain.audience import Audience
from core.domain.ids import SessionId
from core.domain.session.lore import ChapterLorebook, Lorebooks
from core.domain.slot import Slot
from db.rows.mapping import Values

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
