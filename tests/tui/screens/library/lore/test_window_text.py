"""What is typed into a lorebook is kept for each window, and found by the next once its window ended."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import pytest

from core.config.files.private_files import hold, release
from core.domain.ids import CharacterId, LorebookId
from storyengine_tui.screens.shared import window_text
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.window_text import DialogText, WindowText

BOOK = LorebookId(UUID(int=7))
HOLDS = """
import sys
from pathlib import Path
from uuid import UUID
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.window_text import WindowText
text = WindowText.of(KeptText.entries_of(UUID(int=7), Path(sys.argv[1])))
text.kept.keep("Typed there.")
print("ready", flush=True)
sys.stdin.read()
"""


def entries(folder: Path) -> tuple[KeptText, ...]:
    return KeptText.entries_of(BOOK, folder)


def test_two_windows_keep_what_is_typed_apart(tmp_path: Path) -> None:
    one, other = WindowText.of(entries(tmp_path)), WindowText.of(entries(tmp_path))
    one.kept.keep("Mine.")
    other.kept.keep("Yours.")
    assert (one.kept.read(), other.kept.read()) == ("Mine.", "Yours.")


def test_the_next_window_takes_over_what_a_window_left(tmp_path: Path) -> None:
    one, other = WindowText.of(entries(tmp_path)), WindowText.of(entries(tmp_path))
    other.kept.keep("Left.")
    other.close()
    third = WindowText.of(entries(tmp_path))
    assert third.kept.read() == "Left."
    third.kept.forget()
    for window in (one, third):
        window.close()
    assert not list(tmp_path.iterdir())


def test_a_killed_window_holds_nothing_whatever_runs_under_its_number_later(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        beside = WindowText.of(entries(tmp_path))
        assert beside.kept.read() == ""
        beside.close()
        program.kill()
        program.wait(10)
    assert WindowText.of(entries(tmp_path)).kept.read() == "Typed there."


def test_a_book_that_is_deleted_takes_the_files_of_all_windows_along(tmp_path: Path) -> None:
    for window in (WindowText.of(entries(tmp_path)), WindowText.of(entries(tmp_path))):
        window.kept.keep("x")
    KeptText.forget_entries_of(BOOK, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.anyio
async def test_a_lorebook_that_is_left_while_it_opens_keeps_no_text_from_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, begun, released = threading.Event(), threading.Event(), threading.Event()

    def slow_hold(file: Path) -> int | None:
        begun.set()
        goes_on.wait(10)
        return hold(file)

    def told_release(file: Path, lock: int) -> None:
        release(file, lock)
        released.set()

    entries(tmp_path)[0].keep("Left.")
    monkeypatch.setattr(window_text, "hold", slow_hold)
    monkeypatch.setattr(window_text, "release", told_release)
    taking = asyncio.create_task(WindowText.take(entries(tmp_path)))
    await asyncio.to_thread(begun.wait, 60)
    taking.cancel()
    await asyncio.wait({taking}, timeout=60)
    goes_on.set()
    assert await asyncio.to_thread(released.wait, 60)
    again = await WindowText.take(entries(tmp_path))
    assert again.kept.read() == "Left."
    again.close()


def test_a_dialog_keeps_its_text_whatever_becomes_of_the_same_one_in_another_window(
    tmp_path: Path,
) -> None:
    owner = CharacterId(UUID(int=8))
    files = KeptText.of("identity", owner, tmp_path).of_windows
    mine, other, after = (DialogText(files) for _ in range(3))
    assert mine.read() == ""
    mine.keep("Two pages.")
    assert other.read() == "", "what is being written is of its own window"
    other.keep("A word.")
    other.forget()
    other.close()
    mine.close()  # as where the program is killed: the text stays
    assert after.read() == "Two pages."
    after.keep("Three pages.")
    KeptText.forget_all_of(owner, tmp_path)
    assert not list(tmp_path.iterdir())
