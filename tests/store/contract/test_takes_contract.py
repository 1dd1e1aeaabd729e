"""Takes, undo and branches on every store: what is stored is what the window that writes knows."""

import random
from dataclasses import replace

import pytest

from core.config.models.assignments import defaults_for
from core.domain.session.limits import Limits
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import read_body
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.core.rooms.takes_model import CHUNK, Model, story
from tests.store import chapters
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio

STEPS = (
    *("submit", "submit", "submit", "submit", "reroll", "undo", "undo", "redo", "choose"),
    *("correct", "canon", "rebuild"),
)


def engine_on(store: SessionStore, label: str) -> Engine:
    return Engine(store, ScriptedProvider(), defaults_for("scripted"), label=label)


async def opened(engine: Engine, store: SessionStore) -> SessionHandle:
    """Open a new session that is locked already, with short chunks."""
    session = chapters.new_session(limits=Limits(chunk_size=CHUNK))
    await store.chapters.create(chapters.creation(session))
    lease = await chapters.taken(store, session.id)
    locked = Changes(session_id=session.id, session=_locked(session), blocks=(chapters.lock_block(session),))
    await store.commit(locked, lease)
    await lease.aclose()
    return await engine.open(session.id)


def _locked(session: Session) -> Session:
    return replace(session, state=SessionState.ACTIVE, tab1_locked=True)


async def test_what_is_stored_is_what_the_writer_and_a_follower_know(
    open_window: OpenWindow, store: SessionStore
) -> None:
    """Steps that are drawn at random, with everything checked after each."""
    draw = random.Random(1)
    session = await opened(engine_on(store, "here"), store)
    other = await open_window()
    follower = await engine_on(other, "there").open(session.id)
    model = Model(store)
    for _ in range(32):
        await model.step(session, draw.choice(STEPS))
        await model.check(session)
        await follower._writer.refresh()
        stored = await store.load(session.id)
        for name in ("session", "recent", "undone", "takes", "unsent", "last_ordinal"):
            assert getattr(follower.snapshot, name) == getattr(stored, name), name
        newest = await store.newest_canon(session.id, 10_000_000)
        assert list(newest) == list(await store.canon(session.id))
    await follower.aclose()
    await session.aclose()


async def test_an_import_and_a_save_slot_have_canon_as_it_was(store: SessionStore) -> None:
    engine = engine_on(store, "here")
    session = await opened(engine, store)
    draw, model = random.Random(7), Model(store)
    points: list[tuple[int, list[str], list[object]]] = []
    for number in range(36):
        await model.step(session, draw.choice(STEPS))
        if number % 6 == 5:
            slot = await engine.save_points.keep(session.id, f"Slot {len(points) % 5}")
            blocks: list[object] = [(b.type, b.place, b.payload) for b in await session.reads.memory_blocks()]
            points = [point for point in points if point[0] != slot.number]
            points.append((slot.number, list(model.story), list(blocks)))
    await session.aclose()
    for number, canon, memory in points:
        fresh = await engine.save_points.restore(session.id, number)
        restored = await engine.open(fresh)
        assert await story(restored) == canon
        assert [(b.type, b.place, b.payload) for b in await restored.reads.memory_blocks()] == memory
        await restored.aclose()
    body = await read_body(store, session.id)
    assert body.takes, "canon has changed"
    fresh = await engine.import_body(body)
    again = await read_body(store, fresh)
    assert [event.id for event in again.events] == [event.id for event in body.events]
    assert again.takes == body.takes
    assert again.revisions == tuple(replace(block, session_id=fresh) for block in body.revisions)


async def test_the_mark_of_a_story_is_another_after_each_change_of_it_and_no_other(
    store: SessionStore,
) -> None:
    """Compared with all of the story, after steps that are drawn at random."""
    session = await opened(engine_on(store, "here"), store)
    draw, model = random.Random(3), Model(store)
    seen: dict[str, object] = {}
    for _ in range(40):
        await model.step(session, draw.choice(STEPS))
        canon = [one.id for one in await store.canon(session.id)]
        story = canon, [one.id for one in await store.blocks(session.id)]
        mark = await store.story_mark(session.id)
        assert seen.setdefault(mark, story) == story
    assert len(seen) > 10
    await session.aclose()
