"""Keeps in files what calls cost and gave while the database does not take it.

A commit with calls in it that is not stored is kept as its rows. The next writer of the chapter stores it:
whole where nothing was written since, by the epoch and the session's last change, else the calls alone, so
that what was paid for is on record; requests of them that a restored backup lacks are made again. One that
was stored after all changes nothing: a commit is idempotent. Several that waited behind each other are kept
with their places, and stored in this order.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from core.config.files.bounded_file import read_bounded
from core.config.files.reserve import Reserve
from core.domain.errors import StorageError
from core.domain.ids import ArtifactId, SessionId
from core.storage.changes import Changes
from core.storage.session_store import NO_EPOCH
from db.errors import SAVE, guarded
from db.schema.migrate import HEAD
from db.tables import LLM_ARTIFACT, LLM_CONTENT
from db.writes import commit_statement as writes
from db.writes.removed_requests import FIND, Chapter, asked_by, removed_requests
from db.writes.writer_lock import WriterLease

log = logging.getLogger(__name__)

LARGEST: Final = 64_000_000
"""Bytes of a file that is read; a whole chapter of prose has less than one million."""
_NAME: Final = re.compile(r"[0-9a-f-]{36}\.(?P<epoch>\d+)(-(?P<place>\d+))?\.[0-9a-f-]{36}\.json")
_CALLS: Final = (LLM_CONTENT.name, LLM_ARTIFACT.name)
_CHANGED: Final = "SELECT updated_at FROM session WHERE id = %(id)s"

Send = Callable[[writes.Write], Awaitable[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The parameters of a commit, and the session's last change before it; None where that does not count."""

    parameters: Mapping[str, object]
    since: datetime | None


class UnstoredCommits:
    """The commits of one data directory that the database has not taken; without a folder none is kept."""

    def __init__(self, folder: Path | None, send: Send) -> None:
        self._reserve: Final = (
            None if folder is None else Reserve(folder.with_name(f"{folder.name}.reserve"), folder)
        )
        self._send: Final = send
        self._kept: dict[SessionId, dict[frozenset[ArtifactId], Path]] = {}
        """The last files of each chapter that this window wrote, by the calls in them, in their order."""
        self._alone: dict[SessionId, dict[frozenset[ArtifactId], Path]] = {}
        """Files of this window of which the calls alone are to be stored."""
        self._turn: Final = asyncio.Lock()
        """Held while files are written or removed: one commit is kept while another is being stored."""

    async def keep(self, changes: Changes, epoch: int, since: datetime, *after: Changes) -> None:
        """Keep a commit; see `SessionStore.keep`."""
        if self._reserve is not None and changes.artifacts:
            async with self._turn:
                await self._keep(self._reserve, changes, epoch, since, *after)

    async def _keep(
        self, reserve: Reserve, changes: Changes, epoch: int, since: datetime, *after: Changes
    ) -> None:
        session_id, calls = changes.session_id, _calls_of(changes)
        file = _named(reserve.folder, session_id, epoch, len(after), changes.artifacts[0].id)
        kept = self._kept.get(session_id, {})
        if calls in kept and (epoch == NO_EPOCH or kept[calls] == file):
            return
        if epoch == NO_EPOCH and calls in self._alone.get(session_id, {}):
            return
        content = {"schema": HEAD, "since": since.isoformat(), "parameters": writes.parameters_of(changes)}
        try:
            await asyncio.to_thread(reserve.write_privately, file, json.dumps(content))
        except OSError as error:
            log.error("an answer that is not stored could not be kept in %s: %s", file, error)
            return
        if epoch == NO_EPOCH:
            self._alone.setdefault(session_id, {})[calls] = file
        else:
            before = {of: kept[of] for of in map(_calls_of, after) if of in kept}
            self._kept[session_id] = {**before, calls: file}
            for of, other in kept.items():
                if of not in before:
                    await asyncio.to_thread(_removed if of == calls else _outdated, other)

    async def settle(self, changes: Changes) -> None:
        """Remove the file of a commit that is stored now; after another commit only the calls count."""
        async with self._turn:
            await self._settle(changes)

    async def _settle(self, changes: Changes) -> None:
        alone = self._alone.get(changes.session_id, {})
        for calls in [one for one in alone if one <= _calls_of(changes)]:
            await asyncio.to_thread(_removed, alone.pop(calls))
        kept = self._kept.pop(changes.session_id, {})
        if kept and (first := next(iter(kept))) <= _calls_of(changes):
            await asyncio.to_thread(_removed, kept.pop(first))
            self._kept[changes.session_id] = kept
            return
        for file in kept.values():
            await asyncio.to_thread(_outdated, file)

    async def store(self, lease: WriterLease) -> None:
        """Store what is kept of the chapter of a new lease.

        Raises StoryEngineError where that has to wait, and releases the lease.
        """
        try:
            files = await asyncio.to_thread(self._files, lease.session_id)
            while files:
                if kept := await asyncio.to_thread(_read, files[0]):
                    await self._store(files, kept, lease)
                del files[0]
        except BaseException:  # cancelled too: no other code would release the lock
            await lease.aclose()
            raise

    async def forget(self, session_id: SessionId) -> None:
        """Delete what is kept of a chapter that is deleted."""
        self._kept.pop(session_id, None)
        self._alone.pop(session_id, None)
        if self._reserve is not None:  # what a crash left half written too
            for file in await asyncio.to_thread(list, self._reserve.folder.glob(f"{session_id}.*")):
                await asyncio.to_thread(_removed, file)

    async def _store(self, files: Sequence[Path], kept: _Kept, lease: WriterLease) -> None:
        """Store the first of the files; the others come after it."""
        file = files[0]
        calls = {name: rows for name, rows in kept.parameters.items() if name in _CALLS}
        is_next = NO_EPOCH < _epoch_of(file) == lease.epoch - 1
        try:
            is_whole = is_next and kept.since == await self._last_change(lease.session_id)
            for given in (kept.parameters, calls) if is_whole else (calls,):
                if await self._is_stored(file, given, lease):
                    await asyncio.to_thread(_removed, file)
                    return
            requests = await self._removed_requests(kept.parameters if kept.since else calls, lease)
            if requests and await self._is_stored(file, {**calls, **requests}, lease):
                await asyncio.to_thread(_removed, file)
                return
        except StorageError:
            # Nothing more is written under this lease: the next one has its turn.
            for one in files:
                is_next = NO_EPOCH < _epoch_of(one) == lease.epoch - 1
                await asyncio.to_thread(_moved, one, lease.epoch if is_next else NO_EPOCH)
            raise
        await asyncio.to_thread(_outdated, file)

    async def _is_stored(self, file: Path, parameters: Mapping[str, object], lease: WriterLease) -> bool:
        try:
            async with guarded(SAVE):
                await self._send(writes.commit_of(lease.session_id, lease.epoch, parameters))
        except StorageError as error:
            if error.is_transient:
                raise
            log.error("what is kept in %s cannot be stored: %r", file, error)
            return False
        log.info("what was kept in %s is stored", file)
        return True

    async def _removed_requests(
        self, parameters: Mapping[str, object], lease: WriterLease
    ) -> Mapping[str, object]:
        """Return the parameters that store requests of calls again which a restored backup lacks."""
        try:
            async with guarded(SAVE):
                row = await self._send((FIND, {"id": lease.session_id, "asked": asked_by(parameters)}))
            return removed_requests(lease.session_id, parameters, Chapter.of(*row))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("the requests of kept calls cannot be read: %r", error)
            return {}

    async def _last_change(self, session_id: SessionId) -> datetime | None:
        async with guarded(SAVE):
            row = await self._send((_CHANGED, {"id": session_id}))
        return row[0] if row else None

    def _files(self, session_id: SessionId) -> list[Path]:
        """Return the files of a chapter in the order of their commits, else oldest call first; blocking."""
        if self._reserve is None:
            return []
        self._reserve.fill()  # Before the chapter is played, and anything is paid for.
        found = self._reserve.folder.glob(f"{session_id}.*.json")
        named = (file for file in found if _NAME.fullmatch(file.name))
        return sorted(named, key=lambda one: (_place_of(one), one.name[-41:]))


