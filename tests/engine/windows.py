"""Helpers of the engine tests: a window on a session, ears, models that do as they are told."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any, LiteralString, TypeVar

import psycopg
import pytest

from bench.recorder import Recorder as Recorder
from core.config.models.assignments import ModelAssignments, defaults_for
from core.domain.agent_role import AgentRole
from core.domain.clock import utc_now
from core.domain.ids import RequestId, SessionId, new_uuid
from core.domain.requests.request import Request
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.changes import moves
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.engine_settings import PlaySettings
from core.engine.kinds.test_call import make_test_call, new_test_call
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import Notification, SessionChanged, TextArrived
from core.gateway.cancellation import Cancellation
from core.gateway.lanes import Lane
from core.gateway.model_gateway import ModelGateway
from core.providers.base import Completion, ModelRequest, Provider, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.storage.changes import Changes
from core.storage.session_store import Lease, SessionStore
from tests.core.values.sessions import waiting
from tests.store.servers import plain_url

PATIENCE = 60.0
CHOICES = defaults_for("scripted")
AT_WORK = ModelAssignments({role: replace(choice, account="work") for role, choice in CHOICES.items()})
"""The same at an account of that name."""
QUICK = ModelAssignments({role: replace(choice, timeout=0.05) for role, choice in CHOICES.items()})
"""Models that are given up after a twentieth of a second of silence."""
MATCHES = {
    RequestKind.LOCK: {"schema": "world_chapter_lock"},
    RequestKind.REPLY: {"schema": "text", "model": CHOICES[AgentRole.CHARACTER].model},
    RequestKind.SUMMARY: {"schema": "turn_delta"},
    RequestKind.NARRATIVE: {"schema": "text", "model": CHOICES[AgentRole.NARRATIVE].model},
}

N = TypeVar("N", bound=Notification)


def is_summary(request: ModelRequest) -> bool:
    return request.schema is not None and request.schema.name == "turn_delta"


def says(text: str) -> Callable[[ModelRequest], bool]:
    """Whether a call's last message contains a text."""
    return lambda request: text in request.messages[-1].content


def scripted(*entries: Entry) -> ScriptedProvider:
    return ScriptedProvider(Script(reply=entries))


def failing(kind: RequestKind, fault: Fault, times: int | None = 1, **more: Any) -> Entry:
    """An entry that fails the next `times` calls of this kind; None: all of them."""
    return Entry(match=ScriptMatch.model_validate(MATCHES[kind]), fault=fault, times=times, **more)


class GatedModel:
    """A scripted model that says its first word, and goes on only when the gate is open.

    `when` says which calls are held up so; all of them if it is not given.
    """

    name = "gated"
    base_url = None

    def __init__(
        self,
        inner: ScriptedProvider | None = None,
        *,
        when: Callable[[ModelRequest], bool] = lambda _: True,
    ) -> None:
        self._inner = inner or ScriptedProvider()
        self._when = when
        self.gate = asyncio.Event()
        self.calls: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.calls.append(request)
        answer = self._inner.stream(request)
        yield await anext(answer)
        if self._when(request):
            await self.gate.wait()
        async for item in answer:
            yield item

    async def aclose(self) -> None:
        self.gate.set()


