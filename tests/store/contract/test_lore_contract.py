"""Lorebooks of a chapter on every store: replaced whole, their copies kept, what replies say of them."""

from dataclasses import replace

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import EventId, new_uuid
from core.domain.requests.request import Content
from core.domain.session.lore import ChapterLorebook
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.reply_uses import LoreUse, metadata_of
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.store import chapters

pytestmark = pytest.mark.anyio

TEXTS = tuple(Content.of(text) for text in ('{"entries":[]}', '{"entries":[1]}'))
HARBOUR, GUILD = (
    ChapterLorebook(
        name=name,
        groups=groups,
        owner=owner,
        label=label,
        entry_count=count,
        file_hash="a" * 64,
        copy_hash=content.hash,
        copy_length=len(content.text),
        seed="s1",
    )
    for name, groups, owner, label, count, content in (
        ("Harbour", (), None, EVERYONE, 3, TEXTS[0]),
        ("Guild [x]", ("Guild", "日本"), Slot.ORANGE, Audience.of([Slot.ORANGE]), 0, TEXTS[1]),
    )
)


async def test_lorebooks_are_replaced_whole_and_their_copies_stay(store: SessionStore) -> None:
    session = chapters.new_session()
    await store.chapters.create(replace(chapters.creation(session), lore=(HARBOUR,), contents=TEXTS[:1]))
    assert (await store.load(session.id)).lore == (HARBOUR,)
    lease = await chapters.taken(store, session.id)
    steps = ((HARBOUR, GUILD), (GUILD, HARBOUR), (replace(GUILD, label=EVERYONE),), (), (HARBOUR,))
    for books in steps:
        await store.commit(Changes(session_id=session.id, lore=books, contents=TEXTS), lease)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "and"}), lease)
        assert (await store.load(session.id)).lore == books
    kept = await store.calls.contents(session.id, [one.hash for one in TEXTS])
    assert kept == {one.hash: one.text for one in TEXTS}


async def test_what_replies_say_of_active_entries_is_that_of_canon_alone(store: SessionStore) -> None:
    session, lease = await chapters.locked_session(store)
    session = await chapters.play(store, session, lease, 1)
    use = ("Harbour", "bell", "d" * 16, 5)
    canon = tuple(await store.canon(session.id, first=1, last=1))
    take = tuple(
        replace(
            event,
            id=EventId(new_uuid()),
            take=2,
            metadata={**event.metadata, **metadata_of([use], ())}
            if event.role is Role.AGENT
            else event.metadata,
        )
        for event in canon
    )
    assert await store.lore_uses(session.id) == ()
    session = replace(session, canon_version=1)
    await store.commit(Changes(session_id=session.id, session=session, events=take), lease)
    slot = next(event.slot for event in take if event.slot is not None)
    assert await store.lore_uses(session.id) == (LoreUse(slot, 1, *use),)
    await store.commit(Changes(session_id=session.id, session=session, events=canon), lease)
    assert await store.lore_uses(session.id) == ()
