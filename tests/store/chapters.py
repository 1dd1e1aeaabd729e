"""Makers of what the store tests store: a session, its lock, prompts with replies, deltas, provenance."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from core.domain.agent_role import AgentRole
from core.domain.bank.item import Item
from core.domain.ids import (
    ArtifactId,
    BlockId,
    DraftId,
    EventId,
    RequestId,
    SessionId,
    new_uuid,
)
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Artifact, Content, ReplyRequest, Request, RequestState, Usage
from core.domain.session.prompt_block import BlockPlace, PromptBlock, PromptBlocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore

PATIENCE = 60.0
"""Seconds until a test gives up waiting."""
NOW = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


PROMPT_BLOCKS = PromptBlocks(
    variant="noir",
    variants=("noir", "日本"),
    blocks=(
        PromptBlock(id=1, name="Ton '\"\\ 灰", text="Rain.\n\t{x} %s :y [/b]", order=1_600),
        PromptBlock(
            id=2,
            name="Mara alone",
            text="She lies.",
            order=100,
            place=BlockPlace.MATERIAL,
            is_on=False,
            variants=("default", "日本"),
            slots=(Slot.RED, Slot.VIOLET),
            roles=(AgentRole.CHARACTER,),
        ),
    ),
)


def new_session(**values: object) -> Session:
    """Return a session in DRAFT_TAB1."""
    session = Session(id=SessionId(new_uuid()), created_at=NOW, updated_at=NOW)
    return replace(session, **values)  # type: ignore[arg-type]  # the caller's


def creation(session: Session, tab1: Tab1Inputs | None = None) -> Changes:
    """Return what creates a session."""
    return Changes(
        session_id=session.id, session=session, tab1=tab1 or Tab1Inputs(world="Ash", chapter="Dawn")
    )


def prompt(session: Session, index: int, text: str = "And then?") -> Event:
    """Return the GM's text at an index."""
    return _event(session, index, 0, Role.USER, text)


def reply(session: Session, index: int, text: str = "I walk on.", ordinal: int = 1) -> Event:
    """Return a reply at an index."""
    return _event(session, index, ordinal, Role.AGENT, text)


def _event(session: Session, index: int, ordinal: int, role: Role, text: str) -> Event:
    return Event(
        id=EventId(new_uuid()),
        session_id=session.id,
        prompt_index=index,
        ordinal=ordinal,
        role=role,
        slot=Slot.RED,
        text=text,
        metadata={"n": index, "deep": {"list": [1, None, "é"]}},
        created_at=NOW,
    )


def lock_block(session: Session) -> MemoryBlock:
    """Return the lock block."""
    return _block(session, BlockType.WORLD_CHAPTER_LOCK, 0, 0)


def delta(session: Session, first: int, last: int) -> MemoryBlock:
    """Return the delta of a run of prompts."""
    return _block(session, BlockType.TURN_DELTA, first, last)


def _block(session: Session, kind: BlockType, first: int, last: int) -> MemoryBlock:
    return MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=session.id,
        type=kind,
        first=first,
        last=last,
        payload={"canon_locks": ["the gate is shut"], "n": 1.5},
        created_at=NOW,
    )


def request(session: Session, **values: object) -> ReplyRequest:
    """Return a pending reply request."""
    made = ReplyRequest(
        id=RequestId(new_uuid()),
        session_id=session.id,
        slot=Slot.RED,
        text="And then?",
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(made, **values)  # type: ignore[arg-type]  # the caller's


def artifact(asked: Request, sent: Content, got: Content | None, call: int = 1) -> Artifact:
    """Return the provenance of one call for a request."""
    return Artifact(
        id=ArtifactId(new_uuid()),
        session_id=asked.session_id,
        request_id=asked.id,
        attempt=1,
        call=call,
        agent_id=1,
        provider="scripted",
        model="script",
        prompt_version="character-1",
        input_hash=sent.hash,
        input_ref=sent.hash,
        output_ref=None if got is None else got.hash,
        usage=Usage(input_tokens=10, output_tokens=5),
        first_token_ms=12,
        total_ms=340,
        finish_reason="stop",
        left_out=("two oldest prompts",),
        created_at=NOW,
    )


def draft(session: Session, version: int, request_id: RequestId | None = None) -> NarrativeDraft:
    """Return a version of the narrative."""
    return NarrativeDraft(
        id=DraftId(new_uuid()),
        session_id=session.id,
        version=version,
        request_id=request_id,
        definition="Plain prose.",
        target_words=1_200,
        source=SourceSnapshot(session.prompt_index, (BlockId(new_uuid()),)),
        model="script",
        text="It was dawn.",
        created_at=NOW,
    )


def turn(session: Session, text: str = "And then?", answer: str = "I walk on.") -> Changes:
    """Return what stores the next prompt with its reply; `changes.session` is the session after it."""
    index = session.prompt_index + 1
    sent, got = Content.of(f"context of {index}"), Content.of(answer)
    asked = request(session, state=RequestState.DONE, attempts=1, prompts=PromptRange(index, index))
    return Changes(
        session_id=session.id,
        session=replace(session, prompt_index=index),
        events=(prompt(session, index, text), reply(session, index, answer)),
        requests=(asked,),
        artifacts=(artifact(asked, sent, got),),
        contents=(sent, got),
    )


async def locked_session(store: SessionStore, label: str = "test", **values: object) -> tuple[Session, Lease]:
    """Create a session, take it, and lock its tab 1."""
    session = new_session(**values)
    await store.chapters.create(creation(session))
    lease = await taken(store, session.id, label)
    session = replace(session, state=SessionState.ACTIVE, tab1_locked=True)
    await store.commit(Changes(session_id=session.id, session=session, blocks=(lock_block(session),)), lease)
    return session, lease


async def play(store: SessionStore, session: Session, lease: Lease, turns: int) -> Session:
    """Store that many prompts with replies, and return the session after them."""
    for _ in range(turns):
        changes = turn(session)
        await store.commit(changes, lease)
        session = changes.session or session
    return session


async def with_items(store: SessionStore, *items: Item) -> Session:
    """Store a chapter of three prompts that keeps a bank, and these items in it."""
    session, lease = await locked_session(store, keeps_bank=True)
    session = await play(store, session, lease, 3)
    moved = tuple(replace(one, session_id=session.id) for one in items)
    await store.commit(Changes(session_id=session.id, items=moved), lease)
    await lease.aclose()
    return session


async def taken(store: SessionStore, session_id: SessionId, label: str = "test") -> Lease:
    """Take the writer's lock, which nobody may hold."""
    lease = await store.acquire(session_id, label)
    assert hasattr(lease, "epoch"), lease
    return lease  # type: ignore[return-value]  # seen above


async def until(predicate: Callable[[], Awaitable[bool]]) -> None:
    """Ask again until it holds, where nothing announces it; fail when time is up."""
    async with asyncio.timeout(PATIENCE):
        while not await predicate():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)  # between two questions


async def is_noticed(lease: Lease) -> None:
    """Return once the lease knows that it is lost."""

    async def is_lost() -> bool:
        return lease.is_lost

    await until(is_lost)
