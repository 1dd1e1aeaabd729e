"""Who knows what on every store: lines, secrets, reveals, private deltas, what one character witnessed."""

from dataclasses import replace

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import EventId, new_uuid
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import SECRET, Event, Role
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Reveal, Secret
from core.engine.session.session_handle import SessionHandle
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.store import chapters
from tests.store.chapters import NOW
from tests.store.contract.conftest import OpenWindow
from tests.store.contract.test_takes_contract import engine_on, opened

pytestmark = pytest.mark.anyio

RED, ORANGE = Audience.of([Slot.RED]), Audience.of([Slot.ORANGE])
PAIR = Secret(number=1, text="They are brothers.", known_by=RED, reveal_at=9, reveal_to=ORANGE)
ALONE = Secret(number=2, text="The map is wrong.", known_by=ORANGE)


def line(
    session: Session,
    index: int,
    ordinal: int,
    text: str,
    audience: Audience = EVERYONE,
    reveals: int | None = None,
) -> Event:
    return Event(
        id=EventId(new_uuid()),
        session_id=session.id,
        prompt_index=index,
        ordinal=ordinal,
        role=Role.SYSTEM,
        slot=None,
        text=text,
        metadata={} if reveals is None else {SECRET: reveals},
        audience=audience,
        created_at=NOW,
    )


async def add(store: SessionStore, session: Session, lease: Lease, *events: Event) -> None:
    await store.commit(Changes(session_id=session.id, session=session, events=events), lease)


async def test_lines_open_the_chapter_and_stand_behind_the_newest_prompt(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    session = replace(session, present=RED)
    opening = [line(session, 0, 0, "Fog."), line(session, 0, 1, "A bell.", RED)]
    await add(store, session, lease, *opening)
    assert (await store.load(session.id)).recent == tuple(opening)
    session = await chapters.play(store, session, lease, 1)
    behind = [line(session, 1, 2, "It snows.", ORANGE), line(session, 1, 3, "It thaws.")]
    for one in behind:
        await add(store, session, lease, one)
    session = await chapters.play(store, session, lease, 1)
    snapshot = await store.load(session.id)
    assert snapshot.session.present == RED
    places = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]
    assert [event.place for event in snapshot.recent] == places
    assert [event for event in snapshot.recent if event.role is Role.SYSTEM] == [*opening, *behind]
    for stored in (await store.canon(session.id), await store.log(session.id)):
        assert list(stored) == list(snapshot.recent)
    assert list(await store.canon(session.id, first=1, last=1)) == list(snapshot.recent[2:6])
    assert list(await store.takes(session.id)) == [1, 1]


async def test_the_newest_canon_of_a_character_has_only_what_it_witnessed_and_all_of_that(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    await add(store, session, lease, line(session, 0, 0, "Fog.", ORANGE))
    for number in range(1, 5):
        changes = chapters.turn(session, f"Prompt {number}", "word " * 40)
        audience = RED if number % 2 else EVERYONE
        events = tuple(replace(event, audience=audience) for event in changes.events)
        await store.commit(replace(changes, events=events), lease)
        session = changes.session or session
    everything = list(await store.newest_canon(session.id, 100_000))
    assert len(everything) == 9
    for slot, audience in ((Slot.RED, RED), (Slot.ORANGE, ORANGE), (Slot.YELLOW, Audience.of([Slot.YELLOW]))):
        known = [event for event in everything if event.audience.includes(audience)]
        assert list(await store.newest_canon(session.id, 100_000, known_to=slot)) == known
        few = list(await store.newest_canon(session.id, 100, known_to=slot))
        assert few, "the newest is always there"
        assert few == known[-len(few) :], "what others heard takes no room"
    indexes = {
        event.prompt_index for event in await store.newest_canon(session.id, 100, known_to=Slot.ORANGE)
    }
    assert indexes == {4}


async def test_secrets_are_replaced_whole_and_what_canon_reveals_is_loaded_with_them(
    store: SessionStore,
) -> None:
    session = chapters.new_session()
    await store.chapters.create(replace(chapters.creation(session), secrets=(PAIR,)))
    lease = await chapters.taken(store, session.id)
    for secrets in ((PAIR, ALONE), (replace(PAIR, text="Sisters."),), (), (PAIR,)):
        await store.commit(Changes(session_id=session.id, secrets=secrets), lease)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "and"}), lease)
        assert (await store.load(session.id)).secrets == secrets
    session = replace(session, state=SessionState.ACTIVE, tab1_locked=True)
    lock = chapters.lock_block(session)
    await store.commit(Changes(session_id=session.id, session=session, blocks=(lock,)), lease)
    planned = replace(PAIR, reveal_at=None, reveal_to=None)
    await store.commit(Changes(session_id=session.id, secrets=(planned, ALONE)), lease)
    session = await chapters.play(store, session, lease, 2)
    told = line(session, 2, 2, PAIR.text, ORANGE, reveals=1)
    await add(store, session, lease, told)
    session = await chapters.play(store, session, lease, 14)
    deltas = tuple(chapters.delta(session, first, first + 6) for first in (1, 8))
    session = replace(session, boundary=14)
    await store.commit(Changes(session_id=session.id, session=session, blocks=deltas), lease)
    snapshot = await store.load(session.id)
    assert told not in snapshot.recent, "it is known though its prompt is in memory"
    assert snapshot.reveals == (Reveal(2, 1, ORANGE),)
    assert snapshot.secrets == (planned, ALONE)


