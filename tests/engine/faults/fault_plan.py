"""When a model fails, and what must come of it: the table of model faults, and the way to one of its rows.

A row is a fault, a kind of request, and how often the fault comes: once, always, or every other time.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from core.domain.errors import ErrorCode
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import RequestFailed
from core.providers.base import Provider
from core.storage.snapshot import Snapshot
from db.store import PostgresStore
from tests.engine.windows import Ears, create, done, listening, set_up, window

ASKED = "Who goes there, over the ice, at this hour, and what do you carry in that wet sack?" * 8
"""Long enough that a delta of it is shorter, as it must be."""


class Often(Enum):
    """The calls of a kind that are answered with the fault."""

    ONCE = "once"
    ALWAYS = "always"
    EVERY_OTHER = "every other time"

    def hits(self, call: int) -> bool:
        """Whether the call of this number, from 1, fails."""
        return self is Often.ALWAYS or call == 1 or (self is Often.EVERY_OTHER and call % 2 == 1)


@dataclass(frozen=True)
class Expected:
    """The expected state of a session whose request of a kind has failed."""

    state: SessionState
    prompt_index: int
    boundary: int
    unsent: str = ""


AFTER_FAILURE = {
    RequestKind.LOCK: Expected(SessionState.DRAFT_TAB1, 0, 0),
    RequestKind.REPLY: Expected(SessionState.ACTIVE, 0, 0, ASKED),
    RequestKind.SUMMARY: Expected(SessionState.ACTIVE, 1, 0),
    RequestKind.NARRATIVE: Expected(SessionState.ENDED, 1, 1),
}
"""State, pointer, boundary and composer after a request of this kind has failed, whatever the fault."""
RESTING = {
    RequestKind.LOCK: SessionState.ACTIVE,
    RequestKind.REPLY: SessionState.ACTIVE,
    RequestKind.SUMMARY: SessionState.ACTIVE,
    RequestKind.NARRATIVE: SessionState.ENDED,
}
AGENTS = {RequestKind.LOCK: 0, RequestKind.REPLY: 2, RequestKind.SUMMARY: 8, RequestKind.NARRATIVE: 9}


class Row:
    """A session in which requests of one kind are made, and what is seen of them."""

    def __init__(self, store: PostgresStore, session: SessionHandle, ears: Ears, kind: RequestKind) -> None:
        self.store = store
        self.session = session
        self.ears = ears
        self.kind = kind

    async def ask(self) -> Request:
        """Make the session ask the model for the kind, and return the request once it is settled."""
        match self.kind:
            case RequestKind.LOCK:
                return await self.session.wait(await self.session.lock())
            case RequestKind.REPLY:
                asked = await self.session.submit_prompt(Slot.ORANGE, ASKED)
                return await self.session.wait(asked)
            case RequestKind.SUMMARY:
                await done(self.session, await self.session.submit_prompt(Slot.RED, ASKED))
                await self.session.wait_idle()
                stored = await self.store.calls.requests(self.session.id)
                return [one for one in stored if one.kind is RequestKind.SUMMARY][-1]
            case RequestKind.NARRATIVE:
                return await self.session.wait(await self.session.build_narrative())
            case _:
                raise ValueError(f"the play never asks for {self.kind}")

    async def retry(self, request: Request) -> Request:
        """Try a failed request again."""
        return await self.session.wait(await self.session.retry(request.id))

    async def codes(self, request_id: RequestId) -> list[ErrorCode | None]:
        """Return how each call of a request ended, oldest first."""
        artifacts = await self.store.calls.artifacts(self.session.id, request_id=request_id)
        assert {artifact.agent_id for artifact in artifacts} == {AGENTS[self.kind]}
        assert all(bool(artifact.error_message) == bool(artifact.error_code) for artifact in artifacts)
        return [artifact.error_code for artifact in artifacts]

    async def assert_failed(self, request: Request, code: ErrorCode, attempts: int) -> None:
        """The row's stated outcome: request, state, pointer, composer, and what the GM is told."""
        assert (request.state, request.error_code, request.attempts) == (RequestState.FAILED, code, attempts)
        stored = await self.store.load(self.session.id)
        expected = AFTER_FAILURE[self.kind]
        assert standing(stored) == expected
        assert stored.session == self.session.snapshot.session
        assert len(await self.store.log(self.session.id)) == 2 * expected.prompt_index
        assert not await self.store.drafts(self.session.id)
        if self.kind is RequestKind.LOCK:
            assert (stored.session.tab1_locked, stored.tab1.world) == (False, "A sea of glass.")
        told = [
            notification
            for notification in self.ears.all(RequestFailed)
            if notification.request.id == request.id
        ]
        assert len(told) == attempts, "the GM is told once of every failure"
        assert told[-1].error.code is code
        assert request.error_message.startswith(told[-1].error.message)
        assert "nothing is lost" in request.error_message or "is safe" in request.error_message

    async def assert_done(self, request: Request, attempts: int) -> None:
        """The request went well, and exactly one answer to it is in use."""
        assert request.state is RequestState.DONE, request
        assert (request.error_code, request.attempts) == (None, attempts)
        stored = await self.store.load(self.session.id)
        assert stored.session.state is RESTING[self.kind]
        assert stored.unsent == {}
        assert (await self.codes(request.id))[-1] is None
        assert (await self.codes(request.id)).count(None) == 1


