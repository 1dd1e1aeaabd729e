"""Where things live: with the system's habits, or all in the directories that the environment names."""

from pathlib import Path

import pytest
from platformdirs import PlatformDirs

from core.config.files.paths import find_paths

DIRS = PlatformDirs("storyengine", appauthor=False)


@pytest.fixture(autouse=True)
def no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORYENGINE_DATA_DIR", "STORYENGINE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_without_an_override_everything_is_where_the_system_keeps_it() -> None:
    paths = find_paths()
    assert (paths.data, paths.config) == (DIRS.user_data_path, DIRS.user_config_path)
    assert (paths.logs, paths.downloads) == (DIRS.user_log_path, DIRS.user_downloads_path)


def test_another_data_directory_takes_the_logs_with_it_and_leaves_the_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORYENGINE_DATA_DIR", str(tmp_path))
    paths = find_paths()
    assert (paths.data, paths.logs) == (tmp_path, tmp_path / "logs")
    assert (paths.config, paths.downloads) == (DIRS.user_config_path, DIRS.user_downloads_path)
    kept = {paths.server, paths.models, paths.backups, paths.tries_file, paths.early_text}
    assert {path.parent for path in kept} == {tmp_path}
    assert len(kept) == 5


def test_another_configuration_directory_leaves_data_and_logs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORYENGINE_CONFIG_DIR", str(tmp_path))
    paths = find_paths()
    assert (paths.config_file, paths.consent_file) == (tmp_path / "config.toml", tmp_path / "consent.json")
    assert (paths.data, paths.logs) == (DIRS.user_data_path, DIRS.user_log_path)


@pytest.mark.parametrize("name", ["STORYENGINE_DATA_DIR", "STORYENGINE_CONFIG_DIR"])
def test_a_directory_may_be_named_from_home_or_from_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for written, meant in (("~/tales", tmp_path / "home" / "tales"), ("tales", tmp_path / "tales")):
        monkeypatch.setenv(name, written)
        assert meant in (find_paths().data, find_paths().config)


def test_the_home_of_an_unknown_user_is_a_directory_of_that_name_as_in_a_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STORYENGINE_DATA_DIR", "~no-such-user/story")
    monkeypatch.setenv("STORYENGINE_CONFIG_DIR", "~no-such-user/settings")
    paths = find_paths()
    assert (paths.data, paths.config) == (
        tmp_path / "~no-such-user/story",
        tmp_path / "~no-such-user/settings",
    )
