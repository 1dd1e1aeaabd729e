"""Operations on sessions that are not open here: list, create, read, archive, export and import."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING

from core.domain.clock import Clock
from core.domain.dice import Roll
from core.domain.errors import IllegalCommandError, RowRefusedError, SessionLockedError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.carry_over import NOTHING_CARRIED, CarryOver
from core.domain.session.language import Language
from core.domain.session.profile import without_models
from core.domain.session.session import Session, SessionSummary
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.event import Event
from core.engine.changes import moves
from core.engine.decisions import lore_commands, tab1_commands
from core.engine.scene import commands as scene
from core.engine.services.bank.commands import keep_bank, set_language
from core.engine.services.bank.keeping import material
from core.engine.services.bank.service import Bank
from core.engine.services.save_points.service import SavePoints
from core.engine.services.takes import commands as take_commands
from core.engine.services.takes.branch import read_branch
from core.engine.session.session_reader import SessionReader
from core.engine.sync.lore_reading import with_lore
from core.exchange.library.library_marks import BookMark
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import ImportRefusedError, SessionBody, read_body, to_json
from core.ledger.sums import Entry, entries_of
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore, WriterInfo, written_elsewhere
from core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from core.engine.services.library.service import Library
    from core.engine.services.speaking.hints import Hint, HintRules
    from core.engine.services.verification import Verification
    from core.library.lore.kept import KeptLorebook


class SessionCatalog:
    """The sessions of one store; changes to one hold its writer's lock. Needs no model."""

    def __init__(self, store: SessionStore, *, label: str, clock: Clock) -> None:
        self._store = store
        self._label = label
        self._clock = clock
        self.save_points = SavePoints(store, clock)

    @cached_property
    def library(self) -> "Library":
        """The library of the same store; what reads cards and lorebooks is loaded with its first use."""
        from core.engine.services.library.service import Library

        return Library(self._store, self._clock)

    def reader(self, session_id: SessionId) -> SessionReader:
        """Return a reader of one session."""
        return SessionReader(self._store, session_id)

    def bank(self, session_id: SessionId) -> Bank:
        """Return the memory bank of a chapter, to read and to change its items."""

        @asynccontextmanager
        async def writing() -> AsyncIterator[None]:
            async with self._held(session_id, "change it there"):
                yield

        return Bank(self._store.bank, session_id, self._clock, writing)

    async def create(self, *, script_key: str = "", carried: CarryOver = NOTHING_CARRIED) -> SessionId:
        """Store a new session with nothing but the lines that it takes over, and return its id."""
        fresh = self._fresh(script_key, carried)
        await self._store.create(fresh)
        return fresh.session_id

    async def find_or_create(
        self, script_key: str, *, carried: CarryOver = NOTHING_CARRIED
    ) -> tuple[SessionId, bool]:
        """Return the current session of a script, created if missing, and whether it is new."""
        return await self._store.find_or_create(self._fresh(script_key, carried))

    async def find_script(self, script_key: str) -> SessionId | None:
        """Return the current session of a script, or None."""
        return await self._store.find_script(script_key)

    def _fresh(self, script_key: str, carried: CarryOver) -> Changes:
        session_id = SessionId(new_uuid())
        return moves.new_session(self._clock(), session_id=session_id, script_key=script_key, carried=carried)

    async def sessions(self, *, is_archived: bool = False) -> Sequence[SessionSummary]:
        """Return the chapter list, last played first."""
        return await self._store.sessions(is_archived=is_archived)

    async def archive(self, session_id: SessionId) -> None:
        """Archive a session; it can be restored.

        Raises SessionLockedError when it is open; use its `SessionHandle` for one that is open here.
        """
        acquired = await self._store.acquire(session_id, self._label)
        if isinstance(acquired, WriterInfo):
            raise written_elsewhere(acquired)
        try:
            await self._store.archive(session_id, self._clock())
        finally:
            await acquired.aclose()

    async def restore(self, session_id: SessionId) -> None:
        """Restore an archived session."""
        await self._store.archive(session_id, None)

    async def purge(self, session_id: SessionId) -> None:
        """Delete an archived session permanently."""
        await self._store.purge(session_id)

    async def retitle(self, session_id: SessionId, title: str) -> None:
        """Retitle a session; raise SessionLockedError when it is open in another window."""
        await self.change(
            session_id, lambda now: tab1_commands.retitle(now, title, self._clock()), "rename it there"
        )

    async def change(
        self,
        session_id: SessionId,
        decide: Callable[[Snapshot], Changes],
        elsewhere: str,
        *,
        needs_memory: bool = False,
    ) -> None:
        """Store a change of a session that is not open here.

        Raises SessionLockedError, with the advice `elsewhere`, when it is open in another window.
        """
        async with self._held(session_id, elsewhere) as lease:
            load = self.load_with_memory if needs_memory else self._store.load
            snapshot = await load(session_id)
            await self._store.commit(decide(snapshot), lease)

    @asynccontextmanager
    async def _held(self, session_id: SessionId, elsewhere: str) -> AsyncIterator[Lease]:
        """Hold the writer's lock of a session that is not open here; raises SessionLockedError."""
        acquired = await self._store.acquire(session_id, self._label)
        if isinstance(acquired, WriterInfo):
            raise SessionLockedError(f"This chapter is open elsewhere ({acquired.label}); {elsewhere}.")
        try:
            yield acquired
        finally:
            await acquired.aclose()

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
            return (await self._store.find_or_create(made))[0]
        await self._store.create(made)
        return made.session_id

    async def undo(self, session_id: SessionId) -> int:
        """Undo the newest prompt of a session that is not open here; return how many prompts remain."""
        return await self._change_canon(
            session_id, lambda snapshot: take_commands.undo(snapshot, self._clock()), "undo it there"
        )

    async def redo(self, session_id: SessionId) -> int:
        """Redo a prompt of a session that is not open here; return its number."""
        return await self._change_canon(
            session_id, lambda snapshot: take_commands.redo(snapshot, self._clock()), "redo it there"
        )

    async def choose_take(self, session_id: SessionId, take: int) -> None:
        """Choose a take of the newest prompt of a session that is not open here."""
        _, takes = await self.takes(session_id)
        chosen = next((events for events in takes if events[0].take == take), ())
        await self._change_canon(
            session_id,
            lambda snapshot: take_commands.choose_take(snapshot, chosen, self._clock()),
            "choose it there",
        )

    async def takes(self, session_id: SessionId) -> tuple[int, Sequence[tuple[Event, ...]]]:
        """Return the number of the take of the newest prompt that counts, and all of its takes in order."""
        snapshot = await self._store.load(session_id)
        prompt, _ = take_commands.newest(snapshot)
        index = prompt.prompt_index
        log = await self._store.log(session_id, first=index, last=index)
        return prompt.take, [tuple(take) for _, take in groupby(log, key=lambda event: event.take)]

    async def set_present(self, session_id: SessionId, slots: Iterable[Slot]) -> None:
        """Store who is in the scene of a session that is not open here."""
        await self.change(
            session_id, lambda snapshot: scene.set_present(snapshot, slots, self._clock()), "change it there"
        )

    async def add_roll(self, session_id: SessionId, rolled: Roll, hearers: Iterable[Slot] | None) -> None:
        """Add a roll to a session that is not open here; those present witness it, or `hearers`."""
        await self.change(
            session_id,
            lambda snapshot: scene.add_roll(snapshot, rolled, self._clock(), hearers=hearers),
            "roll it there",
        )

    async def reveal(self, session_id: SessionId, number: int, to: Iterable[Slot]) -> None:
        """Reveal a secret to these characters in a session that is not open here."""
        await self.change(
            session_id, lambda snapshot: scene.reveal(snapshot, number, to, self._clock()), "reveal it there"
        )

    async def begin_scene(self, session_id: SessionId, words: str, to: Iterable[Slot] | None) -> None:
        """Begin a new scene in a session that is not open here; those present hear its words, or `to`."""
        await self.change(
            session_id, lambda now: scene.begin_scene(now, words, self._clock(), hearers=to), "begin it there"
        )

    async def set_status(
        self, session_id: SessionId, prompt: int, line: int | None, status: ContextStatus
    ) -> None:
        """Store whether models are sent a prompt with all that follows it, or one line of these.

        The lines of a prompt are counted from 0, which is the GM's text.
        """
        canon = await self._store.canon(session_id, first=prompt, last=prompt)
        events = [event for event in canon if line in (None, event.ordinal)]
        if not events:
            raise IllegalCommandError(f"Prompt {prompt:,} has no such line; `storyengine show` has all.")
        await self.change(
            session_id, lambda now: scene.set_status(now, events, status, self._clock()), "mark it there"
        )

    async def keep_bank(self, session_id: SessionId, *, is_on: bool) -> None:
        """Keep a memory bank of a session that is not open here, or stop keeping one."""
        events, read = await material(self._store, session_id) if is_on else ((), ())
        decide = partial(keep_bank, now=self._clock(), is_on=is_on, events=events, read=read)
        await self.change(session_id, decide, "change it there", needs_memory=is_on)

    async def set_language(self, session_id: SessionId, language: Language) -> None:
        """Store the language of a session that is not open here; the words of its items are made again."""
        now = self._clock()
        await self.change(session_id, lambda chapter: set_language(chapter, language, now), "change it there")

    async def attach_lore(self, session_id: SessionId, book: "KeptLorebook") -> None:
        """Attach a lorebook of the library to a session that is not open here, or take its content over."""
        copy = await self.library.lore.copy_of(book)
        await self.change(
            session_id, lambda now: lore_commands.attach(now, copy, self._clock()), "attach it there"
        )

    async def detach_lore(self, session_id: SessionId, name: str) -> None:
        """Detach a lorebook from a session that is not open here."""
        await self.change(
            session_id, lambda now: lore_commands.detach(now, name, self._clock()), "detach it there"
        )

    async def _change_canon(
        self, session_id: SessionId, decide: Callable[[Snapshot], Changes], elsewhere: str
    ) -> int:
        await self.change(session_id, decide, elsewhere, needs_memory=True)
        return (await self._store.load(session_id)).session.prompt_index

    async def load_with_memory(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        """Return a stored session with its memory and its lorebooks."""
        snapshot = await self._store.load(session_id, recent_prompts=recent_prompts)
        blocks = tuple(await self._store.memory(session_id))
        return await with_lore(self._store, replace(snapshot, blocks=blocks, is_memory_known=True))

    async def hints(self, session_id: SessionId, rules: "HintRules") -> "tuple[Session, Sequence[Hint]]":
        """Return a stored session, and its characters that were silent for long; asks no model."""
        from core.engine.services.speaking.heartbeats import answers_of, with_wishes
        from core.engine.services.speaking.hints import hints_of

        snapshot = await self.load_with_memory(session_id)
        replies = await self._store.last_replies(session_id)
        hints = hints_of(snapshot.session, replies, snapshot.blocks, rules)
        return snapshot.session, with_wishes(hints, await answers_of(self._store, session_id, replies))

    def verification(self, progress: Callable[[str], None]) -> "Verification":
        """Return a check of every hash and chain of the library; `progress` is told what is next."""
        from core.engine.services.verification import Verification

        return Verification(self._store, self.save_points, progress)

    async def ledger(self, session_id: SessionId | None = None) -> tuple[list[Entry], int]:
        """Return every call of a chapter, or of all chapters, archived ones included, oldest chapter first.

        The second value is how many chapters cannot be read, and are left out.
        """
        listed = [*await self.sessions(), *await self.sessions(is_archived=True)]
        if session_id is not None:
            listed = [one for one in listed if one.id == session_id]
        titles = Counter(one.title for one in listed)
        entries: list[Entry] = []
        for one in sorted((one for one in listed if one.is_readable), key=lambda one: one.id):
            title = one.title if titles[one.title] == 1 else f"{one.title} ({one.id})"
            reader = self.reader(one.id)
            artifacts, requests = await reader.artifacts(), await reader.requests()
            entries += entries_of(title, (await reader.load()).session, artifacts, requests)
        return entries, sum(not one.is_readable for one in listed)

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

        The models that its characters bring from a library are taken only of one that the GM trusts.

        It becomes the last chapter of the book with the title of the one that it was in.

        Raises ImportRefusedError when the database refuses it. If the exported session itself is in the
        store, creates a save point of it first.
        """
        known = [*await self.sessions(), *await self.sessions(is_archived=True)]
        if any(one.id == body.session.id and one.is_readable for one in known):
            await self.save_points.create(body.session.id, "before an export of it was imported")
        if not is_trusted:
            profiles = without_models(body.tab1.profiles)
            body = replace(body, tab1=replace(body.tab1, profiles=profiles))
        made = as_new_session(body, SessionId(new_uuid()))
        try:
            if (mark := body.book) is None:
                await self._store.create(made)
            else:
                books = self.library.books
                await books.store_chapter(made, mark.title, mark.author, mark.description)
        except RowRefusedError as error:
            raise ImportRefusedError(f"the database refuses what is in it ({error.hint})") from error
        return made.session_id
