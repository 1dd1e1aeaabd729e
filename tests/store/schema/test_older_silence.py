"""Chapters of a program without silence and absences, in every state: they are as before, and go on."""

import pytest

from core.domain.audience import EVERYONE, NOBODY
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.exchange.session_export import from_json, read_body, to_json
from db.store import open_store
from tests.engine.windows import done, window
from tests.store.schema.older_schema import add_every_state, add_long_chapters, make_old

pytestmark = pytest.mark.anyio


async def test_nobody_is_away_or_silent_in_an_older_chapter_and_both_work_from_there_on(here: str) -> None:
    await make_old(here, "story_0014")
    await add_every_state(here)
    await add_long_chapters(here, with_takes=True)
    store = await open_store(here)
    sessions = {line.title: line.id for line in await store.chapters.listed()}
    assert sessions.keys() >= {*SessionState}
    for title, session_id in sessions.items():
        session = (await store.load(session_id)).session
        assert (session.away, session.may_be_silent, session.hint_after) == ({}, NOBODY, 0)
        assert session.here == EVERYONE
        if title.startswith("Long") and session.state is not SessionState.RESETTING:
            exported = to_json(await read_body(store, session_id))
            assert b"may_be_silent" not in exported
            assert from_json(exported).session.away == {}
    async with window(store, None, sessions[f"Long {SessionState.ACTIVE}"]) as chapter:
        await chapter.wait_idle()
        await chapter.scene.set_hint(2)
        assert {hint.slot for hint in await chapter.heartbeats.hints()} == {Slot.ORANGE}
        await chapter.scene.set_away({Slot.ORANGE: 0})
        await chapter.scene.set_silence(EVERYONE)
        await done(chapter, await chapter.submit_prompt(Slot.RED, "And now?"))
        assert not chapter.snapshot.recent[-1].audience.is_everyone
        assert from_json(to_json(await read_body(store, chapter.id))).session.away == {Slot.ORANGE: 0}
    await store.aclose()
