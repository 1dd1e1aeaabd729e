"""The windows of a random chapter: the one in which it is played, and a second one that reads along."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from tests.leaks.lore import uses_are_those_stored
from tests.leaks.marks import is_kept
from tests.leaks.stored import Stored, read_stored

if TYPE_CHECKING:
    from tests.leaks.random_chapter import RandomChapter

OpenStore = Callable[[], Awaitable[SessionStore]]
PATIENCE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """A window that reads along, with a store and an engine of its own."""

    store: SessionStore
    engine: Engine
    session: SessionHandle

    async def aclose(self) -> None:
        await self.session.aclose()
        await self.store.aclose()


def steps(chapter: "RandomChapter") -> list[Callable[[], Awaitable[object]]]:
    """Return what the GM does with a second window."""
    return [partial(read_along, chapter), partial(hand_over, chapter)] * 2


async def read_along(chapter: "RandomChapter") -> Window:
    """Open the chapter in a second window, if it is not open there."""
    if chapter.second is None:
        store, engine = await chapter.new_window("there")
        chapter.second = Window(store, engine, await engine.open(chapter.session.id))
        assert chapter.second.session.is_read_only
    return chapter.second


async def hand_over(chapter: "RandomChapter") -> None:
    """Go on in the second window, with what it knows from reading along."""
    second = await read_along(chapter)
    await chapter.session.aclose()
    await chapter.store.aclose()
    await write_in(second.session)
    chapter.store, chapter.engine, chapter.session = second.store, second.engine, second.session
    chapter.second = None
    chapter.handed_over += 1


async def close_second(chapter: "RandomChapter") -> None:
    """Close the second window, if there is one."""
    if chapter.second is not None:
        await chapter.second.aclose()
        chapter.second = None


async def open_again(chapter: "RandomChapter") -> None:
    """Open the chapter in a new window, once the server closed the connections of a program that is gone."""
    for store in (chapter.store, *([chapter.second.store] if chapter.second else ())):
        await store.aclose()
    chapter.second = None
    chapter.store, chapter.engine = await chapter.new_window()
    chapter.session = await chapter.engine.open(chapter.session.id)
    await write_in(chapter.session)


async def write_in(session: SessionHandle) -> None:
    """Become the writer, once the server has noticed that the one before is gone."""
    async with asyncio.timeout(PATIENCE):
        while not await session.take_over():
            pass


async def check_second(chapter: "RandomChapter", stored: Stored) -> None:
    """The second window knows what is stored, as soon as it has been told."""
    if chapter.second is None:
        return
    session = chapter.second.session
    with session.listen() as listener:
        async with asyncio.timeout(PATIENCE):
            while _known(session.snapshot) != _known(stored.snapshot):
                await anext(listener.batches())
                stored = await read_stored(chapter.store, session.id)
    assert is_kept(session, stored)
    assert await uses_are_those_stored(session, chapter.second.store)


def _known(snapshot: Snapshot) -> tuple[object, ...]:
    session, texts = snapshot.session, {slot: text for slot, text in snapshot.unsent.items() if text}
    told = snapshot.secrets, snapshot.reveals, snapshot.statuses, snapshot.lore
    return session, snapshot.tab1, *told, snapshot.undone, snapshot.requests, texts
