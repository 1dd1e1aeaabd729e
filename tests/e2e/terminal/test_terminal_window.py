"""The program in many a terminal: slow lines, few colours, no mouse, windows that change, close or die.

Every test plays the real program in a pseudo-terminal, by its keys, and sees nothing but its screen.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyte.screens import Char

from core.config.files.paths import Paths
from tests.e2e.program import Machine, machine
from tests.e2e.terminal.game_master import Character, GameMaster, Setting
from tests.store.servers import cloned, database_of, plain_url
from tests.terminal import PATIENCE, STANDARD, Size
from tests.tui.engine_app import PostgresDesktop, make_active

WORDS = [f"word{number}" for number in range(1, 61)]
REPLIES = f"""
[pace]
between_tokens = 0.002

[[reply]]
match = {{ schema = "text", last = "UNHURRIED" }}
text = "{" ".join(WORDS)}"
between_tokens = 0.05

[[reply]]
match = {{ schema = "text", last = "AT LENGTH" }}
text = "{" ".join(WORDS)}"
between_tokens = 0.15

[[reply]]
match = {{ schema = "text" }}
text = "I look at the sea."
"""
GREYS = {0, 7, 8, 15, 16, 59, 102, 145, 188, 231, *range(232, 256)}
"""The colours without colour among the 256."""
SLOW_LINE = 960
"""Bytes in a second at 9,600 baud."""
SETTING = Setting(
    world="A lighthouse. Nothing is supernatural.",
    chapter="A storm.\n\nThe lamp is out.",
    cast=(Character("Mira", "You keep the light."), Character("Jonas", "You row the boat.")),
)

# With `make e2e`: real terminals take minutes on a busy machine.
pytestmark = pytest.mark.chapter

Open = Callable[..., GameMaster]


@pytest.fixture(scope="module")
def played(private_template: str) -> Iterator[tuple[str, str]]:
    """A server, and a database on it that holds one chapter of two prompts; the third is Ada's turn."""
    for url in cloned(private_template):
        nowhere = Path("/nowhere")
        desktop = PostgresDesktop.at(url, Paths(nowhere, nowhere, nowhere, nowhere))
        desktop.prepare_now(lambda engine: make_active(engine, 2))
        yield private_template, database_of(url)


@pytest.fixture
def url(played: tuple[str, str]) -> Iterator[str]:
    """A database with that chapter."""
    yield from cloned(*played)


@pytest.fixture
def home(tmp_path: Path) -> Machine:
    """A user's home."""
    made = Machine(tmp_path / "user")
    made.write("replies.toml", REPLIES)
    return made


@pytest.fixture
def open_window(home: Machine, url: str) -> Iterator[Open]:
    """Opens windows on the chapter, and closes them in the end."""
    windows: list[GameMaster] = []

    def open_(*, colours: dict[str, str] | None = None, **options: Any) -> GameMaster:
        environment = {**scripted(home), "STORYENGINE_DATABASE_URL": url, **(colours or {})}
        windows.append(GameMaster(home, environment, **options))
        return windows[-1]

    yield open_
    for window in windows:
        window.close()


def scripted(home: Machine) -> dict[str, str]:
    return {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(home.work / "replies.toml")}


def assert_readable(window: GameMaster) -> None:
    """Every letter of the screen can be told from what is behind it."""
    letters = "".join(cell.data for cell in hidden(window.cells()))
    assert not letters, f"{letters!r} cannot be read\n{window.text}"


def hidden(cells: list[Char]) -> list[Char]:
    """Return the letters that have the colour of what is behind them; borders may."""
    return [cell for cell in cells if cell.data.isalnum() and cell.fg == cell.bg != "default"]


@pytest.mark.parametrize(
    ("term", "size"),
    [("xterm", STANDARD), ("xterm-256color", Size(120, 40)), ("screen", STANDARD), ("tmux", Size(100, 30))],
)
def test_a_chapter_goes_on_in_every_terminal_and_leaves_it_as_it_was(
    open_window: Open, term: str, size: Size
) -> None:
    window = open_window(term=term, size=size)
    window.wait_for("2) Prompt number 2.")
    window.wait_for("━ To 3 ")
    window.prompt("The lamp goes out.")
    window.wait_for("3) The lamp goes out.")
    window.wait_for_reply(3, "Agent Yellow")
    window.wait_for("━ To 1 ")
    window.press("b", "home", "a", "end", "d", "backspace", "c")
    window.wait_for("┃ abc ")
    assert_readable(window)
    window.press("f4")
    window.wait_for("Structured memory")
    window.press("f2")
    window.wait_for("A lighthouse on a rock.")
    assert_readable(window)
    window.leave()
    for mode in (1049, 1003, 2004):  # The other screen, the mouse, bracketed paste.
        on, off = window.received.rfind(b"\x1b[?%dh" % mode), window.received.rfind(b"\x1b[?%dl" % mode)
        assert 0 <= on < off, f"mode {mode} is left on"


