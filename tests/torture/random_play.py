"""Random play: the real engine on a real server, with random commands, faults of model and store, and
crashes, against a small model of the rules of design 4 to 6.

After every step plain SQL looks at the session (`tests.torture.reader`), and the model adds what only it
knows: every word that was confirmed is somewhere, none is in the story twice, and the story only grows.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, ClassVar

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.engine import commands
from core.engine.clock import utc_now
from core.engine.open_session import OpenSession
from core.errors import ErrorCode, StorageError, StoryEngineError
from core.export import from_json, read_body, to_json
from core.ids import RequestId, SessionId
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted import ScriptedProvider
from core.request import Request, RequestKind, RequestState
from core.session import SessionState
from core.slot import Slot
from core.store import Changes, Snapshot
from db.store import PostgresStore, open_store
from tests.engine.windows import Outage, create, engine_on, set_up
from tests.store.servers import plain_url
from tests.torture.reader import Connection, check_session

PATIENCE = 30.0
CHUNK = 3
AWAY = StorageError(ErrorCode.STORAGE_SAVE_FAILED)
CODES = (
    ErrorCode.LLM_TIMEOUT,
    ErrorCode.LLM_RATE_LIMITED,
    ErrorCode.LLM_AUTH_ERROR,
    ErrorCode.LLM_SERVER_ERROR,
    ErrorCode.CONSENT_REQUIRED,
)
SLOTS = st.sampled_from([Slot.RED, Slot.ORANGE])
PADDING = " and the ice sings under the boards of the pier while nobody looks" * 3
"""So that what is summarised is longer than its summary."""


class Puppet(ScriptedProvider):
    """Answers, fails, or says nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[ErrorCode] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        await self.gate.wait()
        if self.faults:
            raise ProviderError(self.faults.pop(0), is_retryable=True)
        async for item in super().stream(request):
            yield item


class Figures:
    """How much was done, over all runs."""

    runs = steps = crashes = faults = outages = words = 0