def standing(snapshot: Snapshot) -> Expected:
    """Return where a session stands, as the table puts it."""
    session = snapshot.session
    unsent = snapshot.unsent.get(Slot.ORANGE, "")
    return Expected(session.state, session.prompt_index, session.boundary, unsent)


@asynccontextmanager
async def facing(
    store: PostgresStore, kind: RequestKind, provider: Provider, **more: Any
) -> AsyncIterator[Row]:
    """Have a session that is about to ask for the kind; what comes before has gone well."""
    is_summed = kind in (RequestKind.SUMMARY, RequestKind.NARRATIVE)
    session_id = await create(store, 1 if is_summed else 7)
    async with window(store, provider, session_id, **more) as session, listening(session) as ears:
        await set_up(session)
        if kind is not RequestKind.LOCK:
            await done(session, await session.lock())
        if kind is RequestKind.NARRATIVE:
            await done(session, await session.submit_prompt(Slot.RED, ASKED))
            await session.wait_idle()
            await session.end_chapter()
        yield Row(store, session, ears, kind)


async def hold_to_plan(row: Row, often: Often, code: ErrorCode, *, is_repaired: bool) -> None:
    """Ask, retry, ask again as the frequency has it, and hold every outcome against the table.

    `is_repaired` says that the engine itself calls once more and shows the model its error.
    """
    request = await row.ask()
    if is_repaired and often is not Often.ALWAYS:
        await row.assert_done(request, 1)
        assert await row.codes(request.id) == [code, None]
    else:
        await row.assert_failed(request, code, 1)
        per_attempt = 2 if is_repaired else 1
        assert await row.codes(request.id) == [code] * per_attempt
        request = await row.retry(request)
        if often is Often.ALWAYS:
            await row.assert_failed(request, code, 2)
            assert await row.codes(request.id) == [code] * 2 * per_attempt
            return
        await row.assert_done(request, 2)
    if often is Often.EVERY_OTHER and row.kind is not RequestKind.LOCK:
        await second_time(row, code, is_repaired=is_repaired)


async def second_time(row: Row, code: ErrorCode, *, is_repaired: bool) -> None:
    """The next request of the kind meets the fault as well."""
    again = await row.ask()
    if not is_repaired:
        assert (again.state, again.error_code) == (RequestState.FAILED, code)
        again = await row.retry(again)
    assert again.state is RequestState.DONE
    assert await row.codes(again.id) == [code, None]


async def repaired(store: PostgresStore, session_id: SessionId, kind: RequestKind) -> None:
    """However often it failed: with a model that answers, the same request is made good."""
    async with window(store, None, session_id) as session, listening(session) as ears:
        row = Row(store, session, ears, kind)
        [failed] = [one for one in session.snapshot.requests if one.kind is kind]
        await row.assert_done(await row.retry(failed), 3)
