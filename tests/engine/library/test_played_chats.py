"""A chat that was read in is set up, locked and played on; its prompts are summarised after the lock."""

import pytest

from core.domain.audience import NOBODY
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.memory import BlockType
from core.engine.decisions.tab1_commands import Tab1Edit
from core.exchange.chats.chapter_of_chat import chapter_of
from core.exchange.chats.chat_log import read_chat
from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.core.exchange.chats.test_chats import HEADER, lines, says, user
from tests.engine.windows import Recorder, engine_on, is_summary, window

pytestmark = pytest.mark.anyio
HIDDEN = "CANARY-HIDDEN"


def chat(prompts: int) -> bytes:
    records: list[object] = [HEADER, {**user(HIDDEN), "is_system": True}]
    for number in range(1, prompts + 1):
        takes = (f"Other {number}.", f"Reply {number}.")
        records += [user(f"Prompt {number}."), says(("Kara", "Joss")[number % 2], takes[1], *takes)]
    return lines(*records)


async def test_a_chat_is_summarised_after_the_lock_and_played_on(
    store: PostgresStore,
) -> None:
    model = Recorder()
    engine = engine_on(store, model)
    session_id = await engine.import_body(chapter_of(read_chat(chat(15)), "A chat", utc_now()).body)
    async with window(store, model, session_id) as session:
        assert session.snapshot.session.state is SessionState.DRAFT_TAB1
        with pytest.raises(IllegalCommandError, match="can only grow"):
            await session.edits.edit_tab1(Tab1Edit(character_count=1))
        await session.edits.edit_tab1(
            Tab1Edit(world="A coast.", chapter="A lamp goes out.", character_count=3)
        )
        await session.wait(await session.lock())
        await session.wait_idle()
        played = session.snapshot.session
        assert (played.state, played.boundary, played.prompt_index) == (SessionState.ACTIVE, 14, 15)
        assert played.next_slot is Slot.ORANGE, "the turn goes on where the chat ended"
        await session.wait(await session.submit_prompt(Slot.RED, "And now?"))
        await session.wait_idle()
        assert session.snapshot.session.prompt_index == 16
        assert not [call for call in model.calls if HIDDEN in str(call.messages)], (
            "no one knows what was hidden"
        )
        takes = await session.takes.listed()
        assert len(takes) == 1
        await session.takes.undo()
        await session.takes.choose(1)
        story = [event.text for event in await session.reads.canon()]
        assert "Other 15." in story
        assert "Reply 15." not in story
    assert sum(map(is_summary, model.calls)) == 2
    blocks = await store.blocks(session_id)
    assert [(block.type, block.last) for block in blocks] == [
        (BlockType.WORLD_CHAPTER_LOCK, 0),
        (BlockType.TURN_DELTA, 7),
        (BlockType.TURN_DELTA, 14),
    ]
    body = await read_body(store, session_id)
    assert from_json(to_json(body)) == body
    hidden = [event for event in body.events if event.text == HIDDEN]
    assert [event.audience for event in hidden] == [NOBODY]


async def test_a_chat_can_be_reset_and_branched_like_any_chapter(store: PostgresStore) -> None:
    model = Recorder()
    engine = engine_on(store, model)
    session_id = await engine.import_body(chapter_of(read_chat(chat(8)), "A chat", utc_now()).body)
    async with window(store, model, session_id) as session:
        await session.edits.edit_tab1(Tab1Edit(world="A coast."))
        await session.wait(await session.lock())
        await session.wait_idle()
        branch = await engine.branch(session_id, 3)
        async with window(store, model, branch) as other:
            assert other.snapshot.session.prompt_index == 3
        fresh = await session.reset()
    async with window(store, model, fresh) as again:
        assert again.snapshot.session.prompt_index == 0
        assert again.snapshot.session.state is SessionState.DRAFT_TAB1


async def test_a_chat_can_be_branched_before_it_is_locked(store: PostgresStore) -> None:
    model = Recorder()
    engine = engine_on(store, model)
    session_id = await engine.import_body(chapter_of(read_chat(chat(8)), "A chat", utc_now()).body)
    async with window(store, model, await engine.branch(session_id, 7)) as session:
        begun = session.snapshot.session
        assert (begun.state, begun.prompt_index, begun.boundary) == (SessionState.DRAFT_TAB1, 7, 0)
        await session.edits.edit_tab1(Tab1Edit(world="A coast."))
        await session.wait(await session.lock())
        await session.wait_idle()
        assert session.snapshot.session.boundary == 7