class RandomPlay(RuleBasedStateMachine):
    """One session, in one window after another."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        Figures.runs += 1
        self._loop = asyncio.new_event_loop()
        self._raw: Connection = psycopg.connect(plain_url(self.url), autocommit=True)
        self._model = Puppet()
        self._stored: list[str] = []
        self._confirmed: set[str] = set()
        self._count = 0
        self._diary: list[str] = []

    def do(self, work: Awaitable[Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._loop.run_until_complete(bounded())

    def attempt(self, command: Callable[[], Awaitable[Any]], *words: str) -> None:
        """Give a command; what it confirms is to be kept, what it refuses with a sentence is not."""
        try:
            self.do(command())
        except StoryEngineError as error:
            self._diary.append(f"refused {words}: {error.code}")
            return
        self._diary.append(f"confirmed {words}")
        self._confirmed.update(words)

    def word(self) -> str:
        self._count += 1
        Figures.words += 1
        return f"<{self._count}>"

    # Windows

    @initialize(is_locked=st.booleans())
    def begin(self, is_locked: bool) -> None:
        self.do(self._begin())
        if is_locked:
            self.attempt(self.session.lock)
            self.wait_idle()

    async def _begin(self) -> None:
        self._session_id: SessionId
        self._store: PostgresStore = await open_store(self.url)
        self._session_id = await create(self._store, CHUNK)
        await self._open()
        await set_up(self.session, 2)

    async def _open(self) -> None:
        self._outage = Outage(self._store)
        engine = engine_on(self._outage, self._model, label=f"window {Figures.crashes}", backoff=0.01)
        self.session: OpenSession = await engine.open(self._session_id)
        assert not self.session.is_read_only

    @rule()
    def close_and_open(self) -> None:
        self.do(self._reopen())

    async def _reopen(self) -> None:
        self._outage.fail(0, AWAY)
        self._model.gate.set()
        await self.session.aclose()
        await self._is_imported_again()
        await self._open()

    @rule()
    def crash_and_open(self) -> None:
        """Everything that runs ends where it is; only what is stored is left."""
        Figures.crashes += 1
        self.do(self._crash())

    async def _crash(self) -> None:
        mine = asyncio.current_task()
        running = [task for task in asyncio.all_tasks() if task is not mine]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._store.aclose()
        self._model.gate.set()
        self._store = await open_store(self.url)
        await self._is_imported_again()
        await self._open()

    async def _is_imported_again(self) -> None:
        """What the program wrote, and left behind at any moment, is never refused."""
        body = await read_body(self._store, self._session_id)
        assert from_json(to_json(body)) == body

    # The GM. What comes back joins what stands in a panel before the GM types on, as on the screen: so what
    # is typed or sent is decided in the transaction, on what is stored then.

    @rule()
    def lock(self) -> None:
        self.attempt(self.session.lock)

    @rule(slot=SLOTS)
    def type_in_the_composer(self, slot: Slot) -> None:
        word = self.word()

        def typed(snapshot: Snapshot) -> Changes:
            return commands.save_unsent(snapshot, slot, _with(snapshot, slot, word))

        self.attempt(lambda: self.session._writer.apply(typed), word)

    @rule(slot=SLOTS)
    def send_what_is_in_the_composer(self, slot: Slot) -> None:
        word = self.word()

        def sent(snapshot: Snapshot) -> tuple[Changes, RequestId]:
            text = _with(snapshot, slot, word + PADDING)
            return commands.submit_prompt(snapshot, slot, text, utc_now())

        self.attempt(lambda: self.session._ask(sent), word)

    @rule(slot=SLOTS, count=st.integers(1, 3))
    def play_on(self, slot: Slot, count: int) -> None:
        for _ in range(count):
            word = self.word()
            send = partial(self.session.submit_prompt, slot, f"{word}{PADDING}", is_typed=False)
            self.attempt(send, word)
            self.wait_idle()

    # What is drawn must not hang on how far the engine has come, or a run could not be repeated.

    @rule(which=st.integers(0, 3))
    def retry(self, which: int) -> None:
        for request in self.failed()[which : which + 1]:
            self.attempt(partial(self.session.retry, request.id))

    @rule(which=st.integers(0, 3), is_cancelled=st.booleans())
    def take_back(self, which: int, is_cancelled: bool) -> None:
        command = self.session.cancel if is_cancelled else self.session.take_back
        for request in self.session.snapshot.requests[which : which + 1]:
            self.attempt(partial(command, request.id))

    @rule()
    def end_the_chapter(self) -> None:
        self.attempt(self.session.end_chapter)

    @rule()
    def build_the_narrative(self) -> None:
        self.attempt(self.session.build_narrative)

    # The world outside

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

    @rule()
    def fall_silent(self) -> None:
        self._model.gate.clear()

    @rule(codes=st.lists(st.sampled_from(CODES), min_size=1, max_size=3))
    def fail_the_next_calls(self, codes: list[ErrorCode]) -> None:
        Figures.faults += len(codes)
        self._model.faults = codes

    @rule(times=st.integers(1, 4), is_late=st.booleans())
    def lose_the_next_commits(self, times: int, is_late: bool) -> None:
        Figures.outages += 1
        self._outage._is_late = is_late
        self._outage.fail(times, AWAY)

    @rule(turns=st.integers(1, 30))
    def let_it_run(self, turns: int) -> None:
        async def run() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.do(run())

    def failed(self) -> list[Request]:
        return [one for one in self.session.snapshot.requests if one.state is RequestState.FAILED]

    # What must hold

    @invariant()
    def the_rules_hold_in_the_database(self) -> None:
        if not hasattr(self, "session"):
            return
        Figures.steps += 1
        with self._raw.transaction():
            self._raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            check_session(self._raw, self._session_id)
            told, elsewhere = self._texts()
        assert told[: len(self._stored)] == self._stored, "the story only grows"
        self._stored = told
        twice = [word for word, count in Counter(_words("\n".join(told))).items() if count > 1]
        assert not twice, f"in the story twice: {twice}"
        kept = _words("\n".join((*told, *elsewhere)))
        gone = self._confirmed - set(kept)
        assert not gone, f"confirmed, and gone: {gone}; {self._diary}"

    def _texts(self) -> tuple[list[str], list[str]]:
        """Return the GM's prompts in the story, and everything else of the GM's that is stored."""
        key = [self._session_id]
        told = self._raw.execute(
            "SELECT text FROM event WHERE session_id = %s AND ordinal = 0 ORDER BY prompt_index", key
        ).fetchall()
        asked = self._raw.execute(
            "SELECT text FROM llm_request WHERE session_id = %s"
            " AND state IN ('pending', 'processing', 'failed')",
            key,
        ).fetchall()
        unsent = self._raw.execute("SELECT text FROM unsent_text WHERE session_id = %s", key).fetchall()
        return [text for (text,) in told], [text for (text,) in (*asked, *unsent)]

    def teardown(self) -> None:
        """Whatever happened, the chapter can be played to its end."""
        try:
            if hasattr(self, "session"):
                self._outage.fail(0, AWAY)
                self._model.faults = []
                self.do(self._finish())
                self.the_rules_hold_in_the_database()
        finally:
            self._loop.run_until_complete(self._let_go())
            self._loop.close()
            self._raw.close()

    async def _let_go(self) -> None:
        if hasattr(self, "session"):
            await self.session.aclose()
            await self._store.aclose()

    async def _finish(self) -> None:
        self._model.gate.set()
        await self._settled()
        while failed := [one for one in self.failed() if one.kind is RequestKind.REPLY]:
            await self.session.retry(failed[0].id)
            await self._settled()
        for _ in range(5):
            state = self.session.snapshot.session.state
            if state is SessionState.DRAFT_TAB1:
                await self.session.wait(await self.session.lock())
            elif state is SessionState.ACTIVE:
                await self.session.end_chapter()
            await self.session.wait_idle()
        assert self.session.snapshot.session.state is SessionState.ENDED
        if self.session.snapshot.session.prompt_index:
            built = await self.session.wait(await self.session.build_narrative())
            assert built.state is RequestState.DONE, built
        assert not [one for one in self.session.snapshot.requests if one.kind is RequestKind.SUMMARY]
        await self._is_imported_again()


def _with(snapshot: Snapshot, slot: Slot, word: str) -> str:
    """Return what a panel holds once a word more is typed in it."""
    return f"{snapshot.unsent.get(slot, '')} {word}".strip()


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word.startswith("<") and word.endswith(">")]
