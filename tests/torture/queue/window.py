"""One window of the run, in a process that is killed at any time.

It has some chapters open, a GM for each who asks for whatever there is, and a model that is slow and fails.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, ParamSpec, TypeVar
from uuid import UUID

from core.agents.assist import AssistRequest, Field, Task
from core.config.models.assignments import ModelAssignments
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import NarrativeRequest, ReplyRequest, Request
from core.domain.requests.request_kinds import Level, RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.services.speaking.afterthoughts import IdleClock
from core.engine.session.session_handle import SessionHandle
from core.gateway.lanes import Lane
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Script, ScriptMatch
from db.store import open_store
from tests.core.values.sessions import waiting
from tests.engine.windows import CHOICES, set_up

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")

ACCOUNT: Final = "work"
FAILS: Final = 0.06
"""The share of the calls that fail, before or within the answer."""
SLOWEST: Final = 0.01
"""Seconds that a model thinks at most."""
FASTER: Final = 1_000.0
"""How many times faster than usual the GM is taken to be idle for long."""
MOST_OPEN: Final = 25
"""Open requests of a chapter at which its GM waits."""
CODES: Final = (
    ErrorCode.LLM_TIMEOUT,
    ErrorCode.LLM_RATE_LIMITED,
    ErrorCode.LLM_SERVER_ERROR,
    ErrorCode.LLM_AUTH_ERROR,
)
SLOTS: Final = (Slot.RED, Slot.ORANGE, Slot.YELLOW)
LEFT: Final = 3
"""The exit code of a window that was closed before its chapters were done."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders to one window."""

    url: str
    label: str
    chapters: tuple[str, ...]
    requests: int
    """For each chapter, at least."""
    places: int
    seed: int
    ledger: str
    """The file to which each request that was confirmed is added."""


class Model(ScriptedProvider):
    """Is slow, and fails at random; a character decides at random whether it adds something."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(Script(reply=(_decision(speaks=True), _decision(speaks=False, calls=2))))
        self._chance = chance

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Answer, or fail before or within the answer."""
        fails, is_late = self._chance.random() < FAILS, self._chance.random() < 0.5
        error = ProviderError(self._chance.choice(CODES), retry_after=self._chance.choice((None, 0.05)))
        await asyncio.sleep(self._chance.random() * SLOWEST)
        if fails and not is_late:
            raise error
        async for item in super().stream(request):
            yield item
            if fails:
                raise error
            await asyncio.sleep(0)


def _decision(*, speaks: bool, calls: int = 1) -> Entry:
    payload: dict[str, object] = {"reason": "It is late.", "speaks": speaks}
    return Entry(match=ScriptMatch(schema="afterthought"), payload=payload, times=None if calls == 1 else 1)


