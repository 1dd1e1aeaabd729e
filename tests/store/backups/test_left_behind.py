"""Files that a killed backup or export leaves are removed by the next one; a restore has none."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from core.config.files.drafts import locked_draft
from core.domain.session.session import Session
from core.exchange.chapter_file import write_new
from core.storage.session_store import Lease
from db.backups import client_programs
from db.backups.dump import backup, restore

pytestmark = pytest.mark.anyio


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


async def test_what_a_killed_backup_left_is_removed_by_the_next_one_of_this_name(
    url: str, locked: tuple[Session, Lease], tmp_path: Path
) -> None:
    left, other = tmp_path / ".b.dump.ab_cd123.part", tmp_path / ".notes.part"
    for file in (left, other):
        file.write_bytes(b"PGDMP")
    with locked_draft(tmp_path, ".b.dump.", ".part") as (_, at_work):
        assert not left.exists()
        await backup(url, tmp_path / "b.dump")
        assert names(tmp_path) == {at_work.name, other.name, "b.dump"}
    assert names(tmp_path) == {other.name, "b.dump"}


def test_what_a_killed_export_left_is_removed_by_the_next_one_in_its_folder(tmp_path: Path) -> None:
    left = tmp_path / ".storyengine-ab_cd123"
    left.write_text("half of a chap")
    (tmp_path / ".storyengine-notes").write_text("the GM's own")
    with locked_draft(tmp_path, ".storyengine-") as (_, at_work):
        left.write_text("half of a chap")
        write_new(tmp_path / "chapter.txt", b"A chapter.")
        assert not left.exists()
        assert at_work.exists()
    assert names(tmp_path) == {".storyengine-notes", "chapter.txt"}


async def test_the_texts_of_a_library_are_in_no_file_with_a_name_while_it_is_restored(
    url: str, locked: tuple[Session, Lease], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that is killed cannot remove them."""
    await backup(url, file := tmp_path / "b.dump")
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    run, seen = client_programs.run, list[str]()

    async def look(name: str, *arguments: Any, **named: Any) -> str:
        said = await run(name, *arguments, **named)
        assert not names(scratch)
        seen.append(name)
        return said

    monkeypatch.setattr(client_programs, "run", look)
    await restore(url, file, replace=True)
    assert seen[-2:] == ["pg_restore", "psql"]
