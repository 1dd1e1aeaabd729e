"""Measures the engine's cost of audiences per prompt: two chapters that are played in turns.

    python -m bench.play.audiences [--prompts 350]

In the one, everyone hears everything. In the other a character is absent, one prompt of a chunk is heard by
everyone all the same and every third one is whispered, so that each chunk has three audiences and gets three
deltas; there are two secrets, of which one is revealed. Printed as medians of the engine's work per prompt,
without the seconds inside the provider; and, for orientation, as the mean of it with all of the memory
work.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from bench.measure import Figure, print_table
from bench.play.timed_provider import PROMPT, TimedProvider, lock_chapter, work_of
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.slot import Slot
from core.domain.story.secret import Secret
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from db.embedded.server import EmbeddedServer
from db.store import open_store

MOST = 1.3
RED, PRESENT = Audience.of([Slot.RED]), Audience.of([Slot.RED, Slot.ORANGE])
SECRETS = (
    Secret(number=1, text="The keeper is her brother.", known_by=RED, reveal_at=12, reveal_to=PRESENT),
    Secret(number=2, text="The map is wrong.", known_by=PRESENT),
)


def heard_by(index: int) -> Audience | None:
    """Return who hears prompt `index`, counted from 0; None is for those present."""
    if index % 7 == 0:
        return EVERYONE
    return NOBODY if index % 3 == 2 else None


class _Chapter:
    """A chapter that is played, with the seconds of work for each prompt, without and with its memory."""

    def __init__(self, session: SessionHandle, provider: TimedProvider) -> None:
        self.session = session
        self._provider = provider
        self.work: list[float] = []
        self.with_memory: list[float] = []

    async def play(self, text: str, audience: Audience | None) -> None:
        """Play a prompt until nothing is open."""
        began, inside = time.perf_counter(), self._provider.seconds
        asking = self.session.submit_prompt(Slot.RED, text, heard_by=audience)
        self.work.append(await work_of(self.session, self._provider, asking))
        await self.session.wait_idle()
        self.with_memory.append(time.perf_counter() - began - (self._provider.seconds - inside))


async def with_audiences(engine: Engine, provider: TimedProvider, prompts: int) -> list[Figure]:
    """Play both chapters in turns; return work and ratios."""
    plain, told = [_Chapter(await engine.open(await engine.create()), provider) for _ in range(2)]
    try:
        await lock_chapter(plain.session)
        await told.session.scene.edit_secrets(SECRETS)
        await lock_chapter(told.session)
        await told.session.scene.set_present(PRESENT)
        for index in range(prompts):
            text = f"{PROMPT} ({index})"
            await plain.play(text, None)
            await told.play(text, heard_by(index))
    finally:
        await plain.session.aclose()
        await told.session.aclose()
    without, with_them = statistics.median(plain.work), statistics.median(told.work)
    both = [statistics.fmean(chapter.with_memory) for chapter in (plain, told)]
    return [
        Figure("work for a prompt that everyone hears", without * 1000, "ms"),
        Figure.at_most(
            "  with whispers, absence and secrets",
            with_them * 1000,
            "ms",
            with_them / without,
            MOST,
            "without",
        ),
        Figure("  and with memory for three audiences, mean", both[1] * 1000, "ms", both[1] / both[0]),
    ]


async def measure(prompts: int, home: Path) -> list[Figure]:
    """Measure on a private server of its own."""
    server = EmbeddedServer(home)
    store = await open_store(await asyncio.to_thread(server.acquire))
    provider = TimedProvider()
    models = choose_models(ProfileSettings(provider="scripted"))
    engine = Engine(store, provider, models, label="bench")
    try:
        return await with_audiences(engine, provider, prompts)
    finally:
        await engine.aclose()
        await asyncio.to_thread(server.release)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=350)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(measure(arguments.prompts, Path(folder) / "postgres"))
    print_table(f"Who knows what, {arguments.prompts:,} prompts", figures)


if __name__ == "__main__":
    main()
