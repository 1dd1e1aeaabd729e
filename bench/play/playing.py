"""Measures the engine's own cost of a prompt, at the beginning and at the end of a very long chapter.

    python -m bench.play.playing [--prompts 10000]

Plays a chapter with the scripted provider at full speed on the private server, and between prompts
commits a bare single row on the same server in two ways: as a program with our libraries does it
(SQLModel, a session, a transaction), and as the bare driver does it in autocommit, which is the round
trip and the flush alone. Printed as medians and ratios:

- engine work per prompt (submitting to settled, less the time inside the provider) against both;
- the same near the last prompt against that near the tenth;
- resident memory near the last prompt against that near the tenth;
- work for a prompt where every prompt has three takes against one where none has several, and for a re-roll,
  in two chapters that are played in turns;
- the same where a character is absent, prompts are whispered and secrets are kept: see
  `bench.play.audiences`.
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlmodel import Field, SQLModel

from bench.measure import Figure, print_table, resident_bytes
from bench.play.audiences import with_audiences
from bench.play.timed_provider import PROMPT, TimedProvider, lock_chapter, work_of
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.slot import Slot, slot_after
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from db.connections import open_engine, parse_url
from db.embedded.server import EmbeddedServer
from db.store import open_store

NEAR = 200
"""Number of prompts around the tenth and around the last that are measured."""
TAKES = 3
MOST_WITH_TAKES = 700
"""Prompts of each of the chapters with and without takes, at most."""


class Bare(SQLModel, table=True):
    """A single row of nothing in particular."""

    __tablename__ = "bare"
    __table_args__ = {"schema": "bench"}

    id: UUID = Field(primary_key=True)
    body: str


class BareCommits:
    """A single row, committed: the floor under every stored thing."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]], engine: AsyncEngine) -> None:
        self._connection = connection
        self._engine = engine
        self.by_driver: list[float] = []
        self.by_session: list[float] = []

    @classmethod
    async def connect(cls, conninfo: str, engine: AsyncEngine) -> "BareCommits":
        """Connect, and make the table."""
        connection = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
        await connection.execute("CREATE SCHEMA bench")
        await connection.execute("CREATE TABLE bench.bare (id uuid PRIMARY KEY, body text)")
        return cls(connection, engine)

    async def commit(self) -> None:
        """Commit one row each way and note the seconds that it took."""
        began = time.perf_counter()
        await self._connection.execute("INSERT INTO bench.bare VALUES (%s, %s)", [uuid4(), PROMPT])
        self.by_driver.append(time.perf_counter() - began)
        began = time.perf_counter()
        async with AsyncSession(self._engine) as session:
            session.add(Bare(id=uuid4(), body=PROMPT))
            await session.commit()
        self.by_session.append(time.perf_counter() - began)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.close()
        await self._engine.dispose()


async def measure(prompts: int, home: Path) -> list[Figure]:
    """Play `prompts` prompts and return the figures."""
    server = EmbeddedServer(home)
    url = await asyncio.to_thread(server.acquire)
    store = await open_store(url)
    provider = TimedProvider()
    profile = ProfileSettings(provider="scripted")
    engine = Engine(store, provider, choose_models(profile), label="bench")
    conninfo = " ".join(f"{key}='{value}'" for key, value in server.connection_parameters().items())
    bare = await BareCommits.connect(conninfo, open_engine(parse_url(url)))
    try:
        session = await engine.open(await engine.create())
        try:
            figures = await _play(session, provider, bare, prompts)
        finally:
            await session.aclose()
        figures += await _with_takes(engine, provider, min(prompts, MOST_WITH_TAKES))
        return figures + await with_audiences(engine, provider, min(prompts, MOST_WITH_TAKES))
    finally:
        await bare.aclose()
        await engine.aclose()
        await asyncio.to_thread(server.release)


async def _play(
    session: SessionHandle, provider: TimedProvider, bare: BareCommits, prompts: int
) -> list[Figure]:
    await lock_chapter(session)
    work: list[float] = []
    memory: list[int] = []
    slot = Slot.RED
    for index in range(prompts):
        await session.wait_idle()
        if index % 5 == 0:
            await bare.commit()
        work.append(await work_of(session, provider, session.submit_prompt(slot, f"{PROMPT} ({index})")))
        slot = slot_after(slot, session.snapshot.session.slots)
        if index in (9, prompts - 1):
            gc.collect()
            memory.append(resident_bytes())
    return _figures(work, bare, memory, prompts)


async def _with_takes(engine: Engine, provider: TimedProvider, prompts: int) -> list[Figure]:
    """Play a chapter without takes and one with three takes a prompt, in turns; return work and ratios."""
    plain, taken = [await engine.open(await engine.create()) for _ in range(2)]
    work: dict[str, list[float]] = {"plain": [], "prompt": [], "reroll": []}
    try:
        for session in (plain, taken):
            await lock_chapter(session)
        for index in range(prompts):
            text = f"{PROMPT} ({index})"
            work["plain"].append(await work_of(plain, provider, plain.submit_prompt(Slot.RED, text)))
            await plain.wait_idle()
            work["prompt"].append(await work_of(taken, provider, taken.submit_prompt(Slot.RED, text)))
            await taken.wait_idle()
            for _ in range(TAKES - 1):
                work["reroll"].append(await work_of(taken, provider, taken.takes.reroll()))
                await taken.wait_idle()
    finally:
        await plain.aclose()
        await taken.aclose()
    without, with_takes, reroll = (statistics.median(seconds) for seconds in work.values())
    return [
        Figure("work for a prompt in a chapter without takes", without * 1000, "ms"),
        Figure.at_most(
            f"  where each has {TAKES} takes", with_takes * 1000, "ms", with_takes / without, 1.05, "without"
        ),
        Figure.at_most("  for a re-roll", reroll * 1000, "ms", reroll / without, 1.3, "a prompt"),
    ]


def _figures(work: list[float], bare: BareCommits, memory: list[int], prompts: int) -> list[Figure]:
    near = min(NEAR, prompts // 3)
    few = max(1, near // 5)
    ends = {"10": (work[9 : 9 + near], slice(few)), f"{prompts:,}": (work[-near:], slice(-few, None))}
    figures = [
        Figure("a bare row through SQLModel", statistics.median(bare.by_session) * 1000, "ms"),
        Figure("a bare row through the driver", statistics.median(bare.by_driver) * 1000, "ms"),
    ]
    for name, (seconds, beside) in ends.items():
        median = statistics.median(seconds)
        for floor, commits in {"SQLModel": bare.by_session, "the driver": bare.by_driver}.items():
            ratio = median / statistics.median(commits[beside])
            what = f"work near prompt {name}, against {floor}"
            figures.append(Figure.at_most(what, median * 1000, "ms", ratio, 4))
    early, late = (statistics.median(seconds) for seconds, _ in ends.values())
    return [
        *figures,
        Figure.at_most("work, the last against the tenth", late * 1000, "ms", late / early, 1.3),
        Figure("resident memory at prompt 10", memory[0] / 2**20, "MB"),
        Figure.at_most(
            f"resident memory at prompt {prompts:,}", memory[-1] / 2**20, "MB", memory[-1] / memory[0], 1.2
        ),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(measure(arguments.prompts, Path(folder) / "postgres"))
    print_table(f"Playing {arguments.prompts:,} prompts", figures)


if __name__ == "__main__":
    main()