class Late:
    """Holds up the calls of a method, but for so many first ones, until the gate is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, after: int = 0) -> None:
        self.arrived, self.gate = asyncio.Event(), asyncio.Event()
        behind = getattr(owner, name)
        calls = count(1)

        async def wait_first(*arguments: object, **named: object) -> object:
            if next(calls) <= after:
                return await behind(*arguments, **named)
            self.arrived.set()
            await self.gate.wait()
            return await behind(*arguments, **named)

        monkeypatch.setattr(owner, name, wait_first)


class Ears:
    """Everything that a session has said since somebody listened, and waiting for what comes."""

    def __init__(self) -> None:
        self.notifications: list[Notification] = []
        self._arrived = asyncio.Condition()

    async def take_in(self, session: SessionHandle, is_listening: asyncio.Event) -> None:
        with session.listen() as listener:
            is_listening.set()
            async for notification in listener:
                async with self._arrived:
                    self.notifications.append(notification)
                    self._arrived.notify_all()

    def all(self, kind: type[N]) -> list[N]:
        return [notification for notification in self.notifications if isinstance(notification, kind)]

    async def hear(self, kind: type[N], test: Callable[[N], bool] = lambda _: True) -> N:
        """Return the first notice of this kind that passes the test, from the beginning on."""
        seen = 0
        async with asyncio.timeout(PATIENCE), self._arrived:
            while True:
                for notification in self.notifications[seen:]:
                    if isinstance(notification, kind) and test(notification):
                        return notification
                seen = len(self.notifications)
                await self._arrived.wait()

    async def hear_state(self, state: SessionState, boundary: int = 0) -> None:
        await self.hear(
            SessionChanged,
            lambda notification: (
                notification.session.state is state and notification.session.boundary >= boundary
            ),
        )


@asynccontextmanager
async def listening(session: SessionHandle) -> AsyncIterator[Ears]:
    """Hear everything that the session says inside the block."""
    ears, is_listening = Ears(), asyncio.Event()
    task = asyncio.create_task(ears.take_in(session, is_listening))
    await is_listening.wait()
    try:
        yield ears
    finally:
        task.cancel()
        await asyncio.wait({task})


def engine_at_work(store: SessionStore, model: Provider, play: PlaySettings) -> Engine:
    """Return an engine whose account takes one call at a time."""
    lanes = {"work": Lane(lambda: model, concurrency=1)}
    return Engine(store, scripted(), AT_WORK, label="here", lanes=lanes, play=play)


def engine_on(
    store: SessionStore,
    provider: Provider | None = None,
    *,
    label: str = "first window",
    backoff: float = 3600.0,
    choices: ModelAssignments = CHOICES,
) -> Engine:
    return Engine(store, provider or ScriptedProvider(), choices, label=label, play=waiting(backoff))


@asynccontextmanager
async def window(
    store: SessionStore,
    provider: Provider | None = None,
    session_id: SessionId | None = None,
    within: float = 4 * PATIENCE,
    **more: Any,
) -> AsyncIterator[SessionHandle]:
    """Open a session, the one that is named or a new one; fail after `within` seconds."""
    engine = engine_on(store, provider, **more)
    session = await engine.open(session_id or await create(store))
    try:
        async with asyncio.timeout(within):
            yield session
    finally:
        await session.aclose()


@asynccontextmanager
async def chapter(
    store: SessionStore, provider: Provider | None = None, chunk_size: int = 7, **more: Any
) -> AsyncIterator[SessionHandle]:
    """Open a new chapter that can be played."""
    async with window(store, provider, await playable(store, chunk_size), **more) as session:
        yield session


async def playable(store: SessionStore, chunk_size: int = 7) -> SessionId:
    """Store a chapter that can be played; its lock is made by a model of its own."""
    session_id = await create(store, chunk_size)
    async with window(store, session_id=session_id) as session:
        await set_up(session)
        await done(session, await session.lock())
    return session_id


async def create(store: SessionStore, chunk_size: int = 7) -> SessionId:
    """Store a new session whose chunks have this many prompts."""
    made = moves.new_session(utc_now(), session_id=SessionId(new_uuid()))
    assert made.session is not None
    limits = replace(made.session.limits, chunk_size=chunk_size)
    await store.chapters.create(replace(made, session=replace(made.session, limits=limits)))
    return made.session_id


async def set_up(session: SessionHandle, agents: int = 3) -> None:
    await session.edits.edit_tab1(
        Tab1Edit(world="A sea of glass.", chapter="The lamp is out.", character_count=agents)
    )


async def streaming(session: SessionHandle, ears: Ears) -> RequestId:
    """Send a prompt to the first character, and return its request once the reply streams."""
    request_id = await session.submit_prompt(Slot.RED, "One")
    await ears.hear(TextArrived)
    return request_id


@asynccontextmanager
async def reply_streaming(
    store: SessionStore, **more: Any
) -> AsyncIterator[tuple[SessionHandle, Ears, RequestId, GatedModel]]:
    """Open a chapter and begin a reply, of which the model has said one word and waits."""
    model = GatedModel()
    async with chapter(store, model, **more) as session, listening(session) as ears:
        yield session, ears, await streaming(session, ears), model


async def done(session: SessionHandle, request_id: Any) -> Request:
    """Wait for a request, which must have gone well."""
    request = await session.wait(request_id)
    assert request.error_code is None, request
    return request


async def record_test_call(session: SessionHandle, provider: Provider | None = None) -> None:
    """Make a test call and store it with the calls of the session."""
    gateway = ModelGateway(provider or ScriptedProvider(), CHOICES, None, utc_now)
    test = new_test_call(session.id, utc_now())
    await session.record_test_call(test, await make_test_call(gateway, test, Cancellation()))


async def play(session: SessionHandle, count: int, slot: Slot = Slot.RED) -> None:
    """Play prompts to their replies, and wait for the summaries that follow."""
    for _ in range(count):
        number = session.snapshot.session.prompt_index + 1
        await done(session, await session.submit_prompt(slot, f"What now, prompt {number}?"))
        await session.wait_idle()


async def play_to_the_end(session: SessionHandle, count: int) -> None:
    await play(session, count)
    await session.end_chapter()
    await session.wait_idle()
    assert session.snapshot.session.state is SessionState.ENDED


def end_writers(url: str) -> None:
    """End every connection that holds a writer's lock, as a broken network does."""
    _end(url, "pg_locks WHERE locktype = 'advisory' AND granted")


def end_connections(url: str) -> None:
    """End every connection of the program."""
    _end(url, "pg_stat_activity WHERE application_name = 'storyengine'")


def _end(url: str, which: LiteralString) -> None:
    """End connections, and return when they are gone."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM " + which)


class Wrapped:
    """A store, or a part of one, that is another one but for what a test changes."""

    def __init__(self, inner: Any, **changed: object) -> None:
        self._inner = inner
        vars(self).update(changed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Outage(Wrapped):
    """A store whose commits fail as long as `trouble` returns an error for them.

    With `is_late`, what fails has been stored all the same: only the answer was lost.
    """

    def __init__(self, inner: SessionStore, *, is_late: bool = False) -> None:
        super().__init__(inner)
        self._is_late = is_late
        self.trouble: Callable[[Changes], Exception | None] = lambda _: None
        self.failures = 0

    async def commit(self, changes: Changes, lease: Lease) -> None:
        error = self.trouble(changes)
        if error is None or self._is_late:
            await self._inner.commit(changes, lease)
        if error is not None:
            self.failures += 1
            raise error

    def fail(self, times: int, error: Exception, test: Callable[[Changes], object] = bool) -> None:
        """Fail the next `times` commits that pass the test."""
        left = times

        def trouble(changes: Changes) -> Exception | None:
            nonlocal left
            if not left or not test(changes):
                return None
            left -= 1
            return error

        self.trouble = trouble
