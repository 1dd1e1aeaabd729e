"""The library in PostgreSQL; `LibraryStore` is the contract of each method."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.errors import ChangedElsewhereError, RowRefusedError, StorageError
from core.domain.ids import BookId, CharacterId, LorebookId, SessionId
from core.domain.proposal import Proposal, ProposalState
from core.library.book import Book
from core.library.characters.character import KeptFile, LibraryCharacter
from core.library.lore.kept import KeptLorebook
from core.storage.changes import Changes
from core.storage.library_store import DECIDED, LibraryCounts
from db.errors import DEADLINE, LOAD, SAVE
from db.library import library_mapping as mapping
from db.rows.chapter_mapping import PROPOSALS
from db.rows.row_mapping import Values
from db.tables import (
    BOOK,
    BOOK_CHAPTER,
    CAST_CARD,
    CAST_MEMBER,
    CAST_NAME,
    CAST_PROPOSAL,
    CAST_TOPIC,
    CAST_TRAIT,
    LOREBOOK,
)
from db.transactions import Transactions
from db.writes.commit_statement import LONG_TIMEOUT, creation, deadline_of

T = TypeVar("T")
_WITHOUT_FILE: Final = [column for column in LOREBOOK.c if column.name != "content"]


class PostgresLibrary:
    """Characters, lorebooks and books."""

    def __init__(self, transactions: Transactions) -> None:
        self._database: Final = transactions

    async def counts(self) -> LibraryCounts:
        """Return how much the library has."""
        counted = (
            select(func.count()).select_from(table).where(table.c.archived_at.is_(None)).scalar_subquery()
            for table in (BOOK, CAST_MEMBER, LOREBOOK)
        )
        query = select(*counted)
        [row] = await self._database.rows(query)
        return LibraryCounts(*row)

    async def characters(self, *, is_archived: bool = False) -> Sequence[LibraryCharacter]:
        """Return the characters by their names."""

        async def work(connection: AsyncConnection) -> Sequence[LibraryCharacter]:
            rows = list(await connection.execute(_listed(CAST_MEMBER, is_archived=is_archived)))
            ids = [row.id for row in rows]
            traits = await _parts(connection, CAST_TRAIT, ids)
            topics = await _parts(connection, CAST_TOPIC, ids)
            found = [mapping.to_character(row, traits[row.id], topics[row.id]) for row in rows]
            return sorted(found, key=lambda one: (one.name.casefold(), one.id))

        return await self._database.read(work)

    async def card_of(self, character_id: CharacterId) -> KeptFile | None:
        """Return the file that a character came from, if it came from one."""
        query = select(CAST_CARD).where(CAST_CARD.c.character_id == character_id)
        return await self._database.read(lambda connection: _file(connection, query))

    async def put_character(self, character: LibraryCharacter, *, card: KeptFile | None = None) -> None:
        """Store a character; see `LibraryStore.put_character`."""

        async def work(connection: AsyncConnection) -> None:
            await _put_character(connection, character)
            if card is not None:
                await connection.execute(delete(CAST_CARD).where(CAST_CARD.c.character_id == character.id))
                values = {"character_id": character.id, **mapping.file_values(card)}
                await connection.execute(insert(CAST_CARD).values(values))

        await self._stored(work, f"Another character is called “{character.name}” or has its other names.")

    async def purge_character(self, character_id: CharacterId) -> None:
        """Delete an archived character and its card."""
        await self._purge(CAST_MEMBER, character_id, "character")

    async def proposals(
        self, character_id: CharacterId | None = None, *, is_open: bool = True
    ) -> Sequence[Proposal]:
        """Return what is proposed, oldest first; see `LibraryStore.proposals`."""
        query = select(CAST_PROPOSAL).order_by(CAST_PROPOSAL.c.id)
        if character_id is not None:
            query = query.where(CAST_PROPOSAL.c.character_id == character_id)
        else:
            here = select(CAST_MEMBER.c.id).where(CAST_MEMBER.c.archived_at.is_(None))
            query = query.where(CAST_PROPOSAL.c.character_id.in_(here))
        if is_open:
            query = query.where(CAST_PROPOSAL.c.state == ProposalState.OPEN.value)
        rows = await self._database.rows(query)
        return list(map(PROPOSALS.record, rows))

    async def settle_proposals(
        self, proposals: Sequence[Proposal], *, character: LibraryCharacter | None = None
    ) -> None:
        """Store what the GM decided; see `LibraryStore.settle_proposals`."""

        async def work(connection: AsyncConnection) -> None:
            for one in proposals:
                values = PROPOSALS.values(one)
                # What is open is decided once, and what was decided is opened again.
                was_open = CAST_PROPOSAL.c.state == ProposalState.OPEN.value
                change = update(CAST_PROPOSAL).where(
                    CAST_PROPOSAL.c.id == one.id, ~was_open if one.is_open else was_open
                )
                change = change.values(state=values["state"], settled_at=values["settled_at"])
                if (await connection.execute(change.returning(CAST_PROPOSAL.c.id))).one_or_none() is None:
                    raise StorageError(SAVE, DECIDED, "Look at it again.", is_transient=False)
            if character is not None:
                await _put_character(connection, character)

        await self._database.change(work)

    async def lorebooks(self, *, is_archived: bool = False) -> Sequence[KeptLorebook]:
        """Return the lorebooks by their names, without their files."""
        query = _listed(LOREBOOK, is_archived=is_archived).with_only_columns(*_WITHOUT_FILE)
        rows = await self._database.rows(query)
        return sorted(map(mapping.to_lorebook, rows), key=lambda one: (one.name.casefold(), one.id))

    async def lore_file(self, lorebook_id: LorebookId) -> KeptFile:
        """Return the file of a lorebook; raise StorageError when there is no such book."""
        query = select(LOREBOOK.c.file_name, LOREBOOK.c.content).where(LOREBOOK.c.id == lorebook_id)
        file = await self._database.read(lambda connection: _file(connection, query))
        if file is None:
            raise StorageError(LOAD, "There is no such lorebook.", is_transient=False)
        return file

    async def put_lorebook(self, book: KeptLorebook, *, file: KeptFile | None = None) -> None:
        """Store a lorebook; with a file in place of the one it had."""
        more = {} if file is None else mapping.file_values(file)
        values = mapping.lorebook_values(book)
        await self._stored(
            lambda connection: _put(connection, LOREBOOK, values, more),
            f"Another lorebook is called “{book.name}”.",
        )

    async def purge_lorebook(self, lorebook_id: LorebookId) -> None:
        """Delete an archived lorebook."""
        await self._purge(LOREBOOK, lorebook_id, "lorebook")

    async def books(self, *, is_archived: bool = False) -> Sequence[Book]:
        """Return the books by their titles, with their chapters in order."""
        return await self._books(_listed(BOOK, is_archived=is_archived))

    async def book_of(self, session_id: SessionId) -> Book | None:
        """Return the book that a chapter is in, if it is in one."""
        of_chapter = select(BOOK_CHAPTER.c.book_id).where(BOOK_CHAPTER.c.session_id == session_id)
        found = await self._books(select(BOOK).where(BOOK.c.id.in_(of_chapter)))
        return found[0] if found else None

    async def _books(self, query: sa.Select[Any]) -> Sequence[Book]:
        async def work(connection: AsyncConnection) -> Sequence[Book]:
            rows = list(await connection.execute(query))
            chapters: dict[UUID, list[SessionId]] = defaultdict(list)
            listed = select(BOOK_CHAPTER).where(BOOK_CHAPTER.c.book_id.in_([row.id for row in rows]))
            for row in await connection.execute(listed.order_by(BOOK_CHAPTER.c.place)):
                chapters[row.book_id].append(SessionId(row.session_id))
            found = [mapping.to_book(row, chapters) for row in rows]
            return sorted(found, key=lambda one: (one.title.casefold(), one.id))

        return await self._database.read(work)

    async def put_book(self, book: Book, *, new_chapter: Changes | None = None) -> None:
        """Store a book and the order of its chapters; see `LibraryStore.put_book`."""

        seconds = DEADLINE if new_chapter is None else deadline_of(new_chapter)

        async def work(connection: AsyncConnection) -> None:
            if new_chapter is not None:
                if seconds > DEADLINE:
                    await connection.execute(sa.text(LONG_TIMEOUT))
                await _create(connection, new_chapter)
            await _put(connection, BOOK, mapping.book_values(book), {})
            taken = BOOK_CHAPTER.c.session_id.in_(book.chapters)
            losing = select(BOOK_CHAPTER.c.book_id).where(taken, BOOK_CHAPTER.c.book_id != book.id)
            # An edit of such a book as it was before would put the chapter back.
            grown = update(BOOK).where(BOOK.c.id.in_(losing)).values(version=BOOK.c.version + 1)
            has_taken = (await connection.execute(grown.returning(BOOK.c.id))).first() is not None
            if has_taken and new_chapter is not None:
                raise ChangedElsewhereError
            its = (BOOK_CHAPTER.c.book_id == book.id) | taken
            await connection.execute(delete(BOOK_CHAPTER).where(its))
            if rows := mapping.chapter_values(book):
                await connection.execute(insert(BOOK_CHAPTER), rows)

        await self._stored(work, f"Another book is called “{book.title}”.", seconds)

    async def purge_book(self, book_id: BookId) -> None:
        """Delete an archived book; its chapters are kept, in no book."""
        await self._purge(BOOK, book_id, "book")

    async def _stored(
        self, work: Callable[[AsyncConnection], Awaitable[object]], taken: str, seconds: float = DEADLINE
    ) -> None:
        """Store something; say `taken` where a name is someone else's."""
        try:
            await self._database.change(work, seconds=seconds)
        except RowRefusedError as error:
            if not _is_about_a_name(error):
                raise
            raise StorageError(
                SAVE, f"{taken} Nothing was saved.", "Choose another name.", is_transient=False
            ) from error

    async def _purge(self, table: sa.Table, row_id: UUID, what: str) -> None:
        async def work(connection: AsyncConnection) -> None:
            gone = delete(table).where(table.c.id == row_id, table.c.archived_at.is_not(None))
            if (await connection.execute(gone.returning(table.c.id))).one_or_none() is None:
                raise StorageError(
                    SAVE,
                    f"Only an archived {what} can be deleted; nothing was changed.",
                    "Archive it first.",
                    is_transient=False,
                )

        await self._database.change(work)


