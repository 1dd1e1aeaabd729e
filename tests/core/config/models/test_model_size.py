"""How large a model is, by its name or by what stands at the beginning of its file."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.models.model_size import is_small_by_name, is_small_file, size_in_name, size_of_file


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen2.5:1.5b", 1.5),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M", 1.5),
        ("smollm2-135m-instruct", 0.135),
        ("hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_0", 1.0),
        ("home:gemma3:270m", 0.27),
        ("mistral-7b-instruct-v0.3", 7.0),
        ("mixtral-8x7b", 56.0),
        ("Qwen3-30B-A3B", 30.0),
        ("meta-llama/Llama-3.3-70B-Instruct", 70.0),
        ("o4-mini", None),
        ("gpt-5.2", None),
        ("phi-3-mini-128k", None),
        ("llama3", None),
        ("gemma-3n-E4B", None),
        ("model-8bit", None),
        ("", None),
    ],
)
def test_the_size_that_a_name_tells(name: str, billions: float | None) -> None:
    assert size_in_name(name) == billions


@pytest.mark.parametrize(
    ("name", "is_small"),
    [("qwen2.5:1.5b", True), ("gemma-2b", True), ("llama3.2:3b", False), ("8x1b", False), ("o4-mini", False)],
)
def test_a_model_of_two_billion_parameters_or_less_is_small_and_an_unknown_one_is_not(
    name: str, is_small: bool
) -> None:
    assert is_small_by_name(name) is is_small


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def field(key: str, value: str | int | list[str]) -> bytes:
    match value:
        case str():
            return text(key) + struct.pack("<I", 8) + text(value)
        case int():
            return text(key) + struct.pack("<IQ", 10, value)
        case list():
            return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))


def gguf(tmp_path: Path, *fields: bytes, name: str = "model.gguf", count: int | None = None) -> Path:
    file = tmp_path / name
    number = len(fields) if count is None else count
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 300, number) + b"".join(fields) + bytes(100))
    return file


ARCHITECTURE = field("general.architecture", "qwen2")


def test_a_file_tells_its_size_by_a_label_or_by_a_count(tmp_path: Path) -> None:
    label = gguf(
        tmp_path, ARCHITECTURE, field("general.tags", ["a", "b"]), field("general.size_label", "1.5B")
    )
    assert size_of_file(label) == 1.5
    count = gguf(tmp_path, ARCHITECTURE, field("general.parameter_count", 1_240_000_000), name="other.gguf")
    assert size_of_file(count) == 1.24


def test_what_a_file_says_goes_before_its_name(tmp_path: Path) -> None:
    large = gguf(tmp_path, field("general.size_label", "7B"), name="tuned-from-1b.gguf")
    assert not is_small_file(large)
    silent = gguf(tmp_path, ARCHITECTURE, name="tuned-1b.gguf")
    assert is_small_file(silent)
    assert not is_small_file(tmp_path / "not-there-7b.gguf")


@pytest.mark.parametrize("path", ["~no-such-user/model-7b.gguf", "a\0b/model-7b.gguf"])
def test_a_path_that_cannot_be_looked_up_tells_its_size_by_its_name_alone(path: str) -> None:
    assert size_of_file(Path(path)) is None
    assert not is_small_file(Path(path))


def test_another_file_in_the_same_place_is_read_again(tmp_path: Path) -> None:
    assert size_of_file(gguf(tmp_path, field("general.size_label", "1B"))) == 1
    file = gguf(tmp_path, field("general.size_label", "7B"))
    os_time = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(os_time, os_time))
    assert size_of_file(file) == 7


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + bytes(60),
        b"GGUF" + b"\xff" * 200,
        b"GGUF" + struct.pack("<IQQ", 3, 1, 2**63) + struct.pack("<Q", 2**63),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + text("x") + struct.pack("<IIQ", 9, 4, 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + text("x") + struct.pack("<IIQ", 9, 8, 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + text("x") + struct.pack("<IIQ", 9, 9, 4),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + text("x") + struct.pack("<I", 77),
    ],
)
def test_a_file_that_is_not_well_formed_tells_nothing(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    assert size_of_file(file) is None


@given(st.binary(max_size=400))
def test_no_file_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("gguf") / "model.gguf"
    file.write_bytes(b"GGUF" + content)
    size = size_of_file(file)
    assert size is None or size > 0


def test_a_pipe_and_a_directory_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert size_of_file(tmp_path / "pipe.gguf") is None
    assert size_of_file(tmp_path) is None
