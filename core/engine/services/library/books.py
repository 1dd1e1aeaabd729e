"""Books: chapters in order, and the next chapter, which takes over what the last one knows (design 14)."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from itertools import takewhile

from core.context.carry_over import Told, carry_over
from core.domain.clock import Clock
from core.domain.errors import (
    BookGoesOnError,
    ChangedElsewhereError,
    IllegalCommandError,
    StorageError,
    UnreadPartsError,
    valid,
)
from core.domain.ids import BookId, SessionId, new_uuid
from core.domain.session.carry_over import CarryOver
from core.domain.session.session import Session, Tab1Inputs
from core.domain.story.secret import label_of
from core.engine.services.bank.words import unread_in_words
from core.engine.services.library.archive import Archive
from core.engine.sync.lore_reading import copies_of_lore
from core.library.book import Book, cleaned_book, problems_of_book
from core.library.names import free_name, keys_of
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.storage.while_others_change import while_others_change
from core.text.name_list import name_key


class BookLibrary(Archive[Book]):
    """The books of one store; the chapters of one that is archived or deleted stay where they are."""

    KIND = GROUP = "book"
    WHERE = ""

    def __init__(self, store: SessionStore, clock: Clock) -> None:
        super().__init__(store.library, clock)
        self._sessions = store

    async def listed(self, *, is_archived: bool = False) -> Sequence[Book]:
        """Return the books by their titles."""
        return await self._store.books(is_archived=is_archived)

    async def of(self, session_id: SessionId) -> Book | None:
        """Return the book that a chapter is in, if it is in one."""
        return await self._store.book_of(session_id)

    async def create(self, title: str, author: str = "", description: str = "") -> Book:
        """Store a new book and return it; raise StorageError where another one has its title."""
        book = valid(cleaned_book(self._new(title, author, description)), problems_of_book)
        await self._store.put_book(book)
        return book

    async def find_or_create(self, title: str) -> Book:
        """Return the book with this title; create it if it does not exist."""
        if (found := await self._titled(title)) is not None:
            return found
        try:
            return await self.create(title)
        except StorageError:
            # Another window may have created it since.
            if (found := await self._titled(title)) is None:
                raise
            return found

    async def store_chapter(self, made: Changes, title: str, author: str = "", description: str = "") -> None:
        """Store a new chapter as the last one of a book, which is made if no other has its title.

        Other windows may change or make that book at the same time.
        """

        async def stored() -> None:
            known = await self._titled(title)
            book = known or self._new(title, author, description)
            try:
                await self._put_with(made, book, len(book.chapters))
            except StorageError:
                # Another window may have made it since.
                if known is not None or await self._titled(title) is None:
                    raise
                raise ChangedElsewhereError from None

        await while_others_change(stored)

    async def save(self, book: Book) -> Book:
        """Store what the GM changed of a book, its order of chapters included, and return it as stored."""
        return await self._put(replace(book, updated_at=self._clock()))

    async def add(self, book: Book, session_id: SessionId, number: int | None = None) -> Book:
        """Put a chapter into a book, as its chapter `number` or its last; it leaves the one it was in."""
        others = [one for one in book.chapters if one != session_id]
        place = len(others) if number is None else max(0, min(number - 1, len(others)))
        return await self.save(replace(book, chapters=(*others[:place], session_id, *others[place:])))

    async def add_to(self, title: str, session_id: SessionId) -> Book:
        """Put a chapter into the book with this title as its last, also while another window does so.

        In the one that it is in it keeps its place: what it knows of the others depends on that.
        """

        async def last(_: Book) -> int | None:
            return None

        return await self._add_at(title, session_id, last)

    async def add_behind_last(self, title: str, session_id: SessionId) -> Book:
        """Put a chapter into a book as `add_to`, but behind the one that hands on; see `_last_of`."""

        async def behind(book: Book) -> int | None:
            last = await self._last_of(book)
            return 1 if last is None else book.number_of(last.session.id) + 1

        return await self._add_at(title, session_id, behind)

    async def _add_at(
        self, title: str, session_id: SessionId, number_in: Callable[[Book], Awaitable[int | None]]
    ) -> Book:
        async def added() -> Book:
            book = await self.find_or_create(title)
            if session_id in book.chapters:
                return book
            return await self.add(book, session_id, await number_in(book))

        return await while_others_change(added)

    async def put_in_place(self, session_id: SessionId, other: SessionId) -> Book | None:
        """Put `other` in the place of a chapter, which is in no book then; None where it is in none now."""

        async def replaced() -> Book | None:
            if (book := await self.of(session_id)) is None:
                return None
            chapters = tuple(other if one == session_id else one for one in book.chapters)
            return await self.save(replace(book, chapters=chapters))

        return await while_others_change(replaced)

    async def remove(self, book: Book, session_id: SessionId) -> Book:
        """Take a chapter out of a book; it is in none then."""
        if session_id not in book.chapters:
            raise IllegalCommandError("That chapter is not in the book; nothing was changed.")
        return await self.save(
            replace(book, chapters=tuple(one for one in book.chapters if one != session_id))
        )

    async def restore(self, one: Book) -> Book:
        """Bring an archived book back; with a number behind its title where that is taken now."""
        title = free_name(one.title, keys_of(await self.listed()))
        return await self._put(replace(one, title=title, archived_at=None))

    async def purge(self, one: Book) -> None:
        """Delete an archived book for good; its chapters are kept, in no book."""
        await self._store.purge_book(one.id)

    async def next_chapter(
        self, session_id: SessionId, *, again: bool = False, only_if_read: bool = False
    ) -> SessionId:
        """Store the chapter after this one and return its id; it is not locked, and its text is empty.

        World, cast, narrative definition, prompt blocks and lorebooks are those of this chapter, with its
        carry-over, and it keeps a memory bank if this one does.
        A chapter that is in no book begins one. Raises IllegalCommandError unless the chapter has ended, and
        BookGoesOnError where the book has a chapter after it, unless it is asked for `again`. With
        `only_if_read` UnreadPartsError where its memory bank has not all of it yet.
        """
        snapshot = await self._sessions.load(session_id)
        book = await self._store.book_of(session_id)
        number = 1 if book is None else book.number_of(session_id)
        carried = await self._handed_on(snapshot, number)
        if book is not None and number < len(book.chapters) and not again:
            raise BookGoesOnError(book.title, number + 1)
        unread = unread_in_words(snapshot.requests) if snapshot.session.keeps_bank else ""
        if unread and only_if_read:
            raise UnreadPartsError(unread)
        copies = await copies_of_lore(self._sessions.calls, session_id, snapshot.lore)
        made = replace(_after(snapshot, carried, self._clock), contents=copies)
        if book is None:
            free = free_name(snapshot.title, keys_of(await self.listed()))
            book = self._new(free, chapters=(session_id,))
        await self._put_with(made, book, number)
        return made.session_id

    async def handed_on_by(self, book: Book, *, before: Collection[SessionId] = ()) -> CarryOver:
        """Return what a chapter takes over behind the last one of a book, or behind those `before` others.

        Nothing in an empty book. Raises IllegalCommandError unless that chapter has ended; see `_last_of`.
        """
        last = await self._last_of(book, before)
        return CarryOver() if last is None else await self._handed_on(last, book.number_of(last.session.id))

    async def _last_of(self, book: Book, before: Collection[SessionId] = ()) -> Snapshot | None:
        """Return the last chapter of a book, or `before` others of it, that hands on.

        Those that were archived before their end hand nothing on.
        """
        for chapter in reversed([*takewhile(lambda one: one not in before, book.chapters)]):
            snapshot = await self._sessions.load(chapter)
            if snapshot.session.archived_at is None or snapshot.session.state.has_ended:
                return snapshot
        return None

    async def _handed_on(self, snapshot: Snapshot, number: int) -> CarryOver:
        session = snapshot.session
        if not session.state.has_ended or session.unsummarised:
            raise IllegalCommandError(
                f"The next chapter takes over what is in memory: end “{snapshot.title}” first "
                "(End Chapter on tab 2)."
            )
        blocks = await self._sessions.blocks(session.id)
        secrets = [Told(one.text, label_of(one, snapshot.reveals)) for one in snapshot.secrets]
        # The story of a copy may have begun in another book.
        earlier = await self._sessions.bank.earlier_chapters(session.id)
        chapter = max([number, *(one.number + 1 for one in earlier)])
        return carry_over(session, snapshot.tab1.carried, blocks, secrets, chapter=chapter)

    async def _titled(self, title: str) -> Book | None:
        key = name_key(title)
        return next((book for book in await self.listed() if name_key(book.title) == key), None)

    def _new(
        self, title: str, author: str = "", description: str = "", chapters: Sequence[SessionId] = ()
    ) -> Book:
        now = self._clock()
        return Book(
            id=BookId(new_uuid()),
            title=title,
            author=author,
            description=description,
            chapters=tuple(chapters),
            created_at=now,
            updated_at=now,
        )

    async def _put_with(self, made: Changes, book: Book, place: int) -> None:
        """Store a new chapter and a book that has it behind so many others, in one transaction."""
        chapters = (*book.chapters[:place], made.session_id, *book.chapters[place:])
        book = replace(book, chapters=chapters, updated_at=self._clock())
        book = valid(cleaned_book(book), problems_of_book)
        await self._store.put_book(book, new_chapter=made)

    async def _put(self, one: Book) -> Book:
        book = valid(cleaned_book(one), problems_of_book)
        await self._store.put_book(book)
        return replace(book, version=book.version + 1)


def _after(snapshot: Snapshot, carried: CarryOver, clock: Clock) -> Changes:
    """Return the changes that store the next chapter."""
    last, now = snapshot.session, clock()
    session = Session(
        id=SessionId(new_uuid()),
        slots=last.slots,
        names=last.names,
        definition=last.definition,
        target_words=last.target_words,
        limits=last.limits,
        keeps_bank=last.keeps_bank,
        language=last.language,
        created_at=now,
        updated_at=now,
    )
    session = replace(session, next_slot=min(session.slots))
    written = snapshot.tab1
    tab1 = Tab1Inputs(
        world=written.world, identities=written.identities, profiles=written.profiles, carried=carried
    )
    seed = new_uuid().hex
    return Changes(
        session_id=session.id,
        session=session,
        tab1=tab1,
        prompt_blocks=snapshot.prompt_blocks or None,
        lore=tuple(replace(book, seed=seed) for book in snapshot.lore) or None,
    )
