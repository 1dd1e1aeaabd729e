"""The provider `local` with the real model: one child, gone with its parent, back when it died."""

import asyncio
import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.config.models.accounts import own_account
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.errors import ErrorCode
from core.providers.base import ChatMessage, ModelRequest, ProviderError
from core.providers.factory import make_provider
from core.providers.local import server as local_server
from core.providers.local.provider import LocalProvider
from core.providers.local.server import LocalServer
from tests.core.providers.asking import GENEROUS, TINY_SCHEMA, ask, fail, request

ROOT = Path(__file__).parents[4]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]


@pytest.fixture(scope="module")
async def shared(anyio_backend: str, paths: Paths) -> AsyncIterator[tuple[LocalProvider, LocalServer]]:
    server = LocalServer(paths.logs, alias="small", context_window=4_096)
    provider = LocalProvider(paths, server=server)
    yield provider, server
    await provider.aclose()


@pytest.fixture
def provider(shared: tuple[LocalProvider, LocalServer]) -> LocalProvider:
    return shared[0]


@pytest.fixture
def server(shared: tuple[LocalProvider, LocalServer]) -> LocalServer:
    return shared[1]


def short(text: str = "Say hello.", **changes: object) -> ModelRequest:
    return request(text, max_output_tokens=8, **{"timeout": 60.0, **changes})


async def test_calls_that_come_together_start_one_child(provider: LocalProvider, server: LocalServer) -> None:
    first, second = await asyncio.gather(ask(provider, short()), ask(provider, short("Say goodbye.")))
    assert server.pid is not None
    assert first[0]
    assert second[0]
    assert first[1].model == "small"
    assert first[1].usage.input_tokens
    assert (provider.name, provider.base_url) == ("local", None)


async def test_the_key_is_on_no_command_line_and_the_log_is_private(
    provider: LocalProvider, server: LocalServer, paths: Paths
) -> None:
    await ask(provider, short())
    endpoint = server._endpoint
    assert endpoint is not None
    if sys.platform == "linux":
        process = Path(f"/proc/{server.pid}")
        for part in ("cmdline", "environ"):
            assert endpoint.api_key.encode() not in (process / part).read_bytes()
    assert endpoint.base_url.startswith("http://127.0.0.1:")
    log = paths.logs / local_server.LOG_NAME
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert endpoint.api_key not in log.read_text()


async def test_another_process_without_the_key_is_refused(
    provider: LocalProvider, server: LocalServer
) -> None:
    await ask(provider, short())
    assert server._endpoint is not None
    wrong = local_server.Endpoint(server._endpoint.base_url, "guess")
    await fail(provider._local.client_for(wrong), ErrorCode.LLM_AUTH_ERROR, short())


async def test_json_follows_the_schema(provider: LocalProvider) -> None:
    text, completion = await ask(provider, request(schema=TINY_SCHEMA, timeout=60.0))
    made = json.loads(text)
    assert set(made) == {"memory_type", "what"}
    assert made["memory_type"] == "turn_delta"
    assert completion.finish_reason == "stop"


async def test_stop_strings_stop(provider: LocalProvider) -> None:
    """The letter is in any sentence: which words the model finds depends on what it read before."""
    asked = (ChatMessage("user", "Count: one two three four five six seven. Now repeat it."),)
    text, completion = await ask(
        provider, request(messages=asked, stop=("o",), temperature=0.0, timeout=60.0)
    )
    assert text
    assert "o" not in text
    assert completion.finish_reason == "stop"


async def test_too_long_a_prompt_is_an_overflow(provider: LocalProvider) -> None:
    await fail(provider, ErrorCode.LLM_CONTEXT_OVERFLOW, short("word " * 6_000))


def processor_ticks(process: int | None) -> int:
    """Return the processor time of a process: unlike a clock, the same on a busy machine."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
async def test_cancelling_while_the_prompt_is_read_frees_the_model(
    provider: LocalProvider, server: LocalServer
) -> None:
    """The model does not go on to read a long prompt whose call was cancelled: it works little afterwards."""
    await ask(provider, short())
    before = processor_ticks(server.pid)
    await ask(provider, short("sun and snow " * 45))
    a_twelfth = processor_ticks(server.pid) - before
    long = asyncio.create_task(ask(provider, short("wind and rain " * 540)))
    async with asyncio.timeout(GENEROUS):
        while processor_ticks(server.pid) < before + 2 * a_twelfth:
            assert not long.done(), long
            await asyncio.sleep(0.01)  # between two looks at another process
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    await ask(provider, short())
    assert processor_ticks(server.pid) - before < 8 * a_twelfth


async def test_the_event_loop_goes_on_while_the_model_works(provider: LocalProvider) -> None:
    """Other tasks get thousands of turns before the answer is there; a call that blocks leaves dozens."""
    asking = asyncio.create_task(ask(provider, request("Tell me more.", max_output_tokens=20, timeout=60.0)))
    turns = 0
    while not asking.done():
        await asyncio.sleep(0)
        turns += 1
    await asking
    assert turns > 1_000


async def test_a_child_that_died_is_started_again(provider: LocalProvider, server: LocalServer) -> None:
    await ask(provider, short())
    before = server.pid
    assert before is not None
    items = provider.stream(request("Tell me a long story.", max_output_tokens=400, timeout=60.0))
    await anext(items)
    os.kill(before, signal.SIGKILL)
    with pytest.raises(ProviderError) as caught:
        async for _ in items:
            pass
    assert caught.value.code is ErrorCode.LLM_SERVER_ERROR
    assert "local model stopped" in caught.value.message
    assert server.pid is None
    assert (await ask(provider, short()))[0]
    assert server.pid not in (None, before)


PARENT = """
import asyncio, sys
from pathlib import Path
from core.providers.local.server import LocalServer
from core.providers.local.weights import find_weights
from core.config.files.paths import Paths

