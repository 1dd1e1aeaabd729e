"""Plays a prompt for each line on stdin, with the program that PYTHONPATH names: see `bench.play.against`.

It uses only what versions of the program share. Each answer is a line: wall and processor seconds of the
prompt, without those inside the provider.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path

from core.config.sections import ProfileSettings
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from db.embedded.server import EmbeddedServer
from db.store import open_store

PROMPT = "The tide is on the turn and the lamp is dark. What do you do, and what do you say to the others?"


class Timed(ScriptedProvider):
    """The scripted provider, with the wall and processor seconds inside it."""

    wall = 0.0
    processor = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Stream as the scripted provider does."""
        items = super().stream(request)
        while True:
            wall, processor = time.perf_counter(), time.process_time()
            try:
                item = await anext(items)
            except StopAsyncIteration:
                return
            finally:
                self.wall += time.perf_counter() - wall
                self.processor += time.process_time() - processor
            yield item


async def play(home: Path) -> None:
    """Lock a chapter, and play a prompt for each line until stdin ends."""
    server = EmbeddedServer(home)
    store = await open_store(await asyncio.to_thread(server.acquire))
    provider = Timed()
    # In versions before it was a package, `core.config.models` was the module itself.
    models = import_module("core.config.models")
    if not hasattr(models, "choose_models"):
        models = import_module("core.config.models.assignments")
    choices = models.choose_models(ProfileSettings(provider="scripted"))
    engine = Engine(store, provider, choices, label="bench")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(
        Tab1Edit(world="A drowned coast.", chapter="A lamp goes out.", character_count=3)
    )
    await session.wait(await session.lock())
    slot = session.snapshot.session.slots[0]
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        inside = provider.wall, provider.processor
        began = time.perf_counter(), time.process_time()
        await session.wait(await session.submit_prompt(slot, PROMPT))
        wall = time.perf_counter() - began[0] - (provider.wall - inside[0])
        processor = time.process_time() - began[1] - (provider.processor - inside[1])
        await session.wait_idle()
        print(wall, processor, flush=True)
    await session.aclose()
    await engine.aclose()
    await asyncio.to_thread(server.release)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        asyncio.run(play(Path(folder) / "postgres"))
