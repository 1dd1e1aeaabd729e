"""The private parts of Textual that this package uses: what each buys, and when it is on.

A part is on where the installed Textual is one of `TESTED_VERSIONS`, to the last digit, and no switch turns
it off. Everything works without any of them, only slower or with more bytes; `make test-without-extensions`
shows that.

Switches:
    `STORYENGINE_PLAIN_OUTPUT=1` turns off every part that changes what is painted and when.
    `STORYENGINE_WITHOUT=style-cache,paste-parser` turns off single parts, `STORYENGINE_WITHOUT=all` every
    one.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import textual

Extension = TypeVar("Extension", bound=type)

TESTED_VERSIONS: Final = frozenset({"8.2.8"})
PLAIN_OUTPUT: Final = "STORYENGINE_PLAIN_OUTPUT"
WITHOUT: Final = "STORYENGINE_WITHOUT"
ALL: Final = "all"


class Part(StrEnum):
    """One private part, and what it buys.

    The figures compare it on and off, all others on, in turns within one run: milliseconds of processor time
    in a chapter of 500 prompts (bench/NOTES.md, "Each private part on and off").
    """

    DIFF_DISPLAY = "diff-display"
    """Sends a terminal only the cells that changed: 100 bytes for a key instead of 11,700."""

    COMPOSITOR = "compositor"
    """Renders the visible part of the widgets that changed, and sends Show, Hide and Resize to listeners
    alone. Without it and `BATCHED_SCREEN`, a change of tab takes 19 to 22 ms instead of 30 to 39, and 1,000
    tokens 1,180 ms instead of 1,830."""

    BATCHED_SCREEN = "batched-screen"
    """Paints once per layout instead of two or three times, and a key without waiting for the frame timer:
    a resize takes 25 ms instead of 37, and a change of tab is painted after 40 ms instead of 80. Needs
    `COMPOSITOR`."""

    STYLE_CACHE = "style-cache"
    """Remembers the rules and the computed styles of a widget by its state: a change of tab takes 19 ms
    instead of 24."""

    TEXT_WRAP = "text-wrap"
    """Keeps the wrapped lines of a text area while its width stays: a change of tab takes 19 ms instead of
    24."""

    LINE_SCROLL = "line-scroll"
    """Grows the transcript without a layout of the whole screen for every streamed line: 1,000 tokens take
    1,160 ms instead of 1,600."""

    RESILIENT_DRIVER = "resilient-driver"
    """Drops output to a terminal that is gone. Otherwise the writer thread dies, its queue fills, the program
    hangs."""

    PASTE_PARSER = "paste-parser"
    """Reads a paste as one text even where the line splits its end mark."""

    CRASH_RECOVERY = "crash-recovery"
    """Stores everything and restarts the app after an exception in a message handler, instead of leaving, and
    reports an exception in the work of a widget, of which the app would not hear."""

    OPTION_LISTS = "option-lists"
    """Ignores a page key in a list of options without lines, and a click on a removed option: Textual raises
    KeyError and IndexError."""

    COMMAND_PALETTE = "command-palette"
    """Runs one command for two quick Enters, ignores keys before the palette is composed or after it is
    removed, where Textual raises, and offers a command that becomes possible while the palette is open."""

    WINDOW_TITLE = "window-title"
    """Sets the title of the terminal window: Textual has no public way to write to the terminal."""


_PAINTING: Final = frozenset(
    {
        Part.DIFF_DISPLAY,
        Part.COMPOSITOR,
        Part.BATCHED_SCREEN,
        Part.STYLE_CACHE,
        Part.TEXT_WRAP,
        Part.LINE_SCROLL,
    }
)
"""Parts that `STORYENGINE_PLAIN_OUTPUT` turns off."""


@cache
def installed_version() -> str:
    """Return the version of the installed Textual, from the name of its metadata directory.

    `textual.__version__` parses that metadata as mail, which takes 20 ms of the start.
    """
    records = [*Path(textual.__file__).parents[1].glob("textual-*.dist-info")]
    if len(records) == 1:
        return records[0].stem.removeprefix("textual-")
    return textual.__version__


def is_tested(version: str | None = None) -> bool:
    """Whether the parts were tested with this version, by default the installed one."""
    return (installed_version() if version is None else version) in TESTED_VERSIONS


def tested_or(plain: Any) -> Callable[[Extension], Extension]:
    """Replace a class by `plain` where the installed Textual was not tested: it gets none of the overrides.

    mypy sees the class itself in either case.
    """
    return lambda extension: extension if is_tested() else plain


def is_enabled(part: Part) -> bool:
    """Whether `part` may be used: the version was tested, and no switch turns it off."""
    without = {name.strip() for name in os.environ.get(WITHOUT, "").split(",")}
    is_plain = os.environ.get(PLAIN_OUTPUT, "") not in ("", "0")
    if ALL in without or part in without or (is_plain and part in _PAINTING):
        return False
    return is_tested()