async def main():
    home = Path(sys.argv[1])
    server = LocalServer(home, alias="small", context_window=512)
    await server.ensure(find_weights(Paths(home, home, home, home), None))
    print(server.pid, flush=True)
    await asyncio.sleep(600)  # until it is killed

asyncio.run(main())
"""


async def child_of_killed(program: str, home: Path) -> int:
    """Run a program that says the process id of its child, kill it, and return that id."""
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, str(home)), cwd=ROOT, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await asyncio.wait_for(parent.stdout.readline(), 60))
    os.kill(child, 0)
    parent.kill()
    await parent.wait()
    return child


async def test_the_child_goes_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    child = await child_of_killed(PARENT, tmp_path)
    await eventually(lambda: not is_alive(child))


async def test_closing_ends_the_child(tmp_path: Path, paths: Paths) -> None:
    server = LocalServer(tmp_path, alias="small", context_window=512)
    provider = LocalProvider(paths, server=server)
    await ask(provider, short())
    child = server.pid
    assert child is not None
    await provider.aclose()
    assert not server.is_running
    assert not is_alive(child)


DEATHS = {
    "import os, signal; os.kill(os.getpid(), signal.SIGILL)": "AVX2",
    "import os; os._exit(3)": "xllamacpp",
    "import os; os._exit(4)": "could not read",
    "import os; os._exit(1)": local_server.LOG_NAME,
    "print('not JSON', flush=True); input()": "did not start as it should",
    "print('[]', flush=True); input()": "did not start as it should",
}


@pytest.mark.parametrize("program", DEATHS)
async def test_a_start_that_fails_gives_a_sentence(tmp_path: Path, paths: Paths, program: str) -> None:
    server = LocalServer(tmp_path, alias="x", context_window=512, command=(sys.executable, "-c", program))
    provider = LocalProvider(paths, server=server)
    error = await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    assert DEATHS[program] in error.message
    assert "STORYENGINE_PROVIDER" in error.hint
    await provider.aclose()
    assert not server.is_running


async def test_one_starter_for_all(tmp_path: Path) -> None:
    # It stays until it is let go: one that ended at once would be started anew for the next who asks.
    program = 'import os, sys; print(\'{"base_url": "%d"}\' % os.getpid(), flush=True); sys.stdin.read()'
    server = LocalServer(tmp_path, alias="x", context_window=512, command=(sys.executable, "-c", program))
    file = tmp_path / "any.gguf"
    endpoints = await asyncio.gather(*(server.ensure(file) for _ in range(3)))
    assert [int(endpoint.base_url) for endpoint in endpoints] == [server.pid] * 3
    await server.aclose()


async def test_a_child_that_does_not_end_is_killed_and_closing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "_STOP_SECONDS", 0.05)
    program = 'import time; print(\'{"base_url": "x"}\', flush=True); time.sleep(600)'
    server = LocalServer(tmp_path, alias="x", context_window=512, command=(sys.executable, "-c", program))
    await server.ensure(tmp_path / "any.gguf")
    child = server.pid
    assert child is not None
    await server.aclose()
    assert not is_alive(child)


async def test_a_start_that_hangs_can_be_cancelled_and_leaves_nothing(tmp_path: Path, paths: Paths) -> None:
    program = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); sys.stdin.read()"
    note = tmp_path / "pid"
    server = LocalServer(
        tmp_path, alias="x", context_window=512, command=(sys.executable, "-c", program, str(note))
    )
    provider = LocalProvider(paths, server=server)
    asking = asyncio.create_task(ask(provider))
    await eventually(lambda: note.exists() and bool(note.read_text()))
    child = int(note.read_text())
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await eventually(lambda: not is_alive(child))
    await provider.aclose()


async def test_a_start_that_takes_too_long_is_given_up(
    tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "_START_SECONDS", 0.5)
    command = (sys.executable, "-c", "import sys; sys.stdin.read()")
    server = LocalServer(tmp_path, alias="x", context_window=512, command=command)
    provider = LocalProvider(paths, server=server)
    error = await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    assert "in time" in error.message
    await provider.aclose()
    assert not server.is_running


async def test_a_missing_runtime_gives_a_sentence(
    tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing(name: str) -> None:
        return None

    server = LocalServer(tmp_path, alias="x", context_window=512)
    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    with pytest.raises(ProviderError, match="xllamacpp, which is not installed"):
        await server.ensure(tmp_path / "any.gguf")


async def test_a_gguf_that_is_none_inside_gives_a_sentence(tmp_path: Path, paths: Paths) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x00" * 1_000)
    profile = ProfileSettings(model_path=broken)
    provider = make_provider(own_account(profile, "local"), paths, choose_models(profile))
    assert "could not read" in (await fail(provider, ErrorCode.LLM_SERVER_ERROR)).message
    await provider.aclose()


async def eventually(is_true: Callable[[], bool]) -> None:
    """Wait for what another process does, which nothing here can announce."""
    async with asyncio.timeout(GENEROUS):
        while not is_true():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)  # between two questions to another process


def is_alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has reaped yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] == "Z")