def _listed(table: sa.Table, *, is_archived: bool) -> sa.Select[Any]:
    archived = table.c.archived_at
    return select(table).where(archived.is_not(None) if is_archived else archived.is_(None))


async def _parts(connection: AsyncConnection, table: sa.Table, ids: Iterable[UUID]) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = defaultdict(list)
    query = select(table).where(table.c.character_id.in_(list(ids))).order_by(table.c.place)
    for row in await connection.execute(query):
        found[row.character_id].append(row)
    return found


async def _file(connection: AsyncConnection, query: sa.Select[Any]) -> KeptFile | None:
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else mapping.to_file(row)


async def _put_character(connection: AsyncConnection, character: LibraryCharacter) -> None:
    await _put(connection, CAST_MEMBER, mapping.character_values(character), {})
    for table, rows in (
        (CAST_NAME, mapping.name_values(character)),
        (CAST_TRAIT, mapping.part_values(character, character.traits)),
        (CAST_TOPIC, mapping.part_values(character, character.topics)),
    ):
        await connection.execute(delete(table).where(table.c.character_id == character.id))
        if rows:
            await connection.execute(insert(table), rows)


async def _put(connection: AsyncConnection, table: sa.Table, values: Values, more: Values) -> None:
    """Insert a row of version 1, or replace the one of the version that `values` has; `more` is its file."""
    is_its_version = (table.c.id == values["id"]) & (table.c.version == values["version"])
    changed = update(table).where(is_its_version)
    changed = changed.values(**values | more | {"version": values["version"] + 1}).returning(table.c.id)
    if (await connection.execute(changed)).one_or_none() is not None:
        return
    is_there = select(table.c.id).where(table.c.id == values["id"])
    if (await connection.execute(is_there)).one_or_none() is not None or values["version"] > 1:
        raise ChangedElsewhereError
    await connection.execute(insert(table).values(**values | more))


async def _create(connection: AsyncConnection, changes: Changes) -> None:
    """Store a new chapter."""
    text, values = creation(changes)
    # Of none where another chapter of the same script was stored at the same moment.
    while not (await connection.exec_driver_sql(text, values)).scalar_one():
        pass


def _is_about_a_name(error: RowRefusedError) -> bool:
    said = str(error.__cause__)
    return any(name in said for name in ("pk_cast_name", "uq_lorebook_name_key", "uq_book_name_key"))
