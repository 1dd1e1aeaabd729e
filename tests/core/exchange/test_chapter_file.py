"""The downloaded chapter: a name that every file system takes, and never over an existing file."""

import errno
import os
from pathlib import Path

import pytest

from core.exchange.chapter_file import file_name, write_chapter, write_new
from core.text.graphemes import is_safe_cut


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("The Lamp at Grey Point", "The Lamp at Grey Point"),
        ('Who? Me: "yes" / no\\maybe*', "Who Me yes no maybe"),
        ("../../etc/passwd", "etc passwd"),
        ("  .hidden. ", "hidden"),
        ("", "Chapter"),
        ("???", "Chapter"),
        ("con", "con chapter"),
        ("LPT1", "LPT1 chapter"),
        ("a\nb\tc", "a b c"),
    ],
)
def test_a_title_becomes_a_name_that_every_file_system_takes(title: str, expected: str) -> None:
    assert file_name(title) == expected


@pytest.mark.parametrize("title", ["x" * 500, "灯" * 200, "👩‍🚀" * 90, "नमस्ते" * 30])
def test_a_long_title_is_shortened_to_what_a_file_name_holds(title: str) -> None:
    assert 0 < len(file_name(title).encode()) <= 120
    assert is_safe_cut(title, len(file_name(title)))


def test_a_folder_is_made_and_the_chapter_gets_its_title(tmp_path: Path) -> None:
    target = write_chapter("It was so.\n\n", "The Lamp", tmp_path / "new" / "out")
    assert target == tmp_path / "new" / "out" / "The Lamp.txt"
    assert target.read_text() == "It was so.\n"
    assert target.stat().st_mode & 0o077 == 0


def test_a_path_that_ends_in_txt_is_the_file_unless_it_is_a_folder(tmp_path: Path) -> None:
    assert write_chapter("So.", "The Lamp", tmp_path / "mine.txt") == tmp_path / "mine.txt"
    (tmp_path / "odd.txt").mkdir()
    assert write_chapter("So.", "Lamp", tmp_path / "odd.txt") == tmp_path / "odd.txt" / "Lamp.txt"


def test_an_existing_file_is_kept_and_the_new_chapter_gets_a_number(tmp_path: Path) -> None:
    first = write_chapter("One.", "Lamp", tmp_path)
    second = write_chapter("Two.", "Lamp", tmp_path)
    assert (first.name, second.name) == ("Lamp.txt", "Lamp (2).txt")
    assert (first.read_text(), second.read_text()) == ("One.\n", "Two.\n")


def test_the_same_chapter_again_is_the_same_file(tmp_path: Path) -> None:
    write_chapter("One.", "Lamp", tmp_path)
    second = write_chapter("Two.", "Lamp", tmp_path)
    assert write_chapter("Two.\n", "Lamp", tmp_path) == second
    assert len(list(tmp_path.iterdir())) == 2


def test_a_huge_file_of_the_same_name_is_not_read_to_compare_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "Lamp.txt").open("wb") as huge:
        huge.truncate(10**12)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("a file of another size was read"))
    assert write_chapter("One.", "Lamp", tmp_path).name == "Lamp (2).txt"


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "Lamp.txt").symlink_to(tmp_path / "elsewhere")
    assert write_chapter("One.", "Lamp", tmp_path).name == "Lamp (2).txt"
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_new(tmp_path / "Lamp.txt", b"One.")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links_gets_its_file_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_new(tmp_path / "Lamp.txt", b"One.")
    assert (tmp_path / "Lamp.txt").read_bytes() == b"One."
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "Lamp.txt", b"Two.")
    assert [path.name for path in tmp_path.iterdir()] == ["Lamp.txt"]


def test_the_beginning_of_a_sentence_makes_a_name_without_its_last_comma() -> None:
    assert file_name("Market day. The great bell of Saint Orl,") == "Market day. The great bell of Saint Orl"
    assert file_name("…, –") == "Chapter"


def test_where_the_last_step_fails_no_empty_file_takes_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", fail)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="Input/output error"):
        write_new(tmp_path / "chapter.txt", b"Once.")
    assert list(tmp_path.iterdir()) == []
