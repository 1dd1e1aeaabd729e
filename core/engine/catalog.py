"""The list of sessions: create, archive, branch, export and import them, and read or change a closed one."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from core.config.models.assignments import ModelAssignments
from core.domain.clock import Clock
from core.domain.errors import RowRefusedError
from core.domain.ids import ArtifactId, SessionId, new_uuid
from core.domain.session.carry_over import NOTHING_CARRIED, CarryOver
from core.domain.session.session import SessionSummary, title_from
from core.engine.changes import moves
from core.engine.services.save_points.save_points import SavePoints, title_with
from core.engine.services.takes.branch import read_branch
from core.engine.session.closed_session import ClosedSession, WindowLeases
from core.engine.session.session_reader import SessionReader
from core.exchange.library.library_marks import BookMark
from core.exchange.session_copy import as_new_session, choosing_no_models
from core.exchange.session_export import ImportRefusedError, SessionBody, read_body, to_json
from core.ledger.sums import LedgerEntry, entries_of
from core.storage.changes import Changes
from core.storage.session_store import SessionStore, written_elsewhere

if TYPE_CHECKING:
    from core.engine.services.library.library import Library
    from core.engine.services.verification import Verification


class SessionCatalog:
    """The sessions of one store, of which none need be open. Needs no model."""

    def __init__(self, store: SessionStore, choices: ModelAssignments, *, label: str, clock: Clock) -> None:
        self.choices = choices
        self._store = store
        self._leases = WindowLeases(store, label)
        self._clock = clock
        self.save_points = SavePoints(store, clock)

    @cached_property
    def library(self) -> "Library":
        """The library of the same store; what reads cards and lorebooks is loaded with its first use."""
        from core.engine.services.library.library import Library

        return Library(self._store, self._clock)

    def reader(self, session_id: SessionId) -> SessionReader:
        """Return a reader of one session."""
        return SessionReader(self._store, session_id)

    def closed(self, session_id: SessionId, elsewhere: str = "change it there") -> ClosedSession:
        """Return a session that is not open here, to change it; `elsewhere` says what to do if it is open."""
        return ClosedSession(self._store, session_id, self._leases, self.choices, self._clock, elsewhere)

    async def create(self, *, script_key: str = "", carried: CarryOver = NOTHING_CARRIED) -> SessionId:
        """Store a new session with nothing but the lines that it takes over, and return its id."""
        fresh = self._fresh(script_key, carried)
        await self._store.chapters.create(fresh)
        return fresh.session_id

    async def find_or_create(
        self, script_key: str, *, carried: CarryOver = NOTHING_CARRIED
    ) -> tuple[SessionId, bool]:
        """Return the current session of a script, created if missing, and whether it is new."""
        return await self._store.chapters.find_or_create(self._fresh(script_key, carried))

    async def find_script(self, script_key: str) -> SessionId | None:
        """Return the current session of a script, or None."""
        return await self._store.chapters.find_script(script_key)

    def _fresh(self, script_key: str, carried: CarryOver) -> Changes:
        session_id = SessionId(new_uuid())
        return moves.new_session(self._clock(), session_id=session_id, script_key=script_key, carried=carried)

    async def sessions(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""
        return await self._store.chapters.listed(is_archived=is_archived)

    async def archive(self, session_id: SessionId) -> None:
        """Archive a session; it can be restored.

        Raises SessionLockedError when it is open; use its `SessionHandle` for one that is open here.
        """
        async with self._leases.short(session_id, written_elsewhere):
            await self._store.chapters.archive(session_id, self._clock())

    async def restore(self, session_id: SessionId) -> None:
        """Restore an archived session."""
        await self._store.chapters.archive(session_id, None)

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session permanently."""
        await self._store.chapters.purge(session_id)

    async def retitle(self, session_id: SessionId, title: str) -> None:
        """Retitle a session; raise SessionLockedError when it is open in another window."""
        await self.closed(session_id, "rename it there").edits.retitle(title)

    async def branch(
        self, session_id: SessionId, at: int, *, title: str = "", script_key: str = ""
    ) -> SessionId:
        """Store a new session with the canon of another up to prompt `at`, and return its id.

        With a `script_key`, it is stored once only: a branch that has the key already is returned.
        """
        body = await read_branch(self._store, session_id, at, self._clock())
        made = as_new_session(body, SessionId(new_uuid()), begins_work=True)
        session = replace(made.session or body.session, script_key=script_key)
        made = replace(made, session=replace(session, title=title or session.title))
        if script_key:
            return (await self._store.chapters.find_or_create(made))[0]
        await self._store.chapters.create(made)
        return made.session_id

    def verification(self, progress: Callable[[str], None]) -> "Verification":
        """Return a check of every hash and chain of the library; `progress` is told what is next."""
        from core.engine.services.verification import Verification

        return Verification(self._store, self.save_points, progress)

    async def ledger(self, session_id: SessionId | None = None) -> tuple[list[LedgerEntry], int]:
        """Return every call of a chapter, or of all chapters, archived ones included, oldest chapter first.

        A call that an imported copy of a chapter has too is the older chapter's.
        The second value is how many chapters cannot be read, and are left out.
        """
        listed = [*await self.sessions(), *await self.sessions(is_archived=True)]
        if session_id is not None:
            listed = [one for one in listed if one.id == session_id]
        titles = Counter(one.title for one in listed)
        entries: dict[ArtifactId, LedgerEntry] = {}
        for one in sorted((one for one in listed if one.is_readable), key=lambda one: one.id):
            title = one.title if titles[one.title] == 1 else f"{one.title} ({one.id})"
            reader = self.reader(one.id)
            artifacts, requests = await reader.artifacts(), await reader.requests()
            for entry in entries_of(title, (await reader.load()).session, artifacts, requests):
                entries.setdefault(entry.artifact.id, entry)
        return list(entries.values()), sum(not one.is_readable for one in listed)

    async def export(self, session_id: SessionId) -> bytes:
        """Return all data of a session as a JSON document."""
        body = await read_body(self._store, session_id)
        book = await self.library.books.of(session_id)
        if book is not None:
            mark = BookMark(
                title=book.title,
                author=book.author,
                description=book.description,
                number=book.number_of(session_id),
            )
            body = replace(body, book=mark)
        return await asyncio.to_thread(to_json, body)

    async def import_body(self, body: SessionBody, *, is_trusted: bool = False) -> SessionId:
        """Store an exported session as a new one and return its id; existing sessions stay unchanged.

        The models that its characters bring from a library, and those of calls that can be made again, are
        taken only of one that the GM trusts.

        It becomes the last chapter of the book with the title of the one that it was in. Where another
        chapter has its title, “copy” is appended to it, and a number to that if needed.

        Raises ImportRefusedError when the database refuses it. If the exported session itself is in the
        store, creates a save point of it first.
        """
        known = [*await self.sessions(), *await self.sessions(is_archived=True)]
        if any(one.id == body.session.id and one.is_readable for one in known):
            await self.save_points.create(body.session.id, "before an export of it was imported")
        if not is_trusted:
            body = choosing_no_models(body)
        titles = {one.title for one in known}
        title = title_from(body.session.title, body.tab1.chapter, body.tab1.world)
        if title in titles:
            labels = ("copy" if number == 1 else f"copy {number}" for number in count(1))
            free = next(one for label in labels if (one := title_with(title, label)) not in titles)
            body = replace(body, session=replace(body.session, title=free))
        made = as_new_session(body, SessionId(new_uuid()))
        try:
            if (mark := body.book) is None:
                await self._store.chapters.create(made)
            else:
                books = self.library.books
                await books.store_chapter(made, mark.title, mark.author, mark.description)
        except RowRefusedError as error:
            raise ImportRefusedError(f"the database refuses what is in it ({error.hint})") from error
        return made.session_id
