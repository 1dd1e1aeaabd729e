"""A reset that cannot be completed: the chapter is as it was, and no empty one is left beside it."""

import asyncio

import pytest

from core.config.models.assignments import defaults_for
from core.domain.errors import ErrorCode, IllegalCommandError, StorageError
from core.domain.ids import SessionId
from core.domain.session.session_state import SessionState
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.session.reset import reset_session
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.storage.session_store import Lease
from tests.store.in_memory.memory_chapters import MemoryChapters
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


class ArchivesNothing(MemoryStore):
    """A store that refuses to archive the session of a commit."""

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if changes.session is not None and changes.session.archived_at is not None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
        await super().commit(changes, lease)


async def test_a_reset_that_fails_once_the_new_chapter_is_stored_leaves_no_empty_chapter() -> None:
    engine = Engine(ArchivesNothing(), ScriptedProvider(), defaults_for("scripted"), label="here")
    session_id = await engine.create()
    session = await engine.open(session_id)
    await session.edits.edit_tab1(Tab1Edit(title="The Lamp"))
    state = session.snapshot.session.state
    with pytest.raises(StorageError):
        await session.reset()
    assert session.snapshot.session.state is state
    await session.aclose()
    assert [one.id for one in await engine.sessions()] == [session_id]
    assert not await engine.sessions(is_archived=True)


class ArchivesUnheard(MemoryStore):
    """A store that archives the session of a commit, and is gone before it says so."""

    async def commit(self, changes: Changes, lease: Lease) -> None:
        await super().commit(changes, lease)
        if changes.session is not None and changes.session.archived_at is not None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)


async def test_a_reset_that_is_stored_unheard_and_taken_back_leaves_the_chapter_on_its_list() -> None:
    engine = Engine(ArchivesUnheard(), ScriptedProvider(), defaults_for("scripted"), label="here")
    session_id = await engine.create()
    session = await engine.open(session_id)
    await session.edits.edit_tab1(Tab1Edit(title="The Lamp"))
    with pytest.raises(StorageError):
        await session.reset()
    assert session.snapshot.session.archived_at is None
    await session.aclose()
    assert [one.id for one in await engine.sessions()] == [session_id]
    assert not await engine.sessions(is_archived=True)


class ResetsSlowly(MemoryStore):
    """A store that takes its time over the commit with which a reset begins."""

    def __init__(self) -> None:
        super().__init__()
        self.has_come, self.goes_on = asyncio.Event(), asyncio.Event()

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if changes.session is not None and changes.session.state is SessionState.RESETTING:
            self.has_come.set()
            await self.goes_on.wait()
        await super().commit(changes, lease)


async def test_a_reset_that_is_cancelled_while_it_begins_leaves_the_chapter_as_it_was() -> None:
    store = ResetsSlowly()
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(title="The Lamp"))
    state = session.snapshot.session.state
    resetting = asyncio.create_task(session.reset())
    await store.has_come.wait()
    resetting.cancel()
    store.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await resetting
    await session.edits.edit_tab1(Tab1Edit(title="The Lantern"))
    assert session.snapshot.session.state is state
    await session.aclose()


class CreatesSlowly(MemoryChapters):
    """A list that takes its time over the chapter in place of one that is reset."""

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self.has_come, self.goes_on = asyncio.Event(), asyncio.Event()

    async def create(self, changes: Changes) -> None:
        if await self.listed():
            self.has_come.set()
            await self.goes_on.wait()
        await super().create(changes)


async def test_a_second_reset_at_once_is_refused_and_leaves_the_first_alone() -> None:
    store, both_are_saved = MemoryStore(), asyncio.Barrier(2)
    store.chapters = chapters = CreatesSlowly(store.database)
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(title="The Lamp"))

    async def save(_: str) -> None:
        await both_are_saved.wait()

    async def reset() -> SessionId:
        return await reset_session(session._writer, session._apply_when_idle, save)

    resets = [asyncio.create_task(reset()) for _ in range(2)]
    await chapters.has_come.wait()
    [refused], [first] = await asyncio.wait(resets, return_when=asyncio.FIRST_COMPLETED)
    assert isinstance(refused.exception(), IllegalCommandError)
    assert session.snapshot.session.state is SessionState.RESETTING
    chapters.goes_on.set()
    fresh = await first
    await session.aclose()
    assert [one.id for one in await engine.sessions()] == [fresh]


class FailsToUndo(ArchivesNothing):
    """A store that takes neither the end of a reset nor what would undo it."""

    is_reset = False

    async def commit(self, changes: Changes, lease: Lease) -> None:
        if self.is_reset and changes.session is not None:
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)
        await super().commit(changes, lease)
        self.is_reset = changes.session is not None and changes.session.state is SessionState.RESETTING


async def test_a_reset_that_cannot_be_undone_is_in_the_log_and_undone_by_the_next_opening(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FailsToUndo()
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    session_id = await engine.create()
    session = await engine.open(session_id)
    before = session.snapshot.session.state
    with pytest.raises(StorageError):
        await session.reset()
    assert "an incomplete reset could not be undone now" in caplog.text
    await session.aclose()
    store.is_reset = False
    again = await engine.open(session_id)
    assert again.snapshot.session.state is before
    await again.aclose()
