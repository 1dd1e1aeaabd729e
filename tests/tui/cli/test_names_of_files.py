"""Names on the command line that no file can have."""

import asyncio
from pathlib import Path

import pytest

from core.domain.errors import StoryEngineError
from core.exchange.chapter_file import write_new
from core.exchange.library.library_files import files_in, refuse_present
from storyengine_tui.cli.commands.chapter import exchange
from storyengine_tui.cli.commands.library.shelf import named_file
from storyengine_tui.cli.commands.system import database

LONG = "a" * 300


def test_a_name_that_no_file_can_have_is_a_name_of_the_library(tmp_path: Path) -> None:
    assert named_file(LONG) is None
    refuse_present(tmp_path / LONG)
    assert files_in([tmp_path / LONG]) == [tmp_path / LONG]
    with pytest.raises(OSError, match="too long"):
        write_new(tmp_path / LONG, b"")


def test_an_export_is_written_neither_over_a_file_nor_over_a_directory(tmp_path: Path) -> None:
    with pytest.raises(StoryEngineError, match="is a directory"):
        exchange._write_new(tmp_path, b"a chapter")
    there = tmp_path / "there.json"
    there.write_text("a diary")
    with pytest.raises(StoryEngineError, match="is there already"):
        exchange._write_new(there, b"a chapter")
    assert there.read_text() == "a diary"


def test_a_file_that_was_in_the_way_and_is_gone_is_not_said_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def was_there(target: Path, content: bytes) -> None:
        raise FileExistsError(17, "File exists", str(target))

    monkeypatch.setattr(exchange, "write_new", was_there)
    with pytest.raises(StoryEngineError, match="cannot be written"):
        exchange._write_new(tmp_path / "a.json", b"a chapter")


def test_what_is_restored_by_such_a_name_is_a_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def restore(name: str) -> None:
        asked.append(name)

    monkeypatch.setattr(database, "restore_chapter", restore)
    asyncio.run(database.restore_any(LONG))
    assert asked == [LONG]


@pytest.mark.parametrize("name", ["story.dump", "backups/story", "/mnt/story"])
def test_a_backup_that_is_not_there_is_not_looked_for_among_the_chapters(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def restore(file: Path, replace: bool) -> None:
        asked.append((file, replace))

    monkeypatch.setattr(database, "restore", restore)
    asyncio.run(database.restore_any(name, replace=True))
    assert asked == [(Path(name), True)]
