"""Room that is set aside takes a text on a disk that has none."""

import errno
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.config.files import reserve
from core.config.files.reserve import COUNT, SIZE, Reserve


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def has_free(patch: pytest.MonkeyPatch, count: int) -> None:
    """Let so many bytes of the disk be free."""
    patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=count))


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.rglob("*") if one.is_file())


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reserve:
    """Return a reserve that was filled before its disk was full."""
    made = Reserve(tmp_path / "room", tmp_path / "kept")
    made.fill()
    assert names(tmp_path) == ["room-0", "room-1"]
    assert all(one.stat().st_size == SIZE for one in tmp_path.glob("room-*"))
    monkeypatch.setattr(reserve, "write_privately", full)
    monkeypatch.setattr(Path, "mkdir", full)
    has_free(monkeypatch, 0)
    return made


def test_so_many_texts_are_written_on_a_full_disk_as_there_are_files(disk: Reserve, tmp_path: Path) -> None:
    for number in range(COUNT):
        target = tmp_path / "kept" / f"{number}.json"
        disk.write_privately(target, f"wörd {number}")
        assert target.read_text("utf-8") == f"wörd {number}"
        assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        disk.write_privately(tmp_path / "kept" / "more.json", "one too many")
    assert names(tmp_path) == ["0.json", "1.json"]


def test_what_is_used_up_is_set_aside_again_by_the_next_text_that_finds_room(
    disk: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write_privately(tmp_path / "first.json", "first")
    monkeypatch.undo()
    disk.write_privately(tmp_path / "second.json", "second")
    assert names(tmp_path) == ["first.json", "room-0", "room-1", "second.json"]


def test_another_error_of_the_disk_leaves_the_room_alone(
    disk: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(reserve, "write_privately", denied)
    with pytest.raises(PermissionError):
        disk.write_privately(tmp_path / "first.json", "first")
    assert names(tmp_path) == ["room-0", "room-1"]


def test_a_text_that_is_longer_than_one_file_takes_the_room_of_both(
    disk: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwrite = reserve._overwrite

    def in_the_room_that_is_free(file: Path, text: str) -> None:
        if (tmp_path / "room-1").exists():
            full()
        overwrite(file, text)

    monkeypatch.setattr(reserve, "_overwrite", in_the_room_that_is_free)
    text = "x" * (SIZE + 1)
    disk.write_privately(tmp_path / "long.json", text)
    assert (tmp_path / "long.json").read_text() == text
    assert names(tmp_path) == ["long.json"]


def test_a_text_that_does_not_fit_into_the_room_leaves_nothing_half_written(
    disk: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reserve, "_overwrite", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        disk.write_privately(tmp_path / "long.json", "long")
    assert names(tmp_path) == []


def test_a_text_that_is_longer_than_all_of_the_room_leaves_it_to_others(
    disk: Reserve, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        disk.write_privately(tmp_path / "long.json", "x" * (COUNT * SIZE + 1))
    assert names(tmp_path) == ["room-0", "room-1"]


def test_a_longer_text_that_fits_into_the_room_and_what_is_free_beside_it_is_written(
    disk: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_free(monkeypatch, 1)
    disk.write_privately(tmp_path / "long.json", "x" * (COUNT * SIZE + 1))
    assert (tmp_path / "long.json").stat().st_size == COUNT * SIZE + 1


def test_what_a_killed_fill_left_is_deleted_a_day_later(tmp_path: Path) -> None:
    for name, age in (("room-0abc", 90_000), ("room-1def", 60), ("room", 90_000)):
        (tmp_path / name).write_bytes(b"x")
        then = time.time() - age
        os.utime(tmp_path / name, (then, then))
    Reserve(tmp_path / "room", tmp_path / "kept").fill()
    assert names(tmp_path) == ["room", "room-0", "room-1", "room-1def"]
