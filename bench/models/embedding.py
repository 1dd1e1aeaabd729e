"""Times the bundled embedding model for a query and a batch: `python -m bench.models.embedding [ROUNDS]`.

Texts are as long as items of memory, 20 to 30 words. A query beside batches says how long an input waits for
its vector while the memory of a chapter is read in.
"""

import asyncio
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from bench.measure import Figure, print_table
from core.config.files.paths import Paths
from core.config.models.accounts import accounts_of
from core.config.models.assignments import defaults_for
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.engine.kinds.test_call import new_test_call
from core.gateway.embedding_service import EmbeddingPlan, EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.providers.embedding.local import LocalEmbedder
from core.providers.scripted.provider import ScriptedProvider

ROUNDS = 30
SESSION_ID = SessionId(new_uuid())
SIZES = (16, 64)
_TEXT = """
lantern harbour widow brass key storm reef ship promise letter winter garden captain thief market bridge river
tower knife bread song debt map cellar horse road fire snow oath guest ring door stranger night barrel gull
"""
_WORDS = _TEXT.split()


def text(chance: random.Random) -> str:
    """Return a text that the model has not read before."""
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(20, 30)))


def texts(chance: random.Random, count: int) -> list[str]:
    """Return so many of them."""
    return [text(chance) for _ in range(count)]


async def _milliseconds(work: Awaitable[object]) -> float:
    began = perf_counter()
    await work
    return (perf_counter() - began) * 1_000


async def _while_busy(
    service: EmbeddingService, chance: random.Random, ask: Callable[[], Awaitable[object]], rounds: int
) -> list[float]:
    """Return how long each query took while batches followed each other."""
    found: list[float] = []
    is_over = asyncio.Event()

    async def batches() -> None:
        while not is_over.is_set():
            made = await service.embed_batch(texts(chance, SIZES[0]), new_test_call(SESSION_ID, utc_now()))
            assert made.error is None, made.error

    busy = asyncio.create_task(batches())
    for _ in range(rounds):
        found.append(await _milliseconds(ask()))
    is_over.set()
    await busy
    return found


async def measure(rounds: int = ROUNDS) -> list[Figure]:
    """Return the figures of one child process, from its first start on."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-") as folder:
        home = Path(folder)
        paths = Paths(home, home, home, home)
        choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings()))
        assert choice is not None
        embedder = LocalEmbedder(paths)
        gateway = ModelGateway(ScriptedProvider(), defaults_for("scripted"), None, utc_now)
        service = EmbeddingService(gateway, EmbeddingPlan(choice, lambda: embedder), utc_now)

        async def ask() -> None:
            made = await service.embed_query(text(chance), new_test_call(SESSION_ID, utc_now()))
            assert made.vector is not None, made.error

        try:
            first = await _milliseconds(embedder.start())
            await embedder.aclose()
            again = await _milliseconds(embedder.start())
            await ask()
            alone = [await _milliseconds(ask()) for _ in range(rounds)]
            whole = {
                size: await _milliseconds(
                    service.embed_batch(texts(chance, size), new_test_call(SESSION_ID, utc_now()))
                )
                for size in SIZES
            }
            beside = await _while_busy(service, chance, ask, rounds)
            memory = _resident(embedder)
        finally:
            await service.aclose()
    return [
        Figure("the first start, which makes the file of weights", first, "ms"),
        Figure("a start", again, "ms"),
        Figure("memory of the child process", memory, "MB"),
        Figure("a query", median(alone), "ms"),
        *(
            Figure.at_most(
                f"a batch of {size}, for a text",
                whole[size] / size,
                "ms",
                whole[size] / size / median(alone),
                1.5,
            )
            for size in SIZES
        ),
        Figure("a query beside batches", median(beside), "ms", median(beside) / median(alone)),
        Figure("the same, of twenty the slowest", quantiles(beside, n=20)[-1], "ms"),
    ]


def _resident(embedder: LocalEmbedder) -> float:
    """Return the memory of the child in megabytes; Linux only."""
    status = Path(f"/proc/{embedder._server.pid}/status").read_text("ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1_000


if __name__ == "__main__":
    print_table("Vectors of texts", asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)))
