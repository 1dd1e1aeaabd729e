"""What every store promises: what is stored comes back as it was."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

import core.storage.snapshot
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Content, RequestState, SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.limits import Limits
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.memory import is_full
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.store import chapters
from tests.store.chapters import NOW

pytestmark = pytest.mark.anyio


async def test_a_new_session_comes_back_as_it_was(store: SessionStore) -> None:
    session = chapters.new_session(
        title="Aschenfeld 灰",
        script_key="abc",
        slots=(Slot.GREEN, Slot.RED),
        names={Slot.GREEN: "[/x] Ann", Slot.RED: "ود"},
        next_slot=Slot.GREEN,
        definition="Plain.",
        target_words=900,
        limits=Limits(chunk_size=3, prompt=9),
    )
    tab1 = Tab1Inputs(world="w\n\t'\"\\", chapter="%s {} :x", identities={Slot.GREEN: "I keep the gate."})
    made = replace(chapters.creation(session, tab1), prompt_blocks=chapters.PROMPT_BLOCKS)
    await store.chapters.create(made)
    snapshot = await store.load(session.id)
    assert snapshot.session == session
    assert snapshot.tab1 == tab1
    assert snapshot.prompt_blocks == chapters.PROMPT_BLOCKS
    assert (snapshot.is_memory_known, snapshot.recent, snapshot.requests, snapshot.unsent) == (
        False,
        (),
        (),
        {},
    )


async def test_prompt_blocks_are_replaced_whole_and_other_commits_leave_them_alone(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    assert (await store.load(session.id)).prompt_blocks == NO_PROMPT_BLOCKS
    for blocks in (chapters.PROMPT_BLOCKS, chapters.PROMPT_BLOCKS.without_block(2), NO_PROMPT_BLOCKS):
        await store.commit(Changes(session_id=session.id, prompt_blocks=blocks), lease)
        await store.commit(Changes(session_id=session.id, unsent={Slot.RED: "and"}), lease)
        assert (await store.load(session.id)).prompt_blocks == blocks


async def test_a_snapshot_holds_as_many_prompts_as_recent_context_is_to_have(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    session = await chapters.play(store, session, lease, 24)
    deltas = tuple(chapters.delta(session, number * 7 - 6, number * 7) for number in (1, 2, 3))
    session = replace(session, boundary=21)
    await store.commit(Changes(session_id=session.id, session=session, blocks=deltas), lease)
    for asked, first in ((0, 15), (7, 15), (10, 12), (20, 2), (100, 1)):
        snapshot = await store.load(session.id, recent_prompts=asked)
        assert snapshot.recent[0].prompt_index == first
        assert snapshot.recent_prompts == asked
        assert snapshot.after(Changes(session_id=session.id)).recent == snapshot.recent


async def test_everything_a_commit_can_bring_comes_back(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    changes = chapters.turn(session)
    session = replace(changes.session or session, boundary=1, next_slot=Slot.ORANGE)
    block = chapters.delta(session, 1, 1)
    draft = chapters.draft(session, 1, changes.requests[0].id)
    failed = SummaryRequest(
        id=RequestId(new_uuid()),
        session_id=session.id,
        priority=3,
        created_at=NOW,
        updated_at=NOW,
        state=RequestState.FAILED,
        prompts=PromptRange(1, 1),
        retry_after=NOW,
        error_code=ErrorCode.LLM_TIMEOUT,
        error_message="slow",
    )
    await store.commit(
        replace(
            changes,
            session=session,
            blocks=(block,),
            drafts=(draft,),
            requests=(*changes.requests, failed),
            unsent={Slot.RED: "half a thou", Slot.BLUE: ""},
        ),
        lease,
    )
    snapshot = await store.load(session.id)
    assert snapshot.session == session
    assert list(await store.memory(session.id))[1:] == [block]
    assert list(await store.blocks(session.id, after=0)) == [block]
    assert snapshot.recent == changes.events
    assert snapshot.requests == (failed,)
    assert snapshot.unsent == {Slot.RED: "half a thou"}
    assert snapshot.draft_count == 1
    assert await store.log(session.id) == list(changes.events)
    assert await store.drafts(session.id) == [draft]
    assert await store.calls.requests(session.id) == [*changes.requests, failed]
    for kind in RequestKind:
        of_kind = [one for one in (*changes.requests, failed) if one.kind is kind]
        assert await store.calls.requests(session.id, kind=kind) == of_kind
    assert await store.calls.artifacts(session.id) == list(changes.artifacts)
    assert await store.calls.artifacts(session.id, request_id=failed.id) == []
    assert await store.calls.artifacts(session.id, kind=RequestKind.REPLY) == list(changes.artifacts)
    assert await store.calls.artifacts(session.id, kind=RequestKind.HEARTBEAT) == []
    asked = changes.artifacts[0].input_hash
    assert await store.calls.artifacts(session.id, input_hash=asked) == list(changes.artifacts)
    assert await store.calls.artifacts(session.id, input_hash=asked[::-1]) == []
    texts = {content.hash: content.text for content in changes.contents}
    assert await store.calls.contents(session.id, [*texts, "0" * 64]) == texts


async def test_the_snapshot_in_memory_and_the_stored_one_agree(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    snapshot = await store.load(session.id)
    for index in range(1, 18):
        changes = chapters.turn(session)
        session = changes.session or session
        if index in (7, 14):
            session = replace(session, boundary=index)
            changes = replace(changes, session=session, blocks=(chapters.delta(session, index - 6, index),))
        await store.commit(changes, lease)
        snapshot = snapshot.after(changes)
        assert await store.load(session.id) == snapshot
    assert [event.prompt_index for event in snapshot.recent[::2]] == list(range(8, 18))


async def test_a_request_is_replaced_by_its_id_and_keeps_its_birth(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    asked = chapters.request(session)
    await store.commit(Changes(session_id=session.id, requests=(asked,)), lease)
    later = NOW + timedelta(hours=1)
    tried = replace(asked, state=RequestState.PROCESSING, attempts=2, created_at=later, updated_at=later)
    await store.commit(Changes(session_id=session.id, requests=(tried,)), lease)
    assert await store.calls.requests(session.id) == [replace(tried, created_at=NOW)]


async def test_a_commit_sent_again_stores_the_same(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    """Its answer may have been lost with the connection."""
    session, lease = locked
    changes = chapters.turn(session)
    await store.commit(changes, lease)
    await store.commit(changes, lease)
    assert await store.log(session.id) == list(changes.events)
    assert len(await store.calls.artifacts(session.id)) == 1


async def test_a_whole_chapter_is_imported_at_once(
    store: SessionStore, locked: tuple[Session, Lease]
) -> None:
    session, lease = locked
    session = await chapters.play(store, session, lease, 3)
    new_id = SessionId(new_uuid())
    copy = replace(session, id=new_id)
    asked = chapters.request(copy, state=RequestState.DONE)
    sent = Content.of("sent")
    whole = Changes(
        session_id=new_id,
        session=copy,
        tab1=Tab1Inputs(world="Ash"),
        unsent={Slot.RED: "and"},
        events=tuple(replace(event, session_id=new_id) for event in await store.log(session.id)),
        blocks=(chapters.lock_block(copy),),
        drafts=(chapters.draft(copy, 1),),
        requests=(asked,),
        artifacts=(chapters.artifact(asked, sent, None),),
        contents=(sent,),
    )
    await store.chapters.create(whole)
    assert (await store.load(new_id)).recent == whole.events
    assert await store.calls.artifacts(new_id) == list(whole.artifacts)


async def test_what_is_not_there_is_an_error(store: SessionStore) -> None:
    nowhere = SessionId(new_uuid())
    for ask in (store.load(nowhere), store.acquire(nowhere, "me"), store.chapters.archive(nowhere, NOW)):
        with pytest.raises(StorageError, match="not in the database any more") as caught:
            await ask
        assert not caught.value.is_transient
        assert "`storyengine sessions`" in caught.value.hint, "a command has no F5"


async def test_a_session_played_on_holds_the_memory_that_it_would_have_when_opened_again(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.storage.snapshot, "MAX_FULL_DELTAS", 2)
    session, lease = await chapters.locked_session(store, limits=Limits(chunk_size=1))
    snapshot = await store.load(session.id)
    snapshot = replace(snapshot, blocks=tuple(await store.memory(session.id)), is_memory_known=True)
    for index, canon in enumerate([[], ["the gate is shut"], [], ["Mara is dead"], [], []], start=1):
        changes = chapters.turn(snapshot.session)
        block = replace(
            chapters.delta(session, index, index),
            payload={"memory_type": "turn_delta", "range": {}, "canon_locks": canon, "major_events": ["x"]},
        )
        session = replace(changes.session or session, boundary=index)
        changes = replace(changes, session=session, blocks=(block,))
        await store.commit(changes, lease)
        snapshot = snapshot.after(changes)
        reopened = list(await store.memory(session.id))
        assert list(snapshot.blocks) == reopened
        # Inputs are made of these bytes; a dictionary compares equal in any order.
        assert [json.dumps(block.payload) for block in snapshot.blocks] == [
            json.dumps(block.payload) for block in reopened
        ]
    assert [(block.first, is_full(block)) for block in snapshot.blocks] == [
        (0, True), (1, False), (2, False), (4, False), (5, True), (6, True),
    ]  # fmt: skip
