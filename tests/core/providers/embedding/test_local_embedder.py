"""The bundled embedding model, in a child process of its own."""

import operator
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.config.sections import MOST_TEXTS
from core.domain.bank.recall import Vector
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.embedding.base import Embedding
from core.providers.embedding.local import EMBEDDINGS, LocalEmbedder
from core.providers.local.server import LocalServer
from tests.core.providers.local.test_local import child_of_killed, eventually, is_alive

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]
PATIENT = 60.0


@pytest.fixture(scope="module")
def server(paths: Paths) -> LocalServer:
    return LocalServer(paths.logs, alias="small", context_window=512, use=EMBEDDINGS)


@pytest.fixture(scope="module")
async def embedder(anyio_backend: str, paths: Paths, server: LocalServer) -> AsyncIterator[LocalEmbedder]:
    made = LocalEmbedder(paths, server=server)
    yield made
    await made.aclose()


async def embed(embedder: LocalEmbedder, *texts: str) -> Embedding:
    return await embedder.embed(texts, PATIENT)


def cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(operator.mul, one, other)))


MEANT = {
    "Who has the means to open the cellar?": "Kara put the brass key to the vault into her boot.",
    "Who vowed to return a child to its mother?": "Jory swore to the widow that he would bring her son home.",
    "How did the vessel get lost?": "The ship broke apart on the reef during the storm.",
}


async def test_a_paraphrase_is_nearer_than_what_is_about_something_else(embedder: LocalEmbedder) -> None:
    made = (await embed(embedder, *MEANT, *MEANT.values())).vectors
    asked, told = made[: len(MEANT)], made[len(MEANT) :]
    nearest = [max(range(len(told)), key=lambda n: cosine(one, told[n])) for one in asked]
    assert nearest == [0, 1, 2]


async def test_its_vectors_have_its_dimensions_and_the_tokens_are_counted(embedder: LocalEmbedder) -> None:
    made = await embed(embedder, "Kara hides the key.")
    assert [len(vector) for vector in made.vectors] == [384]
    assert made.usage.input_tokens == 7
    assert (embedder.name, embedder.base_url) == ("local", None)


async def test_texts_of_any_length_and_script_have_vectors(embedder: LocalEmbedder) -> None:
    texts = [
        "",
        "x" * 5_000,
        "漢" * 5_000,
        "한글" * 900,
        "\U0001f5dd" * 900,
        "word " * 5_000,
        "\x1b[2J\ud800",
    ]
    assert len((await embed(embedder, *texts)).vectors) == len(texts)


async def test_a_whole_batch_is_made_at_once_in_its_order(embedder: LocalEmbedder) -> None:
    texts = [f"Lantern number {number} hangs in the hall." for number in range(MOST_TEXTS)]
    whole = (await embed(embedder, *texts)).vectors
    [last] = (await embed(embedder, texts[-1])).vectors
    assert len(whole) == MOST_TEXTS
    assert cosine(whole[-1], last) > 0.9999


async def test_it_starts_at_the_first_text_and_again_when_it_has_died(
    embedder: LocalEmbedder, server: LocalServer
) -> None:
    await embed(embedder, "one")
    before = server.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    await eventually(lambda: not server.is_running)
    assert (await embed(embedder, "one")).vectors
    assert server.pid not in (None, before)


async def test_its_failures_are_told_as_its_own(tmp_path: Path, paths: Paths) -> None:
    command = (sys.executable, "-c", "import os; os._exit(4)")
    broken = LocalServer(tmp_path, alias="x", context_window=512, command=command, use=EMBEDDINGS)
    embedder = LocalEmbedder(paths, server=broken)
    with pytest.raises(ProviderError) as caught:
        await embed(embedder, "one")
    assert caught.value.code is ErrorCode.LLM_SERVER_ERROR
    assert caught.value.message.startswith("The bundled embedding model could not read ")
    assert "[embedding]" in caught.value.hint
    await embedder.aclose()


PARENT = """
import asyncio, sys
from pathlib import Path
from core.config.files.paths import Paths
from core.config.sections import MOST_TEXTS
from core.providers.embedding.local import LocalEmbedder

async def main():
    home = Path(sys.argv[1])
    embedder = LocalEmbedder(Paths(home, home, home, home))
    await embedder.start()
    print(embedder._server.pid, flush=True)
    await asyncio.sleep(600)  # until it is killed

asyncio.run(main())
"""


async def test_it_goes_with_a_program_that_was_killed(paths: Paths) -> None:
    child = await child_of_killed(PARENT, paths.data)
    await eventually(lambda: not is_alive(child))
