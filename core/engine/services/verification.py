"""Verifies every hash and chain of a library: of each chapter, and of cards and lorebooks (design 4, 12, 14).

Reads only, one chapter after the other, so it may run beside windows that play. A chapter that changes while
it is read may look broken: what is found then counts only if it is found again, or nothing changed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.requests.request import Content
from core.domain.session.session import SessionSummary
from core.engine.services.save_points.save_points import SavePoints
from core.exchange.integrity.bank import not_the_newest
from core.exchange.session_export import SessionBody, problems_of_body, read_records
from core.storage.session_store import BrokenRule, SessionStore
from core.storage.while_others_change import TRIES
from core.text.numbers import counted

_BATCH: Final = 100
"""Texts of calls and lorebooks to read and hash at a time."""


@dataclass(frozen=True, slots=True)
class StoredFault:
    """Something that does not hold: what it is about, and what is wrong with it."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Number of verified records."""

    chapters: int
    characters: int
    lorebooks: int


class Verification:
    """Verifies the library of a store; `progress` is told the subject that is next."""

    def __init__(self, store: SessionStore, points: SavePoints, progress: Callable[[str], None]) -> None:
        self._store = store
        self._points = points
        self._progress = progress
        self._counts = [0, 0, 0]

    @property
    def checked(self) -> Checked:
        """Number of records verified so far."""
        return Checked(*self._counts)

    async def faults(self) -> AsyncIterator[StoredFault]:
        """Yield what does not hold; raise StorageError where the database cannot be reached."""
        listed = await self._listed()
        for number, one in enumerate(listed, start=1):
            subject = f"chapter “{one.title}” ({one.id})"
            self._progress(f"{subject}, {number:,} of {len(listed):,}")
            for problem in await self._of_chapter(one.id):
                yield StoredFault(subject, problem)
            self._counts[0] += 1
        self._progress("the library")
        async for fault in self._of_library():
            yield fault

    async def _listed(self) -> list[SessionSummary]:
        """Return every chapter, the archived ones too, oldest first."""
        both = [await self._store.chapters.listed(is_archived=is_archived) for is_archived in (False, True)]
        return sorted((one for listed in both for one in listed), key=lambda one: one.id)

    async def _of_chapter(self, session_id: SessionId) -> Sequence[str]:
        for _ in range(TRIES):
            try:
                before = await self._store.load(session_id)
                problems = await self._problems(session_id)
                if not problems or await self._store.load(session_id) == before:
                    return problems
            except StorageError as error:
                if error.is_transient:
                    raise
                if session_id not in {one.id for one in await self._listed()}:
                    return ()  # It was purged meanwhile.
                return (error.message, *_broken(await self._store.broken_rules(session_id)))
        return problems

    async def _problems(self, session_id: SessionId) -> Sequence[str]:
        problems = _broken(await self._store.broken_rules(session_id))
        body = await read_records(self._store, await self._store.load(session_id))
        contents, wrong = await self._contents(body)
        problems += wrong
        problems += await asyncio.to_thread(lambda: list(problems_of_body(replace(body, contents=contents))))
        items = await self._store.bank.items(session_id, with_all=True)
        problems += not_the_newest(items, body.items)
        first = [1] * body.session.prompt_index
        if not body.session.canon_version and list(await self._store.takes(session_id)) != first:
            problems.append("its canon does not point at the first take of each prompt")
        problems += await self._points.damages(session_id)
        return list(dict.fromkeys(problems))

    async def _contents(self, body: SessionBody) -> tuple[tuple[Content, ...], list[str]]:
        """Return the contents of a session, and their faults.

        Only those that the checks of a chapter read have their text: how a call was put together, and lore.
        """
        read = {artifact.input_ref for artifact in body.artifacts} | {one.copy_hash for one in body.lore}
        found: list[Content] = []
        wrong: list[str] = []
        last = ""
        while batch := await self._store.calls.contents_after(body.session.id, last, most=_BATCH):
            last = batch[-1].hash
            whole = await asyncio.to_thread(lambda: [Content.of(one.text) == one for one in batch])
            wrong += [
                f"the text of a call or of a lorebook with the hash {one.hash} was changed"
                for one, is_whole in zip(batch, whole, strict=True)
                if not is_whole
            ]
            found += [one if one.hash in read else Content(one.hash, "") for one in batch]
        return tuple(found), wrong

    async def _of_library(self) -> AsyncIterator[StoredFault]:
        library = self._store.library
        for problem in _broken(await self._store.broken_rules()):
            yield StoredFault("library", problem)
        for is_archived in (False, True):
            for character in await library.characters(is_archived=is_archived):
                self._counts[1] += 1
                if character.imported is None or not character.imported.file_hash:
                    continue
                card = await library.card_of(character.id)
                if card is None or card.sha256 != character.imported.file_hash:
                    yield StoredFault(
                        f"character “{character.name}”",
                        "its card is missing, or not the one that was imported",
                    )
            for book in await library.lorebooks(is_archived=is_archived):
                self._counts[2] += 1
                if (await library.lore_file(book.id)).sha256 != book.file_hash:
                    yield StoredFault(f"lorebook “{book.name}”", "its file is not the one that was imported")


def _broken(rules: Sequence[BrokenRule]) -> list[str]:
    return [
        f"{counted(one.rows, 'row')} of the table {one.table} "
        f"{'breaks' if one.rows == 1 else 'break'} the rule {one.rule}"
        for one in rules
    ]
