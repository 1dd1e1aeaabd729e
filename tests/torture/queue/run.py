"""The run: windows that are processes, killed, closed and paused at random, and the rules afterwards."""

import asyncio
import os
import random
import signal
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final, LiteralString

import psycopg

from core.engine.engine import Engine
from core.providers.scripted.provider import ScriptedProvider
from db.store import open_store
from tests.e2e.prefork import FORKS
from tests.engine.windows import CHOICES, create
from tests.store.servers import plain_url
from tests.torture.queue.audit import watch
from tests.torture.queue.rules import QueueFigures, check
from tests.torture.queue.window import LEFT, Orders, run_window

CHUNK: Final = 4
PLACES: Final = 2
_LOOK_SECONDS: Final = 0.05
_PAUSE_SECONDS: Final = 0.3
_STUCK_SECONDS: Final = 60.0
"""Without any settled request for so long, the run is stuck."""

_STATE: Final[Sequence[LiteralString]] = (
    "SELECT now(), to_jsonb(paused) FROM queue_state paused",
    "SELECT to_jsonb(chapter) FROM session chapter",
    "SELECT to_jsonb(asked) FROM llm_request asked WHERE state NOT IN ('done', 'cancelled')",
    "SELECT to_jsonb(call) FROM lane_call call",
    "SELECT to_jsonb(held) FROM pg_locks held WHERE locktype = 'advisory' OR NOT granted",
)
"""What is printed of a run that is stuck."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a run."""

    requests: int
    chapters: int
    windows: int
    troubles: int
    """Of each kind: a kill, a window that is closed and opened again, a pause."""


FULL: Final = Size(requests=10_000, chapters=20, windows=4, troubles=25)
SHORT: Final = Size(requests=50, chapters=2, windows=2, troubles=1)


class QueueRun:
    """One run on one database."""

    def __init__(self, url: str, size: Size, seed: int, folder: Path) -> None:
        self._url, self._size = url, size
        self._chance = random.Random(seed)
        self._ledger = folder / "confirmed"
        self._ledger.touch()
        self._chapters: list[list[str]] = []
        self._windows: dict[int, ForkServerProcess] = {}
        self._begun = 0
        self.kills = self.restarts = self.pauses = 0

    async def play(self) -> QueueFigures:
        """Play all chapters to their ends, and hold what was noted against the rules."""
        store = await open_store(self._url)
        engine = Engine(store, ScriptedProvider(), CHOICES, label="beside")
        try:
            ids = [str(await create(store, CHUNK)) for _ in range(self._size.chapters)]
            await asyncio.to_thread(watch, plain_url(self._url))
            count = self._size.windows
            self._chapters = [ids[number::count] for number in range(count)]
            for number in range(count):
                await self._open(number)
            await self._trouble(engine)
        finally:
            for window in self._windows.values():
                window.kill()
                await asyncio.to_thread(window.join)
            await engine.aclose()
        with psycopg.connect(plain_url(self._url)) as connection:
            return check(connection, PLACES, self._ledger.read_text().split())

    async def _open(self, number: int) -> None:
        self._begun += 1
        orders = Orders(
            url=self._url,
            label=f"window {self._begun}",
            chapters=tuple(self._chapters[number]),
            requests=-(-self._size.requests // self._size.chapters),
            places=PLACES,
            seed=self._chance.randrange(10**9),
            ledger=str(self._ledger),
        )
        self._windows[number] = FORKS.Process(target=run_window, args=(orders,))
        await asyncio.to_thread(self._windows[number].start)

    async def _trouble(self, engine: Engine) -> None:
        """Make trouble at so many moments of the run, drawn by its seed, until all windows are done."""
        each = self._size.troubles
        kinds: list[Callable[[Engine], Awaitable[None]]]
        kinds = [self._kill] * each + [self._restart] * each + [self._pause] * each
        self._chance.shuffle(kinds)
        moments = sorted(self._chance.uniform(0.02, 0.9) * self._size.requests for _ in kinds)
        planned = list(zip(moments, kinds, strict=True))
        with psycopg.connect(plain_url(self._url), autocommit=True) as connection:
            settled, since = 0, asyncio.get_running_loop().time()
            while await self._go_on():
                before, settled = settled, _settled(connection)
                now = asyncio.get_running_loop().time()
                since = now if settled != before else since
                if now - since >= _STUCK_SECONDS:
                    raise AssertionError(await self._stuck(connection, settled))
                while planned and planned[0][0] <= settled:
                    await planned.pop(0)[1](engine)
                await asyncio.sleep(_LOOK_SECONDS)

    async def _stuck(self, connection: psycopg.Connection[tuple[object, ...]], settled: int) -> str:
        """Return what waits and who runs; the windows print what each of their tasks waits for."""
        for window in self._windows.values():
            if window.pid is not None and window.exitcode is None:
                os.kill(window.pid, signal.SIGUSR1)
        await asyncio.sleep(_PAUSE_SECONDS)
        rows = [row for query in _STATE for row in connection.execute(query).fetchall()]
        ends = {number: window.exitcode for number, window in self._windows.items()}
        return "\n".join([f"stuck after {settled} requests; windows {ends}", *map(str, rows)])

    async def _go_on(self) -> bool:
        """Open the windows again that were closed; whether one plays."""
        for number, window in list(self._windows.items()):
            if window.exitcode is None:
                continue
            assert window.exitcode in (0, LEFT, -9, -15), f"window {number} ended with {window.exitcode}"
            if window.exitcode == 0:
                del self._windows[number]
            else:
                await self._open(number)
        return bool(self._windows)

    async def _kill(self, _: Engine) -> None:
        await self._end(ForkServerProcess.kill)
        self.kills += 1

    async def _restart(self, _: Engine) -> None:
        await self._end(ForkServerProcess.terminate)
        self.restarts += 1

    async def _end(self, how: Callable[[ForkServerProcess], None]) -> None:
        window = self._chance.choice(list(self._windows.values()))
        how(window)
        await asyncio.to_thread(window.join)

    async def _pause(self, engine: Engine) -> None:
        await engine.queue.pause()
        await asyncio.sleep(_PAUSE_SECONDS)
        await engine.queue.resume()
        self.pauses += 1


def _settled(connection: psycopg.Connection[tuple[object, ...]]) -> int:
    [(count,)] = connection.execute(
        "SELECT count(*) FROM llm_request WHERE state IN ('done', 'cancelled')"
    ).fetchall()
    assert isinstance(count, int)
    return count


async def torture_queue(url: str, size: Size, seed: int) -> tuple[QueueRun, QueueFigures]:
    """Make a run, and return it with its figures."""
    with tempfile.TemporaryDirectory(prefix="storyengine-queue-") as folder:
        run = QueueRun(url, size, seed, Path(folder))
        return run, await run.play()
