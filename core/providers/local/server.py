"""The life of the child process that serves the local model: started when needed, never left behind."""

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from core.config.files.private_files import environment_without_secrets, make_directory
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError

CHILD = Path(__file__).with_name("child.py")
LOG_NAME = "local-model.log"
_START_SECONDS = 120.0
_STOP_SECONDS = 3.0
_DEATH_SECONDS = 0.5
_MOST_THREADS = 8
_LARGEST_LOG_BYTES = 1_000_000
# Exit statuses of child.py, which is not imported here because it belongs to the child.
_MISSING_RUNTIME = 3
_UNUSABLE_MODEL = 4
_ILLEGAL_INSTRUCTION = -signal.SIGILL


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a running child, and its key, which is random and new for each child."""

    base_url: str
    api_key: str


@dataclass(frozen=True, slots=True)
class ServerUse:
    """Purpose of a child: its log, and the hint for the GM when it fails."""

    name: str
    log_name: str
    hint: str
    is_for_embeddings: bool = False


CHAT: Final = ServerUse(
    "The local model",
    LOG_NAME,
    "Another model can answer: set STORYENGINE_PROVIDER=openai and STORYENGINE_BASE_URL.",
)


class LocalServer:
    """At most one child at a time, for all calls of this process."""

    def __init__(
        self,
        logs: Path,
        *,
        alias: str,
        context_window: int,
        command: Sequence[str] = (),
        use: ServerUse = CHAT,
    ) -> None:
        self._use = use
        self._log = logs / use.log_name
        self._alias = alias
        self._context_window = context_window
        # -P keeps this directory off the child's path: no module of it may hide a library's.
        self._command = tuple(command) or (sys.executable, "-P", str(CHILD))
        self._starting = asyncio.Lock()
        self._process: Process | None = None
        self._endpoint: Endpoint | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a child that has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The child's process id, while it runs."""
        return self._process.pid if self._process is not None and self.is_running else None

    async def ensure(self, model_file: Path) -> Endpoint:
        """Return where the model answers, starting the child when there is none or it has died.

        Raises ProviderError when it does not start. Cancelling ends a start that is under way.
        """
        async with self._starting:
            if self.is_running and self._endpoint is not None:
                return self._endpoint
            await self._stop()
            self._endpoint = await self._start(model_file)
            return self._endpoint

    async def death(self) -> ProviderError | None:
        """Return what the GM is told when the child has died during a call; None when it lives."""
        if self._process is None:
            return None
        try:
            status = await asyncio.wait_for(self._process.wait(), _DEATH_SECONDS)
        except TimeoutError:
            return None
        if status == _ILLEGAL_INSTRUCTION:
            return self._failure(status, CHILD)
        return self._error("stopped in the middle of its work; retry, and it is started again")

    async def aclose(self) -> None:
        """End the child; wait for it, and kill it when it does not end by itself."""
        async with self._starting:
            await self._stop()

    async def _start(self, model_file: Path) -> Endpoint:
        key = secrets.token_urlsafe(24)
        is_started = False
        try:
            async with asyncio.timeout(_START_SECONDS):
                self._process = process = await self._spawn()
                line = await _converse(process, self._config(model_file, key))
                if not line:
                    raise self._failure(await process.wait(), model_file)
            endpoint = Endpoint(_announced(line), key)
            is_started = True
            return endpoint
        except TimeoutError:
            raise self._error("did not become ready in time") from None
        except ValueError:
            raise self._error(f"did not start as it should; {self._log} says why") from None
        finally:
            if not is_started:
                self._kill()

    async def _spawn(self) -> Process:
        if importlib.util.find_spec("xllamacpp") is None and self._command[-1] == str(CHILD):
            raise self._failure(_MISSING_RUNTIME, CHILD)
        try:
            with _private_log(self._log) as log:
                return await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Threads that spin while they wait collapse beside any other busy process.
                    env={"GOMP_SPINCOUNT": "1000", **environment_without_secrets()},
                    **_detached(),
                )
        except OSError as error:
            raise self._error(f"could not be started ({error.strerror})") from error

    def _config(self, model_file: Path, key: str) -> bytes:
        config = {
            "model_path": str(model_file),
            "alias": self._alias,
            "api_key": key,
            "context_window": self._context_window,
            "threads": min(_MOST_THREADS, _processors()),
            "is_for_embeddings": self._use.is_for_embeddings,
        }
        return json.dumps(config).encode() + b"\n"

    async def _stop(self) -> None:
        process, self._process, self._endpoint = self._process, None, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def _failure(self, status: int, model_file: Path) -> ProviderError:
        if status == _ILLEGAL_INSTRUCTION:
            return self._error("needs a processor with AVX2, which this one has not")
        if status == _MISSING_RUNTIME:
            return self._error("needs the package xllamacpp, which is not installed here")
        if status == _UNUSABLE_MODEL:
            return self._error(f"could not read {model_file}")
        return self._error(f"ended at once, with status {status}; {self._log} says why")

    def _error(self, what: str) -> ProviderError:
        return ProviderError(
            ErrorCode.LLM_SERVER_ERROR, f"{self._use.name} {what}; nothing is lost.", hint=self._use.hint
        )


async def _converse(process: Process, config: bytes) -> bytes:
    """Send the configuration and return the child's line; empty when it ended without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(config)
        await process.stdin.drain()
    return await process.stdout.readline()


def _announced(line: bytes) -> str:
    """Return the address in the child's line; raise ValueError when there is none."""
    try:
        return str(json.loads(line)["base_url"])
    except (KeyError, TypeError):
        raise ValueError("no address") from None


def _detached() -> dict[str, Any]:
    """A group of its own, so that Ctrl-C in the terminal does not reach the child."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _processors() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _private_log(file: Path) -> Iterator[IO[bytes]]:
    """Open the log for appending, readable by its owner alone; truncate it when it has grown large."""
    make_directory(file.parent)
    is_large = file.exists() and file.stat().st_size > _LARGEST_LOG_BYTES
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if is_large else 0)
    with open(os.open(file, flags, 0o600), "ab") as log:
        yield log