@pytest.mark.parametrize(
    ("term", "beyond"), [("xterm", rb"[34]8;"), ("xterm-256color", rb"[34]8;2;")], ids=["16", "256"]
)
def test_colours_that_the_terminal_lacks_are_neither_sent_nor_needed(
    open_window: Open, term: str, beyond: bytes
) -> None:
    window = open_window(term=term)
    see_much(window)
    assert not re.search(beyond, bytes(window.received))


def test_no_color_means_none(open_window: Open) -> None:
    window = open_window(colours={"NO_COLOR": "1"})
    see_much(window)
    sent = {int(number) for number in re.findall(rb"[34]8;5;(\d+)[;m]", bytes(window.received))}
    assert sent <= GREYS
    assert not re.search(rb"\x1b\[(?:\d+;)*(?:3[1-6]|4[1-6]|9[1-6]|10[1-6])m", bytes(window.received))


def see_much(window: GameMaster) -> None:
    """Play, and ask for the end, and find everything readable."""
    window.wait_for("2) Prompt number 2.")
    window.wait_for("━ To 3 ")
    window.wait_for("[3 Agent Yellow]")
    window.prompt("The lamp goes out.")
    window.wait_for_reply(3, "Agent Yellow")
    assert_readable(window)
    window.press("f8")
    for text in ("End the chapter?", "no more prompts can be sent", "Cancel", "End Chapter  "):
        window.wait_for(text)
        assert not hidden(window.cells_of(text)), f"{text!r} cannot be read"


def test_a_slow_line_is_enough_to_play(open_window: Open) -> None:
    window = open_window(bytes_per_second=SLOW_LINE, patience=4 * PATIENCE)
    window.wait_for("━ To 3 ")
    window.wait_for("palette")
    began = len(window.received)
    window.prompt("Tell it AT LENGTH.")
    window.wait_for(WORDS[2])
    window.type("And then?")
    window.wait_for("┃ And then? ")
    assert WORDS[-1] not in window.text, "what is typed shows while the reply streams"
    window.wait_for(WORDS[-1])
    window.wait_while("is writing")
    assert len(window.received) - began < 12_000