def chapters_in(folder: Path) -> list[SessionId]:
    """Return the chapters of which a folder keeps something; blocking."""
    found = set[SessionId]()
    for file in folder.glob("*.json"):
        if _NAME.fullmatch(file.name):
            with suppress(ValueError):  # a name of as many letters that is no id
                found.add(SessionId(UUID(file.name.partition(".")[0])))
    return sorted(found)


def _read(file: Path) -> _Kept | None:
    """Return what a file keeps; None where it cannot be read. Blocking."""
    try:
        content = json.loads(read_bounded(file, LARGEST))
        parameters = {str(name): value for name, value in content["parameters"].items()}
        if not all(writes.is_parameter(name, value) for name, value in parameters.items()):
            raise ValueError("it names what no commit has")
        since = datetime.fromisoformat(content["since"])
        return _Kept(parameters, since if content["schema"] == HEAD else None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        log.error("%s cannot be read, and is left as it is: %r", file, error)
        return None


def _named(folder: Path, session: object, epoch: int, place: int, call: object) -> Path:
    return folder / f"{session}.{epoch}{f'-{place}' if place else ''}.{call}.json"


def _calls_of(changes: Changes) -> frozenset[ArtifactId]:
    return frozenset(call.id for call in changes.artifacts)


def _place_of(file: Path) -> int:
    named = _NAME.fullmatch(file.name)
    return int(named["place"] or 0) if named else 0


def _epoch_of(file: Path) -> int:
    named = _NAME.fullmatch(file.name)
    return int(named["epoch"]) if named else NO_EPOCH


def _outdated(file: Path) -> None:
    """Note that other changes were stored since, so that only the calls are stored; blocking."""
    _moved(file, NO_EPOCH)


def _moved(file: Path, epoch: int) -> None:
    session, _, call, _ = file.name.split(".")
    try:
        file.rename(_named(file.parent, session, epoch, _place_of(file), call))
    except FileNotFoundError:
        log.info("what was kept in %s is stored already", file)
    except OSError as error:
        log.error("%s could not be renamed: %s", file, error)


def _removed(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        log.error("%s could not be removed: %s", file, error)
