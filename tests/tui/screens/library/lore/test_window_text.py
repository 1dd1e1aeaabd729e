"""What is typed into a lorebook is kept for each window, and found by the next once its window ended."""

import subprocess
import sys
from pathlib import Path
from uuid import UUID

from core.domain.ids import LorebookId
from storyengine_tui.screens.library.lore.window_text import WindowText
from storyengine_tui.screens.shared.kept_text import KeptText

BOOK = LorebookId(UUID(int=7))
HOLDS = """
import sys
from pathlib import Path
from uuid import UUID
from storyengine_tui.screens.library.lore.window_text import WindowText
text = WindowText.of(UUID(int=7), Path(sys.argv[1]))
text.kept.keep("Typed there.")
print("ready", flush=True)
sys.stdin.read()
"""


def test_two_windows_keep_what_is_typed_apart(tmp_path: Path) -> None:
    one, other = WindowText.of(BOOK, tmp_path), WindowText.of(BOOK, tmp_path)
    one.kept.keep("Mine.")
    other.kept.keep("Yours.")
    assert (one.kept.read(), other.kept.read()) == ("Mine.", "Yours.")


def test_the_next_window_takes_over_what_a_window_left(tmp_path: Path) -> None:
    one, other = WindowText.of(BOOK, tmp_path), WindowText.of(BOOK, tmp_path)
    other.kept.keep("Left.")
    other.close()
    third = WindowText.of(BOOK, tmp_path)
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
        beside = WindowText.of(BOOK, tmp_path)
        assert beside.kept.read() == ""
        beside.close()
        program.kill()
        program.wait(10)
    assert WindowText.of(BOOK, tmp_path).kept.read() == "Typed there."


def test_a_book_that_is_deleted_takes_the_files_of_all_windows_along(tmp_path: Path) -> None:
    for window in (WindowText.of(BOOK, tmp_path), WindowText.of(BOOK, tmp_path)):
        window.kept.keep("x")
    KeptText.forget_entries_of(BOOK, tmp_path)
    assert not list(tmp_path.iterdir())
