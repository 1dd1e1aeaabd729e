"""Writing a setting into a file that is odd or needs no change."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.errors import StoryEngineError
from storyengine_tui.screens.models.settings_file import change_settings
from tests.core.config.files.test_bounded_file import ODD


@pytest.mark.parametrize("make", ODD)
def test_a_setting_is_written_by_hand_where_the_file_is_odd(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    file = tmp_path / "config.toml"
    make(file)
    if make is os.mkfifo:  # nothing can be lost: it is replaced by a file with the setting
        change_settings(file, {("provider",): "scripted"})
        assert file.read_text() == 'provider = "scripted"\n'
    else:
        with pytest.raises(StoryEngineError, match=r"config\.toml could not be changed"):
            change_settings(file, {("provider",): "scripted"})


def test_a_file_with_carriage_returns_is_not_rewritten_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b'provider = "scripted"\r\n')
    change_settings(file, {("provider",): "scripted"})
    assert file.read_bytes() == b'provider = "scripted"\r\n'


def test_a_setting_is_written_into_a_file_that_an_editor_marked_as_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbfbell = true\n")
    change_settings(file, {("provider",): "scripted"})
    assert file.read_text() == 'bell = true\nprovider = "scripted"\n'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_finished", [True, False])
def test_the_lines_of_a_file_keep_their_ends_when_a_setting_is_written(
    tmp_path: Path, end: str, is_finished: bool
) -> None:
    file = tmp_path / "config.toml"
    lines = ["# mine", "bell = true", "", "[ceilings]", "day = 5"]
    file.write_bytes((end.join(lines) + end * is_finished).encode())
    change_settings(file, {("provider",): "scripted", ("ceilings", "day"): 6, ("ceilings", "chapter"): 2})
    change_settings(file, {("accounts", "one", "base_url"): "http://localhost:1/v1"})
    written = [*lines[:2], 'provider = "scripted"', *lines[2:4], "day = 6", "chapter = 2"]
    written += ["", "[accounts.one]", 'base_url = "http://localhost:1/v1"', ""]
    assert file.read_bytes().decode() == end.join(written)


def test_each_line_keeps_its_own_end_where_they_differ(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# one\r\nbell = true\n# \xe2\x80\xa8 two\n")
    change_settings(file, {("provider",): "scripted"})
    assert file.read_bytes() == b'# one\r\nbell = true\n# \xe2\x80\xa8 two\nprovider = "scripted"\r\n'