class Gm:
    """Asks for things in one chapter until there were enough, and sees to what fails."""

    def __init__(self, engine: Engine, session: SessionHandle, orders: Orders, chance: random.Random) -> None:
        self._engine, self._session, self._orders, self._chance = engine, session, orders, chance
        self._ledger = Path(orders.ledger)
        self._made = 0

    async def play(self) -> None:
        """Play until all that was asked for is settled, and the chapter has its text.

        The server may not have noticed yet that the window before this one was killed: then the chapter was
        opened to read, and is taken over.
        """
        while not await self._insist(self._session.take_over):  # noqa: ASYNC110 - no message comes
            await asyncio.sleep(SLOWEST)
        while (await self._count()) < self._orders.requests:
            for _ in range(12):
                with suppress(StoryEngineError):
                    await self._step()
                await asyncio.sleep(self._chance.random() * 2 * SLOWEST)
        await self._be_idle()
        await self._insist(self._session.afterthoughts.choose_speakers, (), is_on=False)
        while not await self._is_over():
            with suppress(StoryEngineError):
                await self._see_to_failures()
            await asyncio.sleep(SLOWEST)

    async def _be_idle(self) -> None:
        """Ask for nothing until a character was asked whether it adds something, by chance or by now.

        A window that has just opened its chapter begins to wait with a key.
        """
        self._session.afterthoughts.touch()
        while not any(one.kind is RequestKind.AFTERTHOUGHT for one in await self._requests()):
            session = self._session.snapshot.session
            with suppress(StoryEngineError):
                if session.prompt_index and session.adds_unasked:
                    await self._see_to_failures()
                else:
                    await self._step()
            await asyncio.sleep(SLOWEST)

    async def _count(self) -> int:
        """Return how many requests there are."""
        return len(await self._requests())

    async def _requests(self) -> Sequence[Request]:
        """Return all requests; a server that is too busy to answer is asked again."""
        return await self._insist(self._session.reads.requests)

    async def _insist(
        self, command: Callable[_Asked, Awaitable[_Answer]], *arguments: _Asked.args, **more: _Asked.kwargs
    ) -> _Answer:
        while True:
            try:
                return await command(*arguments, **more)
            except StoryEngineError:
                await asyncio.sleep(SLOWEST)

    async def _is_over(self) -> bool:
        """Go one step on towards the end; whether there is nothing left."""
        snapshot = self._session.snapshot
        if snapshot.requests:
            return False
        with suppress(StoryEngineError):
            match snapshot.session.state:
                case SessionState.ACTIVE if snapshot.session.prompt_index:
                    await self._session.end_chapter()
                case SessionState.ENDED if not snapshot.draft_count:
                    await self._confirm(await self._session.build_narrative())
                case SessionState.ENDED:
                    return True
                case _:
                    await self._step()
        return False

    async def _confirm(self, request_id: RequestId) -> None:
        with self._ledger.open("a") as file:
            file.write(f"{request_id}\n")

    async def _step(self) -> None:
        session, snapshot = self._session, self._session.snapshot
        if await self._see_to_failures():
            return
        if snapshot.session.state is SessionState.DRAFT_TAB1:
            await set_up(session)
            await self._confirm(await session.lock())
            return
        if snapshot.session.tab1_locked and not snapshot.session.adds_unasked:
            await session.afterthoughts.choose_speakers(SLOTS)
        if len(snapshot.requests) >= MOST_OPEN:
            return
        match self._chance.randrange(12):
            case 0 | 1 | 2:
                await self._prompt()
            case 3 | 4 | 5 | 6:
                for _ in range(self._chance.randint(1, 4)):
                    await self._ask_for_help()
            case 7:
                await self._change_queue()
            case 8 if snapshot.open_requests:
                await session.cancel(self._chance.choice(snapshot.open_requests).id)
            case 9 if self._chance.random() < 0.2:
                await self._rest()
            case _:
                await asyncio.sleep(self._chance.choice((2, 5, 20)) * SLOWEST)

    async def _rest(self) -> None:
        """Ask for nothing until all that waits is done, the least urgent too."""
        while any(one.state.is_open for one in self._session.snapshot.requests):
            await self._see_to_failures()
            await asyncio.sleep(SLOWEST)

    async def _prompt(self) -> None:
        slot = self._chance.choice(SLOTS)
        self._made += 1
        text = f"What now, {slot.name}? {self._orders.label}, {self._made}."
        await self._confirm(await self._session.submit_prompt(slot, text, is_typed=False))

    async def _ask_for_help(self) -> None:
        asked = AssistRequest(task=Task.SUGGEST, field=Field.WORLD, text="A sea of glass.", limit=4_000)
        request = self._session.assist.new(asked)
        level = self._chance.choice((Level.NORMAL, Level.NORMAL, Level.LOW))
        await self._session.background.add(replace(request, priority=level.first))
        await self._confirm(request.id)

    async def _change_queue(self) -> None:
        """Move, drop or stop something, or give up all that waits beside the play."""
        queue, requests = self._engine.queue, self._session.snapshot.requests
        if not requests:
            return
        request = self._chance.choice(requests)
        match self._chance.randrange(8):
            case 0 | 1 | 2:
                await queue.move_up(request.id)
            case 3 | 4:
                await queue.drop(request.id)
            case 5 | 6:
                await queue.stop(request.id)
            case _ if self._chance.random() < 0.1:
                await queue.clear_background()
            case _:
                await queue.recall(self._session.id)

    async def _see_to_failures(self) -> bool:
        failed = [one for one in self._session.snapshot.requests if one.has_failed]
        for request in failed:
            if self._may_drop(request):
                await self._engine.queue.drop(request.id)
            else:
                await self._session.retry(request.id)
        return bool(failed)

    def _may_drop(self, request: Request) -> bool:
        is_kept = not isinstance(request, ReplyRequest | NarrativeRequest) and not request.spec.is_background
        return not is_kept and self._chance.random() < 0.3


async def _all(gms: Iterable[Gm]) -> None:
    async with asyncio.TaskGroup() as group:
        for gm in gms:
            group.create_task(gm.play())


async def main(orders: Orders) -> int:
    """Play all chapters of this window; LEFT when it was asked to close before."""
    chance = random.Random(orders.seed)
    store = await open_store(orders.url)
    model = Model(chance)
    choices = ModelAssignments({role: replace(choice, account=ACCOUNT) for role, choice in CHOICES.items()})

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / FASTER)

    idle_clock = IdleClock(now=lambda: time.monotonic() * FASTER, sleep=sleep)
    engine = Engine(
        store,
        ScriptedProvider(),
        choices,
        label=orders.label,
        lanes={ACCOUNT: Lane(lambda: model, concurrency=orders.places)},
        play=waiting(0.02, background=0.02, tries=3, idle_clock=idle_clock),
    )
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _print_tasks, orders.label, engine)
    sessions = [await engine.open(SessionId(UUID(chapter))) for chapter in orders.chapters]
    playing = asyncio.create_task(_all(Gm(engine, session, orders, chance) for session in sessions))
    left = asyncio.create_task(leaving.wait())
    await asyncio.wait({playing, left}, return_when=asyncio.FIRST_COMPLETED)
    is_over = playing.done()
    playing.cancel()
    left.cancel()
    with suppress(asyncio.CancelledError):
        await playing  # a fault of a GM ends this process with it
    for session in sessions:
        await session.aclose()
    await engine.aclose()
    return 0 if is_over else LEFT


def _print_tasks(label: str, engine: Engine) -> None:
    """Print where each task of this window waits, and whether it takes the queue to be paused."""
    print(f"{label} ({os.getpid()}): paused {engine.queue.is_paused}", file=sys.stderr)
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


def run_window(orders: Orders) -> None:
    """Be a window, and end this process."""
    sys.exit(asyncio.run(main(orders)))
