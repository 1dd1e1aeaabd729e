"""Reads the lorebooks of a chapter when an input needs them: a chapter opens without them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import Content
from core.domain.session.lore import Lorebooks
from core.storage.call_store import CallStore
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from core.library.lore.book import Lorebook


async def with_lore(store: SessionStore, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with its lorebooks known, which is at once where there are none.

    What was read before is not read again. Raises StorageError for a copy that cannot be read.
    """
    if snapshot.is_lore_known:
        return snapshot
    session_id, known = snapshot.session.id, snapshot.lore_books
    wanted = {one.copy_hash for one in snapshot.lore}
    texts = await store.calls.contents(session_id, wanted - known.keys()) if wanted - known.keys() else {}
    books = {**known, **await asyncio.to_thread(_read, texts)}
    if missing := [one.name for one in snapshot.lore if one.copy_hash not in books]:
        raise StorageError(
            ErrorCode.STORAGE_LOAD_FAILED,
            f"The lorebook “{missing[0]}” of this chapter cannot be read.",
            "Detach it, or attach it again.",
            is_transient=False,
        )
    uses = snapshot.lore_uses
    if uses is None:
        uses = tuple(await store.lore_uses(session_id))
    return replace(snapshot, lore_books={one: books[one] for one in wanted}, lore_uses=uses)


async def copies_of_lore(calls: CallStore, session_id: SessionId, books: Lorebooks) -> tuple[Content, ...]:
    """Return the copies of the lorebooks of a session; nothing, and at once, where there are none."""
    if not books:
        return ()
    texts = await calls.contents(session_id, {book.copy_hash for book in books})
    return tuple(Content(copy_hash, text) for copy_hash, text in sorted(texts.items()))


def _read(texts: Mapping[str, str]) -> dict[str, "Lorebook"]:
    from core.library.card_lore import read_copy
    from core.library.refusal import FileRefusedError

    books = {}
    for copy_hash, text in texts.items():
        try:
            books[copy_hash] = read_copy(text)
        except FileRefusedError:
            continue  # The caller says which book it is.
    return books
