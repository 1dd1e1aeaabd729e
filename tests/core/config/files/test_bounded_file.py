"""Files from outside: none of them fills the memory, blocks the process or ends in a traceback."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.config.consent import Consent
from core.config.files.bounded_file import LARGEST_SMALL_FILE, read_bounded
from core.config.settings import InvalidSettingsError, load_settings
from core.domain.errors import StoryEngineError
from core.exchange.scripts.chapter_script import ChapterScriptError, load_chapter_script
from core.providers.scripted.script import LARGEST_SCRIPT, load_script
from db.embedded.state import STATE_FILE, ServerState


def _sparse(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(100_000_000)


def _not_utf8(file: Path) -> None:
    file.write_bytes(b"\xff\xfa\x80")


def _deep(file: Path) -> None:
    file.write_text("a = " + "[" * 200_000)


ODD = [_sparse, _not_utf8, _deep, Path.mkdir, os.mkfifo]


@pytest.mark.parametrize("make", ODD)
def test_an_odd_file_is_refused_with_a_sentence_or_counts_as_empty(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    file = tmp_path / "odd.toml"
    make(file)
    with pytest.raises(ChapterScriptError, match=r"odd\.toml"):
        load_chapter_script(file)
    assert Consent((), file).granted() == frozenset()
    if make is not os.mkfifo:  # an empty file of replies is a valid one
        with pytest.raises(StoryEngineError, match=r"odd\.toml"):
            load_script(file)


def test_a_directory_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_bounded(tmp_path)


def test_a_file_is_read_up_to_its_bound_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    assert read_bounded(file, 10) == b"x" * 10
    with pytest.raises(OSError, match="larger than 9 bytes"):
        read_bounded(file, 9)
    assert LARGEST_SMALL_FILE < LARGEST_SCRIPT


@pytest.mark.parametrize("name", ["config.toml", ".env"])
def test_settings_that_are_too_large_are_refused_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    _sparse(tmp_path / name)
    with pytest.raises(InvalidSettingsError, match=rf"{name} cannot be read: it is larger"):
        load_settings(tmp_path / "config.toml")


@pytest.mark.parametrize("make", ODD)
def test_an_odd_file_in_place_of_the_servers_state_counts_as_no_state(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / STATE_FILE)
    assert ServerState.read(tmp_path) == ServerState()
