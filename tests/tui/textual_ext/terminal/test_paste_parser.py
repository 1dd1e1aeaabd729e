"""What comes from the terminal: pastes and keys, wherever the line cuts them."""

import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key, MouseDown, Paste
from textual.message import Message

from storyengine_tui.textual_ext.parts import Part
from storyengine_tui.textual_ext.terminal.paste_parser import END, SILENCE, START, PasteParser, read_terminal
from storyengine_tui.textual_ext.terminal.unix_driver import resilient
from tools.fuzz_targets import check_terminal

PASTED = st.text(st.characters(codec="utf-8", exclude_characters="\x00")).filter(
    lambda text: text and END not in f"{text}{END}"[:-1]
)


class Line:
    """A line from a terminal, and what has come over it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.parser = PasteParser(clock=lambda: self.now)
        self.came: list[str] = []

    def send(self, parts: Iterable[str], *, pause: float = 0.0) -> "Line":
        """Send these, with so many seconds of silence behind each."""
        for part in parts:
            self._note(self.parser.feed(part))
            if pause:
                self.wait(pause)
        return self

    def wait(self, seconds: float) -> "Line":
        """Let time go by."""
        self.now += seconds
        self._note(self.parser.tick())
        return self

    def _note(self, messages: Iterable[Message]) -> None:
        for message in messages:
            match message:
                case Paste(text=text):
                    self.came.append(f"pasted: {text}")
                case Key(key=key):
                    self.came.append(key)
                case _:
                    raise AssertionError(message)


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({place for place in places if 0 < place < len(text)})
    return [text[first:last] for first, last in zip([0, *ends], [*ends, len(text)], strict=True)]


@given(PASTED, st.lists(st.integers(1, 40), max_size=6), st.sampled_from([0.0, SILENCE / 2]))
def test_a_paste_comes_whole_wherever_a_slow_line_cuts_it(text: str, places: list[int], pause: float) -> None:
    line = Line().send(["a"]).send(cut(f"{START}{text}{END}", places), pause=pause).send(["b"])
    assert line.came == ["a", f"pasted: {text}", "b"]


@pytest.mark.parametrize("length", range(1, len(END)))
def test_what_is_typed_after_a_paste_whose_end_came_late_is_typed(length: int) -> None:
    line = Line().send([f"{START}one\rtwo{END[:length]}", f"{END[length:]}", "x"], pause=SILENCE / 2)
    assert line.came == ["pasted: one\rtwo", "x"]


def test_a_paste_whose_mark_is_cut_behind_its_escape_plays_no_keys() -> None:
    assert Line().send(["a", "\x1b", "[200~one\x1b[Otwo\r", f"three{END}", "b"]).came == [
        "a",
        "pasted: one\x1b[Otwo\rthree",
        "b",
    ]


def test_an_escape_in_a_pasted_text_plays_no_keys() -> None:
    text = "\x1b" + "Drop everything" * 4 + "\r\x1b[O\x1b[<0;1;1M"
    assert Line().send([f"{START}{text}{END}"]).came == [f"pasted: {text}"]


NUMBERS = st.one_of(
    st.sampled_from(["", "0", "1", "27", "48", "200", "55296", "1114111", "1114112", "1:2", "-1", "9" * 25]),
    st.integers(0, 2**31).map(str),
)
SEQUENCES = st.builds(
    lambda mark, numbers, end: f"\x1b[{mark}{';'.join(numbers)}{end}",
    st.sampled_from(["", "<", "?", ">"]),
    st.lists(NUMBERS, max_size=6),
    st.sampled_from([*"uABCDEFHPQRSmMtn~c", "$y"]),
)


@pytest.mark.parametrize("sequence", ["\x1b[1114112;1u", "\x1b[27;5;1114112~", "\x1b[97:65;1:2u"])
def test_a_sequence_that_names_no_character_is_ignored(sequence: str) -> None:
    assert Line().send(["a", sequence, "b"]).came == ["a", "b"]


@given(st.lists(SEQUENCES, max_size=4))
def test_no_sequence_ends_the_reading_of_the_terminal(sequences: list[str]) -> None:
    check_terminal("".join(sequences).encode())


@pytest.mark.parametrize("size", ["0;0;0;0", "99999;99999;1;1"])
def test_no_size_is_believed_that_no_terminal_has(size: str) -> None:
    parser = PasteParser()
    assert list(parser.feed(f"\x1b[48;{size}t\x1b[<35;99999;1M")) == []
    [click] = parser.feed("\x1b[<0;12;5M")
    assert isinstance(click, MouseDown)
    assert (click.x, click.y) == (11, 4)


def test_a_paste_that_stalls_is_handed_on_and_its_rest_is_no_keys() -> None:
    line = Line().send([f"{START}one\r"]).wait(SILENCE)
    assert line.came == ["pasted: one\r"]
    assert line.send([f"two\r{END}"]).came == ["pasted: one\r", "pasted: two\r"]


def test_a_key_that_begins_as_a_paste_does_comes_with_the_rest_of_it() -> None:
    assert Line().send(["\x1b[2", "~"]).came == ["insert"]


def test_the_escape_key_needs_nothing_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line().send(["\x1b"])
    monkeypatch.setattr("textual._parser.get_time", lambda: float("inf"))
    assert line.wait(0.2).came == ["escape"]


def test_letters_that_a_line_cuts_in_two_are_put_together_again() -> None:
    reader, writer = os.pipe()
    came: list[Message] = []
    end, enough = threading.Event(), threading.Event()

    def take(message: Message) -> None:
        came.append(message)
        if isinstance(message, Key):
            enough.set()

    thread = threading.Thread(target=read_terminal, args=(reader, PasteParser(), take, end.is_set))
    thread.start()
    data = f"{START}„Gute Nacht“ 👩‍🚀{END}".encode()
    for byte in data:
        os.write(writer, bytes([byte]))
    os.write(writer, b"x")
    assert enough.wait(30)
    end.set()
    thread.join(30)
    os.close(writer)
    os.close(reader)
    assert [message.text for message in came if isinstance(message, Paste)] == ["„Gute Nacht“ 👩‍🚀"]


@pytest.mark.needs(Part.RESILIENT_DRIVER)
def test_a_line_that_drops_leaves_no_thread_behind_that_reads_it() -> None:
    """It also sends SIGCONT, upon which Textual begins a second thread and forgets the first."""
    reader, writer = os.pipe()
    driver_class = resilient(LinuxDriver)
    driver: Any = driver_class.__new__(driver_class)
    driver._debug, driver.fileno, driver.exit_event = False, reader, threading.Event()
    os.close(writer)
    threads = []
    for _ in range(2):
        driver._key_thread = threading.Thread(target=driver.run_input_thread, daemon=True)
        driver._key_thread.start()
        threads.append(driver._key_thread)
    threads[0].join(30)
    assert not threads[0].is_alive(), "the second reads alone"
    assert threads[1].is_alive()
    driver.exit_event.set()
    threads[1].join(30)
    os.close(reader)
    assert not threads[1].is_alive()


@pytest.mark.parametrize("after", ["\x1bo", "\x1b[A", "\x1b[200~x\x1b[201~", "a"])
def test_alt_with_a_letter_is_a_key_at_once_and_never_text_whatever_follows(after: str) -> None:
    first, *_ = PasteParser().feed(f"\x1bo{after}")
    assert isinstance(first, Key)
    assert (first.key, first.character) == ("alt+o", None)


@pytest.mark.parametrize(("typed", "key"), [("\x1b1", "alt+1"), ("\x1b7", "alt+7"), ("\x1b-", "alt+minus")])
def test_alt_with_a_digit_is_a_key_and_no_odd_character(typed: str, key: str) -> None:
    [event] = PasteParser().feed(typed)
    assert isinstance(event, Key)
    assert (event.key, event.character) == (key, None)
