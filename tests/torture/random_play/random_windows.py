"""The windows of random play: opened, closed, crashed, one beside the other, and handed over; and resets."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core.domain.errors import ErrorCode, SessionLockedError, StorageError, StoryEngineError
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from db.store import PostgresStore, open_store
from tests.engine.windows import Outage, create, end_writers, engine_on, set_up
from tests.store.servers import plain_url
from tests.torture.random_play.random_words import Ledger
from tests.torture.readers.reader import Connection

PATIENCE = 60.0
CHUNK = 3
AWAY = StorageError(ErrorCode.STORAGE_SAVE_FAILED)
CODES = (
    ErrorCode.LLM_TIMEOUT,
    ErrorCode.LLM_RATE_LIMITED,
    ErrorCode.LLM_AUTH_ERROR,
    ErrorCode.LLM_SERVER_ERROR,
    ErrorCode.CONSENT_REQUIRED,
)

SELDOM_NOT = st.sampled_from([True, True, True, False])


class Puppet(ScriptedProvider):
    """Answers, fails, or says nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[tuple[ErrorCode, bool]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        await self.gate.wait()
        code, is_late = self.faults.pop(0) if self.faults else (None, False)
        if code is not None and not is_late:
            raise ProviderError(code)
        async for item in super().stream(request):
            yield item
            if code is not None:
                Figures.cut_streams += 1
                raise ProviderError(code)


class Figures:
    """Counts of all runs."""

    runs = steps = crashes = faults = cut_streams = outages = windows = resets = 0
    words = confirmed = lost = twice = 0


class Leaving(Enum):
    """A way in which the GM leaves a chapter for a moment, or for good."""

    CLOSED = auto()
    RESET = auto()
    RESET_CRASHED = auto()


class SecondWindow(Enum):
    """Actions in a second window."""

    READ = auto()
    CLOSE = auto()
    HAND_OVER = auto()


@dataclass
class Window:
    """An open session on a store of its own, whose commits can be made to fail."""

    store: PostgresStore
    outage: Outage
    session: SessionHandle


class RandomWindows(RuleBasedStateMachine):
    """One chapter after the other, in one window after another, some with a second one beside it."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        Figures.runs += 1
        self._loop = asyncio.new_event_loop()
        self._raw: Connection = psycopg.connect(plain_url(self.url), autocommit=True)
        self._model = Puppet()
        self._ledger = Ledger(self._raw)
        self._count = 0
        self._second: Window | None = None

    def do(self, work: Awaitable[Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._loop.run_until_complete(bounded())

    def attempt(self, command: Callable[[], Awaitable[Any]], *words: str) -> bool:
        """Give a command; what it confirms is to be kept, what it refuses with a sentence is not."""
        try:
            self.do(command())
        except StoryEngineError as error:
            self._ledger.diary.append(f"refused {words}: {error.code}")
            return False
        self._ledger.diary.append(f"confirmed {words}")
        self._ledger.confirm(self._session_id, words)
        return True

    def word(self) -> str:
        self._count += 1
        Figures.words += 1
        return f"<{self._count}>"

    @property
    def session(self) -> SessionHandle:
        """The session in the window that writes."""
        return self._first.session

    # Windows

    @initialize(is_locked=SELDOM_NOT)
    def begin(self, is_locked: bool) -> None:
        self.do(self._begin())
        self._lock_if(is_locked)

    def _lock_if(self, is_locked: bool) -> None:
        if is_locked:
            self.attempt(self.session.lock)
            self.wait_idle()

    async def _begin(self) -> None:
        store = await open_store(self.url)
        self._session_id: SessionId = await create(store, CHUNK)
        self._ledger.begin(self._session_id)
        self._first: Window = await self._opened(store)
        assert not self.session.is_read_only
        await set_up(self.session, 2)

    async def _opened(self, store: PostgresStore) -> Window:
        """Open the session in a window with a name of its own."""
        Figures.windows += 1
        outage = Outage(store)
        engine = engine_on(outage, self._model, label=f"window {Figures.windows}", backoff=0.01)
        return Window(store, outage, await engine.open(self._session_id))

    # What is seldom shares a rule: each rule is as likely as another.

    @rule(
        how=st.sampled_from([*[Leaving.CLOSED] * 3, *Leaving]), turns=st.integers(1, 60), is_locked=SELDOM_NOT
    )
    def leave_and_come_back(self, how: Leaving, turns: int, is_locked: bool) -> None:
        """Close and open, or set the chapter aside for another; a reset may crash after so many turns."""
        if how is Leaving.CLOSED:
            self.do(self._reopen())
            return
        self.do(self._close_second())
        Figures.resets += 1
        if how is Leaving.RESET_CRASHED:
            self.do(self._begin_reset(turns))
            self.crash_and_open()
        elif self.attempt(self._reset):
            self.do(self._begin_anew())
            self._lock_if(is_locked)
        else:
            self.do(self._reopen())

    async def _reopen(self) -> None:
        self._first.outage.fail(0, AWAY)
        self._model.gate.set()
        await self.session.aclose()
        await self._is_imported_again()
        self._first = await self._opened(self._first.store)
        assert not self.session.is_read_only

    @rule()
    def crash_and_open(self) -> None:
        """Everything that runs ends where it is, in every window; only what is stored is left."""
        Figures.crashes += 1
        self.do(self._crash())

    async def _crash(self) -> None:
        mine = asyncio.current_task()
        running = [task for task in asyncio.all_tasks() if task is not mine]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for window in filter(None, (self._first, self._second)):
            await window.store.aclose()
        self._second = None
        self._model.gate.set()
        store = await open_store(self.url)
        self._first = await self._opened(store)
        assert not self.session.is_read_only
        await self._is_imported_again()

    async def _is_imported_again(self) -> None:
        """Check that files which the program wrote, at whatever moment, are never refused."""
        body = await read_body(self._first.store, self._session_id)
        assert from_json(to_json(body)) == body

    @rule(action=st.sampled_from(SecondWindow))
    def use_a_second_window(self, action: SecondWindow) -> None:
        """Open one, or, where there is one, read along in it, close it, or go on in it."""
        if self._second is None:
            self.do(self._open_second())
            return
        match action:
            case SecondWindow.READ:
                self.do(self._read_along(self._second))
            case SecondWindow.CLOSE:
                self.do(self._close_second())
            case SecondWindow.HAND_OVER:
                self.do(self._hand_over(self._second))

    async def _open_second(self) -> None:
        self._second = await self._opened(await open_store(self.url))
        self._handle_writer_change()

    def _handle_writer_change(self) -> None:
        """The first window is the one that writes: the other found its place empty, and took it."""
        if self._second is not None and not self._second.session.is_read_only:
            self._first, self._second = self._second, self._first

    async def _read_along(self, window: Window) -> None:
        """It shows what is stored, and stores nothing."""
        if not window.session.is_read_only:
            return  # its lock was lost and taken: it hears of that when it next has something to store
        while await self._is_behind(window):  # noqa: ASYNC110 - it hears of each commit a moment later
            await asyncio.sleep(0.005)  # between two looks: nothing of the window's own tells
        text = f"{window.session.snapshot.unsent.get(Slot.RED, '')} not here"
        with pytest.raises(SessionLockedError):
            await window.session.edits.save_unsent(Slot.RED, text)

    async def _is_behind(self, window: Window) -> bool:
        return window.session.snapshot.session != (await window.store.load(self._session_id)).session

    async def _hand_over(self, successor: Window) -> None:
        for window in (self._first, successor):
            window.outage.fail(0, AWAY)
        await self.session.aclose()
        await self._first.store.aclose()
        assert await successor.session.take_over(), "who wrote is gone"
        self._first, self._second = successor, None

    @rule(is_taken=st.booleans())
    def lose_the_lock(self, is_taken: bool) -> None:
        """The connection that holds it breaks; the second window may be quicker than the first."""
        end_writers(self.url)
        if self._second is not None and is_taken:
            self.attempt(self._second.session.take_over)
            self._handle_writer_change()

    async def _close_second(self) -> None:
        if self._second is not None:
            await self._second.session.aclose()
            await self._second.store.aclose()
            self._second = None

    async def _reset(self) -> None:
        fresh = await self.session.reset()
        self._session_id = fresh
        self._ledger.begin(fresh)

    async def _begin_reset(self, turns: int) -> None:
        self._resetting = asyncio.ensure_future(self.session.reset())
        for _ in range(turns):
            await asyncio.sleep(0)

    async def _begin_anew(self) -> None:
        self._first = await self._opened(self._first.store)
        await set_up(self.session, 2)

    @rule()
    def wait_idle(self) -> None:
        """Let the model answer, and everything settle that does not wait for the GM."""
        self._model.gate.set()
        self.do(self._settled())

    async def _settled(self) -> None:
        while True:
            requests = self.session.snapshot.requests
            has_failed = any(
                one.kind is RequestKind.REPLY and one.state is RequestState.FAILED for one in requests
            )
            # What is queued behind a prompt that failed waits until the GM has seen to that one.
            busy = [
                one
                for one in requests
                if one.state.is_open and not (has_failed and one.state is RequestState.PENDING)
            ]
            if not busy:
                return
            await asyncio.sleep(0.001)
