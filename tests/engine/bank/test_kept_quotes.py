"""Quotes that the GM keeps in the input of the narrative, on PostgreSQL (design 15)."""

import json
from typing import Any

import pytest

from core.domain.audience import Audience
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.event import Event
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, ScriptMatch
from db.bank.bank_store import PostgresBank
from db.store import PostgresStore
from tests.core.rooms.bank_room import SAID, read, scan
from tests.engine.windows import chapter, done, scripted

pytestmark = pytest.mark.anyio
REPLIES = Entry(match=ScriptMatch(schema="text"), text=SAID)
WORDS = ("I hid the brass key", "What of the whisper", "Say nothing of this", "My left arm bleeds")


async def play(session: SessionHandle) -> list[Event]:
    """Play three prompts, of which one character alone hears the second; return the events."""
    for text, hearers in (
        ("Who is there?", None),
        ("What of the whisper?", Audience.of((Slot.RED,))),
        ("Say nothing of this.", None),
    ):
        await done(session, await session.submit_prompt(Slot.RED, text, heard_by=hearers))
        await session.wait_idle()
    return list(await session.newest_canon())


async def narrative(session: SessionHandle, viewpoint: Slot | None = None) -> list[tuple[str, str, str]]:
    """Write the chapter; return role, name and hash of each section of the newest input for it."""
    await done(session, await session.build_narrative(viewpoint=viewpoint))
    newest = max(
        (one for one in await session.reads.artifacts() if one.agent_id == 9), key=lambda one: one.id
    )
    listed = await session.reads.contents([newest.input_ref])
    return [tuple(one) for one in json.loads(listed[newest.input_ref])]


async def kept(session: SessionHandle, viewpoint: Slot | None = None) -> list[str]:
    """Write the chapter; return which of `WORDS` its input says are to be kept."""
    [section] = [hash for _, name, hash in await narrative(session, viewpoint) if name == "WORDS_TO_KEEP"]
    text = (await session.reads.contents([section]))[section]
    return [words for words in WORDS if f"“{words}”" in text]


async def test_a_narrative_keeps_the_quotes_of_the_gm_that_its_author_may_know(store: PostgresStore) -> None:
    async with chapter(store, scripted(scan(), REPLIES)) as session:
        await session.keeping.keep(is_on=True)
        first, key, whisper, _, nothing, *_ = await play(session)
        here = session.snapshot.session
        for event, words in ((key, WORDS[0]), (whisper, WORDS[1]), (nothing, WORDS[2])):
            await session.bank.quote(here, event, words)
        assert first.prompt_index == 1
        await session.end_chapter()
        await read(session)
        assert await kept(session) == list(WORDS[:3])
        assert await kept(session, Slot.RED) == list(WORDS[:3])
        assert await kept(session, Slot.ORANGE) == [WORDS[0], WORDS[2]]
        await session.scene.set_status([nothing], ContextStatus.NEVER)
        assert await kept(session) == list(WORDS[:2])
        [quote] = [one for one in await session.bank.items() if one.text == WORDS[0]]
        await session.bank.reject([quote])
        assert await kept(session) == [WORDS[1]]


async def test_a_chapter_without_such_quotes_has_the_bytes_it_has_without_a_bank_which_reads_none(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Any] = []
    read_items = PostgresBank.items

    async def noted(*values: Any, **more: Any) -> Any:
        reads.append(more.get("kinds"))
        return await read_items(*values, **more)

    found = []
    for keeps in (False, True):
        async with chapter(store, scripted(scan(), REPLIES)) as session:
            await session.keeping.keep(is_on=keeps)
            await play(session)
            await session.end_chapter()
            await read(session)
            with monkeypatch.context() as patched:
                patched.setattr(PostgresBank, "items", noted)
                found.append(await narrative(session))
                assert bool(reads) is keeps
                await session.money.of_build()
    assert found[0] == found[1]
    assert "WORDS_TO_KEEP" not in [name for _, name, _ in found[0]]