def test_a_key_costs_few_bytes(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.type("x")
    window.wait_for("┃ x ")
    began = len(window.received)
    for number in range(2, 22):
        window.type("x")
        window.wait_for(f"┃ {'x' * number} ")
    assert (len(window.received) - began) / 20 < 400


def test_the_size_changes_while_a_reply_streams(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.prompt("Tell, UNHURRIED.")
    for word, size in ((WORDS[2], Size(120, 40)), (WORDS[10], Size(80, 24)), (WORDS[20], Size(100, 30))):
        window.wait_for(word)
        window.resize(size)
    window.wait_for(WORDS[-1])
    window.wait_while("is writing")
    window.wait_for(lambda: len(window.line("━ To 1 ").strip()) > 90)
    assert re.findall(r"word\d+", window.text) == WORDS
    assert "palette" in window.foot


def test_the_mouse_does_what_keys_do(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.click(*window.find(" 2 Jonas"), right=2)
    window.wait_for("━ To 2 ")
    window.type("For Jonas")
    window.wait_for("┃ For Jonas")
    window.click(*window.find("End Chapter (F8)"), right=2)
    window.wait_for("End the chapter?")
    window.press("escape")
    window.wait_while("End the chapter?")
    window.click(*window.find("3 Chapter"))
    window.wait_for("Structured memory")


def test_what_is_typed_when_the_line_drops_is_stored(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.type("Half a sent")
    window.wait_for("┃ Half a sent ")
    window.hang_up()
    assert window.wait_for_end() >= 0, "it ends by itself, not by the signal"
    again = open_window()
    again.wait_for("┃ Half a sent ")
    again.type("ence.")
    again.wait_for("┃ Half a sentence. ")


def test_a_line_that_drops_while_a_reply_streams_gives_the_prompt_back(open_window: Open) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.prompt("Tell, UNHURRIED.")
    window.wait_for(WORDS[2])
    window.hang_up()
    assert window.wait_for_end() >= 0, "it ends by itself, not by the signal"
    again = open_window()
    again.wait_for("┃ Tell, UNHURRIED. ")
    again.press("ctrl+r")
    again.wait_for(WORDS[-1])


def test_the_second_window_reads_along_and_takes_over(open_window: Open) -> None:
    first = open_window()
    first.wait_for("━ To 3 ")
    second = open_window(size=Size(100, 30))
    second.wait_for("Another window writes in this chapter")
    second.wait_for("2) Prompt number 2.")
    first.prompt("Tell, UNHURRIED.")
    second.wait_for("3) Tell, UNHURRIED.")
    second.wait_for(WORDS[-1])
    second.type("not here")
    second.press("ctrl+t")
    second.wait_for("takes over as soon as the other one closes")
    assert "not here" not in second.text
    first.leave()
    second.wait_while("Another window writes")
    second.wait_for("━ To 1 ")
    second.prompt("Now I.")
    second.wait_for("4) Now I.")
    second.wait_for_reply(4, "Mira")


@pytest.mark.parametrize("bell", ["true", "false"])
def test_the_frame_says_who_has_answered_and_the_bell_rings_when_it_is_wanted(
    open_window: Open, bell: str
) -> None:
    window = open_window(colours={"STORYENGINE_BELL": bell})
    window.wait_for("━ To 3 ")
    window.wait_for(lambda: window.title == "The relief boat is late.")
    window.prompt("The lamp goes out.")
    window.wait_for(lambda: window.title == "Agent Yellow has answered · The relief boat is late.")
    window.wait_for_reply(3, "Agent Yellow")
    assert window.screen.bells == (1 if bell == "true" else 0)


BROKEN = """
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea

def stumble(self, select=False):
    raise ZeroDivisionError("a bug of ours")

CappedTextArea.action_cursor_line_end = stumble
from storyengine_tui.cli import main
main()
"""


def test_after_a_bug_the_program_goes_on_with_everything_that_was_typed(home: Machine, url: str) -> None:
    program = home.write("broken.py", BROKEN)
    environment = {**scripted(home), "STORYENGINE_DATABASE_URL": url}
    with GameMaster(home, environment, program=[sys.executable, program]) as window:
        window.wait_for("━ To 3 ")
        window.type("Ada, look!")
        window.press("end")
        window.wait_for("Something in the program went wrong.")
        window.wait_for("Traceback")
        window.press("escape")
        window.wait_for("┃ Ada, look! ")
        window.type(" Speak!")
        window.wait_for("┃ Ada, look! Speak! ")
        window.press("ctrl+q")
        assert window.wait_for_end() == 0


def test_kill_9_loses_nothing_that_was_typed(open_window: Open, url: str) -> None:
    window = open_window()
    window.wait_for("━ To 3 ")
    window.type("Ada, what do you see?")
    window.wait_for("┃ Ada, what do you see? ")
    window.wait_for(lambda: unsent(url) == ["Ada, what do you see?"])
    window.kill()
    again = open_window()
    again.wait_for("┃ Ada, what do you see? ")
    again.type(" Speak!")
    again.wait_for("┃ Ada, what do you see? Speak! ")


def test_a_newcomer_types_as_fast_as_keys_go_and_plays(home: Machine, private_template: str) -> None:
    with cloned_empty(private_template) as empty:
        environment = {**scripted(home), "STORYENGINE_DATABASE_URL": empty}
        with GameMaster(home, environment) as window:
            window.begin_empty()
            window.set_up(SETTING)
            window.lock()
            window.prompt("Who is there?")
            window.wait_for("1) Who is there?")
            window.wait_for_reply(1, "Mira")
            window.press("f2")
            window.wait_for("Reset Chapter")
            window.wait_for("The lamp is out.")
            window.leave()


def test_kill_9_of_the_program_leaves_its_own_database_sound() -> None:
    with machine() as home:
        home.write("replies.toml", REPLIES)
        with GameMaster(home, scripted(home)) as window:
            window.begin_empty()
            window.type(SETTING.world)
            window.wait_for(" stored")
            window.kill()
        with GameMaster(home, scripted(home)) as window:
            window.wait_for(f"│ {SETTING.world} ", 60)
            window.leave()


@contextmanager
def cloned_empty(server: str) -> Iterator[str]:
    """A database with nothing in it, not even a schema."""
    yield from cloned(server, "template0")


def unsent(url: str) -> list[str]:
    """Return the texts that are stored and not sent."""
    with psycopg.connect(plain_url(url)) as connection:
        rows = connection.execute("SELECT text FROM unsent_text WHERE text <> ''").fetchall()
    return [str(text) for (text,) in rows]


@pytest.mark.parametrize("stop", [signal.SIGTSTP, signal.SIGSTOP], ids=lambda one: one.name)
def test_a_program_that_was_stopped_paints_its_whole_screen_again(
    open_window: Open, stop: signal.Signals
) -> None:
    window = open_window()
    parts = ("1 World", "2) Prompt number 2.", "━ To 3 ", "^p palette")
    for part in parts:
        window.wait_for(part)
    pid = window.process.pid
    os.kill(pid, stop)
    state = ["ps", "-o", "stat=", "-p", str(pid)]
    window.wait_for(lambda: subprocess.run(state, capture_output=True, check=False).stdout.startswith(b"T"))
    window.screen.reset()  # as a terminal does that changes to its other screen and back
    os.kill(pid, signal.SIGCONT)
    for part in parts:
        window.wait_for(part)
