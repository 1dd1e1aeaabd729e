"""Reads the terminal: a paste is one text, however the line splits it and whatever it contains.

Textual looks for the end of a paste as it looks for keys. Where the mark of the end comes in two parts, a
tenth of a second between them, the paste never ends and everything typed after it is lost; and where
the text has an escape character in it, some of the text acts as keys. Here the marks are searched first,
and Textual's parser is given only what is outside of them.

Textual's parser also computes with any numbers in a sequence, and raises where they are not a valid
character, position or size. Such a sequence is ignored: no terminal sends it.
"""

import os
import selectors
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from string import ascii_lowercase, digits
from typing import Final

from textual._xterm_parser import XTermParser
from textual.events import Key, MouseEvent, Paste, Resize
from textual.keys import Keys
from textual.message import Message

ESCAPE: Final = "\x1b"
START: Final = "\x1b[200~"
END: Final = "\x1b[201~"

_NAMES: Final = {
    **{character: character for character in digits + ascii_lowercase if character not in "bf"},
    "-": "minus",
    "=": "equals_sign",
}
"""Names of the keys. Textual has Alt+B and Alt+F as ways of a terminal to say Ctrl+Left and Ctrl+Right."""
WITH_ALT: Final = {f"{ESCAPE}{character}": name for character, name in _NAMES.items()}
"""Names of the keys that a terminal sends behind an escape when Alt is held."""

LONGEST_KEY: Final = 1.0
"""Seconds after which what may begin a paste is a key."""
SILENCE: Final = 1.0
"""Seconds of silence after which as much of a paste as has come is handed on; the rest may still come."""
LONGEST_READ: Final = 16_384
"""Bytes that are read at once."""
SPLIT_WAIT_SECONDS: Final = 0.1
"""Seconds after which the parser is asked whether something has waited long enough."""
MOST_CELLS: Final = 2_000
"""Columns or rows that no terminal exceeds: laying out more takes all memory."""


class PasteParser(XTermParser):
    """Textual's parser of keys, behind a filter that takes the pastes out; it never raises."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._came = clock()
        self._held = ""
        """The end of the input, while it may be the beginning of a mark."""
        self._is_escape_given = False
        """Whether Textual's parser was given its first character already."""
        self._paste: list[str] | None = None

    def feed(self, data: str) -> Iterable[Message]:
        """Parse what was read, in parts of any size."""
        self._came = self._clock()
        data, self._held = self._held + data, ""
        while data:
            mark = START if self._paste is None else END
            before, found, data = data.partition(mark)
            if not found:
                before, self._held = _without_beginning_of(mark, before)
            if self._paste is not None:
                self._paste.append(before)
                if found:
                    yield from self._pasted()
                    self._paste = None
            else:
                yield from self._keys(before)
                if found:
                    yield from self._end_escape()
                    self._paste = []
        if self._held == ESCAPE and self._paste is None and not self._is_escape_given:
            # A lone escape is a key that must act at once, unless it begins a paste.
            yield from self._possible(super().feed(ESCAPE))
            self._is_escape_given = True

    def tick(self) -> Iterable[Message]:
        """Yield what has waited long enough; to be called when there is nothing to read."""
        waited = self._clock() - self._came
        if self._paste is not None:
            if waited >= SILENCE:
                yield from self._pasted()
        elif self._held and waited >= LONGEST_KEY:
            held, self._held = self._held, ""
            yield from self._keys(held)
        for message in self._possible(super().tick()):
            if self._is_escape_given:  # It was the key.
                self._held, self._is_escape_given = self._held.removeprefix(ESCAPE), False
            yield message

    def _keys(self, text: str) -> Iterable[Message]:
        if text and self._is_escape_given:
            text, self._is_escape_given = text.removeprefix(ESCAPE), False
        if text:
            yield from self._possible(super().feed(text))

    def _end_escape(self) -> Iterable[Message]:
        """End an escape that Textual's parser was given: as the mark of a paste's end it does nothing."""
        if self._is_escape_given:
            self._is_escape_given = False
            yield from self._possible(super().feed(END.removeprefix(ESCAPE)))

    def _possible(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Drop what no terminal can mean; undo an impossible size, which would shift every click."""
        known = self.mouse_pixels, self.terminal_size, self.terminal_pixel_size
        for message in messages:
            if _is_possible(message):
                yield message
            else:
                self.mouse_pixels, self.terminal_size, self.terminal_pixel_size = known
            known = self.mouse_pixels, self.terminal_size, self.terminal_pixel_size

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        """Return the keys of a sequence.

        Private, and overridden since it raises for impossible numbers, and takes Alt with a digit, - or = for
        characters of one keyboard, such as “¡”. With a letter it waits for more: of the same key twice within
        a tenth of a second the first would be typed as text.
        """
        if (name := WITH_ALT.get(sequence)) is not None:
            return [Key(f"alt+{name}", None)]
        try:
            return [*super()._sequence_to_key_events(sequence, alt)]
        except (ValueError, OverflowError):
            return [Key(Keys.Ignore, sequence)]

    def parse_mouse_code(self, code: str) -> Message | None:
        """Return the event of a mouse; None where it is not on any screen."""
        try:
            return super().parse_mouse_code(code)
        except (ZeroDivisionError, OverflowError):  # The terminal reported no columns, or no pixels.
            return None

    def _pasted(self) -> Iterable[Message]:
        if self._paste:
            text = "".join(self._paste)
            self._paste.clear()
            if text:
                yield Paste(text.replace("\x00", ""))


def _is_possible(message: Message) -> bool:
    """Whether a terminal can mean this: no lone surrogate, and no size or position beyond all screens."""
    match message:
        case Key(key=key, character=character):
            return not any("\ud800" <= one <= "\udfff" for one in key + (character or ""))
        case Resize(size=size):
            return all(1 <= cells <= MOST_CELLS for cells in size)
        case MouseEvent():
            return max(message.x, message.y) <= MOST_CELLS
        case _:
            return True


def _without_beginning_of(mark: str, text: str) -> tuple[str, str]:
    """Split what may be the beginning of `mark` off the end of `text`."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:length]):
            return text[:-length], text[-length:]
    return text, ""


def read_terminal(
    descriptor: int, parser: PasteParser, take: Callable[[Message], object], is_over: Callable[[], bool]
) -> None:
    """Read the terminal until `is_over`; pass what is typed, pasted and clicked to `take`.

    The parser's `tick` is called only when there is nothing to read: on a busy machine the second half of a
    key may wait in the buffer for long.

    Raises OSError when the terminal is gone.
    """
    decode = getincrementaldecoder("utf-8")(errors="replace").decode
    # Not the default selector: not every system supports terminals with it.
    with selectors.SelectSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not is_over():
            if not selector.select(SPLIT_WAIT_SECONDS):
                messages = parser.tick()
            elif data := os.read(descriptor, LONGEST_READ):
                messages = parser.feed(decode(data))
            else:
                time.sleep(SPLIT_WAIT_SECONDS)  # Its other end is closed, and `select` returns at once.
                messages = parser.tick()
            for message in messages:
                take(message)
        if selector.select(SPLIT_WAIT_SECONDS):  # The shell must not get what is still arriving.
            os.read(descriptor, LONGEST_READ)
