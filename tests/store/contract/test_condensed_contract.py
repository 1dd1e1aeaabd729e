"""Condensed memory on every store: it counts while canon has exactly what it was made of."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.config.models.assignments import defaults_for
from core.domain.audience import Audience
from core.domain.ids import BlockId, SessionId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.memory import MemoryBlock
from core.engine.catalog import SessionCatalog
from core.engine.session.session_reader import SessionReader
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import read_records
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.core.values.sessions import delta_payload
from tests.store import chapters
from tests.store.chapters import NOW
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio
RED = Audience.of([Slot.RED])
PAYLOAD = {"zeta": "1", "alpha": "é", **delta_payload(), "canon_locks": []}
"""Keys in an order that no database would choose."""


def condensed(session: Session, sources: Sequence[MemoryBlock]) -> CondensedMemory:
    return CondensedMemory(
        id=BlockId(new_uuid()),
        session_id=session.id,
        first=sources[0].first,
        last=sources[-1].last,
        audience=sources[0].audience,
        sources=tuple(block.id for block in sources),
        payload=PAYLOAD,
        created_at=NOW,
    )


async def remembered(
    store: SessionStore, session: Session, lease: Lease
) -> tuple[Session, list[MemoryBlock], CondensedMemory]:
    """Store three deltas for all, a private one beside the second, and the first two condensed."""
    session = await chapters.play(store, session, lease, 21)
    session = replace(session, boundary=21)
    spans = ((1, 7), (8, 14), (15, 21))
    blocks = [replace(chapters.delta(session, first, last), payload=delta_payload()) for first, last in spans]
    beside = replace(blocks[1], id=BlockId(new_uuid()), audience=RED, ordinal=1)
    changes = Changes(session_id=session.id, session=session, blocks=(*blocks[:2], beside, blocks[2]))
    await store.commit(changes, lease)
    made = condensed(session, blocks[:2])
    await store.commit(Changes(session_id=session.id, condensed=(made,)), lease)
    return session, blocks, made


async def told(store: SessionStore, session_id: SessionId) -> tuple[CondensedMemory, ...]:
    return (await store.load(session_id)).condensed


async def test_it_is_read_as_it_was_stored_and_once(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    assert await told(store, locked[0].id) == ()
    session, _, made = await remembered(store, *locked)
    await store.commit(Changes(session_id=session.id, condensed=(made,)), locked[1])
    [found] = await told(store, session.id)
    assert found == made
    assert list(found.payload) == list(PAYLOAD)


@pytest.mark.parametrize("place", ["first", "second", "private", "third"])
async def test_another_revision_of_a_source_ends_it_in_the_store_as_in_a_window(
    store: SessionStore, locked: tuple[Session, Lease], place: str
) -> None:
    session, blocks, made = await remembered(store, *locked)
    before = blocks[{"first": 0, "second": 1, "private": 1, "third": 2}[place]]
    again = replace(before, id=BlockId(new_uuid()), revision=2)
    if place == "private":
        again = replace(again, audience=RED, ordinal=1)
    changes = Changes(session_id=session.id, session=replace(session, canon_version=1), blocks=(again,))
    known = await SessionReader(store, session.id).load(with_memory=True)
    await store.commit(changes, locked[1])
    expected = () if place in ("first", "second") else (made,)
    assert await told(store, session.id) == expected
    assert known.after(changes).condensed == expected


@pytest.mark.parametrize(("end", "is_kept"), [(14, True), (7, False)])
async def test_memory_that_is_withdrawn_takes_it_along(
    store: SessionStore, locked: tuple[Session, Lease], end: int, is_kept: bool
) -> None:
    session, _, made = await remembered(store, *locked)
    changes = Changes(
        session_id=session.id,
        session=replace(session, boundary=end, canon_version=1),
        memory_end=end,
    )
    known = await SessionReader(store, session.id).load(with_memory=True)
    await store.commit(changes, locked[1])
    expected = (made,) if is_kept else ()
    assert await told(store, session.id) == expected
    assert known.after(changes).condensed == expected


async def test_a_copy_has_it_and_a_branch_what_of_it_is_before(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, _, made = await remembered(store, *locked)
    body = replace(await read_records(store, await store.load(session.id)), artifacts=())
    assert body.condensed == (made,)
    copy = SessionId(new_uuid())
    await store.chapters.create(as_new_session(body, copy))
    assert await told(store, copy) == (replace(made, session_id=copy),)
    catalog = SessionCatalog(store, defaults_for("scripted"), label="", clock=lambda: NOW)
    for at, kept in ((14, 1), (13, 0)):
        branch = await catalog.branch(session.id, at)
        assert len(await told(store, branch)) == kept


async def test_a_window_that_reads_along_learns_of_it(
    open_window: OpenWindow, store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, blocks, made = await remembered(store, *locked)
    other = await open_window()
    assert await told(other, session.id) == (made,)
    more = condensed(session, blocks[1:])
    await store.commit(Changes(session_id=session.id, condensed=(more,)), locked[1])
    assert await told(other, session.id) == (made, more)