async def test_private_deltas_wait_as_revisions_until_the_last_makes_all_of_them_canon(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    session = await chapters.play(store, session, lease, 7)
    first, second, third = (
        replace(chapters.delta(session, 1, 7), ordinal=number, audience=audience)
        for number, audience in enumerate((EVERYONE, RED, ORANGE))
    )
    for number, part in enumerate((first, second), start=1):
        await store.commit(Changes(session_id=session.id, revisions=(part,)), lease)
        assert list(await store.revisions(session.id)) == [first, second][:number]
        assert (await store.load(session.id)).session.boundary == 0
        assert [block.place for block in await store.memory(session.id)] == [(0, 0)]
    session = replace(session, boundary=7)
    blocks: tuple[MemoryBlock, ...] = (first, second, third)
    await store.commit(Changes(session_id=session.id, session=session, blocks=blocks), lease)
    assert list(await store.revisions(session.id)) == []
    assert list(await store.blocks(session.id))[1:] == [first, second, third]
    snapshot = await store.load(session.id)
    assert (snapshot.session.boundary, snapshot.last_ordinal) == (7, 2)
    later = [
        replace(chapters.delta(session, 1, 7), ordinal=n, revision=2, audience=b.audience)
        for n, b in enumerate(blocks)
    ]
    session = replace(session, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=session, blocks=tuple(later)), lease)
    assert list(await store.blocks(session.id))[1:] == later
    assert list(await store.revisions(session.id)) == [first, second, third]


async def test_a_window_that_follows_sees_lines_secrets_and_private_memory_of_the_one_that_writes(
    store: SessionStore, open_window: OpenWindow
) -> None:
    session = await opened(engine_on(store, "here"), store)
    follower = await engine_on(await open_window(), "there").open(session.id)
    await session.scene.narrate("Fog.", hearers=RED)
    await session.scene.edit_secrets([PAIR, ALONE])
    await session.scene.set_present(RED)
    await agree(session, follower, store)
    for heard_by in (None, ORANGE, EVERYONE, None):
        await session.wait(await session.submit_prompt(Slot.RED, "And then?", heard_by=heard_by))
        await session.wait_idle()
        await agree(session, follower, store)
    await session.scene.reveal(2, RED)
    await session.scene.roll("d20")
    await agree(session, follower, store)
    assert [reveal.number for reveal in follower.snapshot.reveals] == [2]
    await session.takes.undo()
    await agree(session, follower, store)
    assert follower.snapshot.reveals == (), "what was revealed behind an undone prompt is a secret again"
    await follower.aclose()
    await session.aclose()


async def agree(session: SessionHandle, follower: SessionHandle, store: SessionStore) -> None:
    """What is stored is what the writer knows, and what a follower knows once it has looked."""
    stored = await store.load(session.id)
    await follower._writer.refresh()
    for name in ("session", "recent", "undone", "takes", "secrets", "reveals", "last_ordinal"):
        assert getattr(session.snapshot, name) == getattr(stored, name), name
        assert getattr(follower.snapshot, name) == getattr(stored, name), name
