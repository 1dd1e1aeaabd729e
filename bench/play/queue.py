"""From Enter to the first word of a reply with a thousand requests waiting beside the play, against none.

    python -m bench.play.queue [--prompts 60]

Two chapters are played in turns, one with 1,000 requests for help waiting and one without any; only one is
open at a time. The model of both says its first word after 0.2 seconds, and goes on as a service does. It is
measured at an account that takes any number of calls, and at one that takes a single call at a time: there
the work beside the play has to make room first.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from bench.measure import Figure, print_table
from bench.play.timed_provider import PROMPT, lock_chapter
from core.agents.assist import AssistRequest, Field, Task
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import ProfileSettings
from core.domain.clock import utc_now
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.slot import Slot
from core.engine.changes.moves import new_request
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.gateway.lanes import Lane
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from db.embedded.server import EmbeddedServer
from db.store import open_store

WAITING: Final = 1_000
IN_A_ROW: Final = 5
"""Prompts to one chapter before the other is opened."""
FIRST_WORD_SECONDS: Final = 0.2
WORD_SECONDS: Final = 0.01
MOST: Final = 1.1
_ASKED: Final = AssistRequest(task=Task.SUGGEST, field=Field.WORLD, text="A drowned coast.", limit=4_000)


class Paced(ScriptedProvider):
    """Answers as fast as a good service does."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Wait before the first word, and a little before each other one."""
        await asyncio.sleep(FIRST_WORD_SECONDS)
        async for item in super().stream(request):
            yield item
            await asyncio.sleep(WORD_SECONDS)


async def measure(prompts: int, home: Path) -> list[Figure]:
    """Send so many prompts to each chapter, and return the figures."""
    server = EmbeddedServer(home)
    url = await asyncio.to_thread(server.acquire)
    try:
        figures: list[Figure] = []
        for what, places in (("any number of calls", None), ("one call at a time", 1)):
            store = await open_store(url)
            own = choose_models(ProfileSettings(provider="scripted"))
            choices = ModelAssignments(
                {role: replace(choice, account="work") for role, choice in own.items()}
            )
            lane = Lane(Paced, concurrency=places)
            engine = Engine(store, ScriptedProvider(), choices, label="bench", lanes={"work": lane})
            try:
                figures += _figures(what, await _in_turns(engine, prompts))
            finally:
                await engine.aclose()
        return figures
    finally:
        await asyncio.to_thread(server.release)


def _figures(what: str, seconds: dict[int, list[float]]) -> list[Figure]:
    none, many = (statistics.median(seconds[waiting]) * 1_000 for waiting in (0, WAITING))
    return [
        Figure(f"Enter to first word, {what}, nothing waits", none, "ms"),
        Figure.at_most(f"  with {WAITING:,} requests waiting", many, "ms", many / none, MOST, "nothing"),
    ]


async def _in_turns(engine: Engine, prompts: int) -> dict[int, list[float]]:
    """Return the seconds to the first word, by how many requests waited."""
    chapters = {waiting: await engine.create() for waiting in (0, WAITING)}
    for session_id in chapters.values():
        session = await engine.open(session_id)
        await lock_chapter(session)
        await session.aclose()
    seconds: dict[int, list[float]] = {waiting: [] for waiting in chapters}
    while len(seconds[0]) < prompts:
        for waiting, session_id in chapters.items():
            await engine.closed(session_id).apply(partial(_filled, waiting=waiting))
            session = await engine.open(session_id)
            try:
                await _first_word(session)  # the first one reads what is known of the story
                seconds[waiting] += [await _first_word(session) for _ in range(IN_A_ROW)]
                left = len(session.snapshot.background)
                assert (left > 0.9 * WAITING) == bool(waiting), f"{left} requests wait"
            finally:
                await session.aclose()
    return seconds


def _filled(snapshot: Snapshot, waiting: int) -> Changes:
    missing = max(0, waiting - len(snapshot.background))
    requests = tuple(_work(snapshot.session.id) for _ in range(missing))
    return Changes(session_id=snapshot.session.id, requests=requests)


def _work(session_id: SessionId) -> BackgroundRequest:
    priority = KIND_SPECS[RequestKind.ASSIST].priority
    new = new_request(session_id, utc_now())
    return BackgroundRequest(kind=RequestKind.ASSIST, text=_ASKED.to_text(), priority=priority, **new)


async def _first_word(session: SessionHandle) -> float:
    """Return the seconds from the command to the first word of its reply, which is stored then."""
    with session.listen() as listener:
        began = time.perf_counter()
        asked = asyncio.ensure_future(session.submit_prompt(Slot.RED, PROMPT))
        arrived: dict[RequestId, float] = {}
        async for notification in listener:
            if isinstance(notification, TextArrived):
                arrived.setdefault(notification.request_id, time.perf_counter() - began)
                if asked.done() and asked.result() in arrived:
                    break
    await session.wait(asked.result())
    await session.wait_idle()  # a summary may be due
    return arrived[asked.result()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(measure(arguments.prompts, Path(folder) / "postgres"))
    print_table(f"{WAITING:,} requests beside the play", figures)


if __name__ == "__main__":
    main()
