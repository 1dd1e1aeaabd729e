"""The help of the focused widget and its page, with their keys (F1, and ? outside of text fields)."""

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal
from storyengine_tui.widgets.key_names import written_out

EDITING = (
    ("arrows, Home, End, PageUp, PageDown", "move"),
    ("Ctrl+Home, Ctrl+End", "beginning, end of the text"),
    ("Ctrl+A, Ctrl+E", "beginning, end of the line"),
    ("Shift with arrows, Home, End", "select"),
    ("Ctrl+G", "select all"),
    ("Ctrl+C, Ctrl+X, Ctrl+V", "copy, cut, paste"),
    ("Ctrl+Z, Ctrl+Y", "undo, redo"),
    ("Ctrl+W", "delete the word before"),
    ("Tab, Shift+Tab", "next and previous field"),
)
"""The keys of every text area, as a summary of its thirty bindings."""
READING_KEYS = (*EDITING[:5], ("Ctrl+C", "copy the selection"), EDITING[-1])
FIELD = (
    ("arrows, Home, End", "move"),
    *EDITING[2:6],
    ("Ctrl+W, Ctrl+U", "delete the word before, all before"),
    EDITING[-1],
)
"""The keys of every field of one line."""
ANYWHERE = READING_KEYS[-2:]

WIDTH = 69
"""Cells of a line where the terminal has 80; beside it is the bar that scrolls."""
FEWEST = 20
"""Cells that what a key does has at least."""

GENERAL = ("go_on(", "focus_", "app.focus_", "screen.copy_text")
"""Prefixes of the actions that the lists above describe."""
BLANK = ("", "")
"""The line between two groups of keys."""
MOVES = ("scroll_", "page_", "cursor_")
"""Prefixes of the actions that only move; they are listed last."""
MOVING = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown")


class HelpScreen(OverlayModal[None]):
    """Lists texts and keys from the focus outwards; any of Esc, F1 and ? closes it."""

    CSS_PATH = "help_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,question_mark,q", "close", "Close"),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
    ]

    def __init__(self, texts: list[str], keys: list[tuple[str, str]]) -> None:
        super().__init__()
        self._texts = texts
        self._keys = keys

    @classmethod
    def of(cls, screen: Screen[object]) -> "HelpScreen":
        """Return the help of the focused widget on `screen`."""
        start: DOMNode = screen.focused or screen
        # What the app says holds for the chapter, and not for a dialog over it.
        nodes = (node for node in start.ancestors_with_self if node is not screen.app or not screen.is_modal)
        texts = [node.HELP for node in nodes if isinstance(getattr(node, "HELP", None), str)]
        return cls([text for text in texts if text], keys_of(screen))

    def compose(self) -> ComposeResult:
        """Compose texts and keys."""
        with Vertical(classes="help--box"):
            yield Static("Help", classes="help--title")
            with VerticalScroll(classes="help--scroll", can_focus=False):
                if self._texts:
                    yield Static(Content("\n\n".join(self._texts)), classes="help--text")
                yield Static(Content("\n".join(key_lines(self._keys))), classes="help--keys")
            yield Static("↑ ↓ scroll · Esc closes", classes="help--foot")

    def action_scroll(self, rows: int) -> None:
        """Scroll the text."""
        for keys in self.query(VerticalScroll):  # A key may come before it is composed.
            keys.scroll_relative(y=rows, animate=False)


def key_lines(keys: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of keys; what a key does stays in its column where it is long."""
    column = max((len(key) for key, _ in keys), default=0) + 2
    for key, what in keys:
        first, *others = wrap(what, max(WIDTH - column, FEWEST)) or [""]
        yield f"{key:<{column}}{first}".rstrip()
        yield from (f"{'':<{column}}{more}" for more in others)


def keys_of(screen: Screen[object]) -> list[tuple[str, str]]:
    """Return keys and what they do now, each action once.

    First the actions of the focused widget and its ancestors, then those of the app, and last movement.
    """
    near: dict[str, list[str]] = {}
    everywhere: dict[str, list[str]] = {}
    moving: set[str] = set()
    enabled = [
        (active, written_out(screen.app.get_key_display(active.binding)))
        for active in screen.active_bindings.values()
        if active.enabled
    ]
    offered = {name for active, name in enabled if active.binding.show}
    for active, name in enabled:
        binding = active.binding
        is_field = isinstance(active.node, TextArea | Input) and not binding.show
        if not binding.description or binding.system or binding.action.startswith(GENERAL) or is_field:
            continue
        if binding.action.startswith(MOVES):
            moving.add(binding.key)
        elif binding.show or name not in offered:
            names = (everywhere if isinstance(active.node, App) else near).setdefault(binding.description, [])
            if name not in names:
                names.append(name)
    groups = [
        [(", ".join(names), what) for what, names in near.items()],
        sorted([(", ".join(names), what) for what, names in everywhere.items()], key=_by_number),
        _movement(screen.focused, moving),
    ]
    return [line for group in groups if group for line in [*group, BLANK]][:-1]


def _by_number(line: tuple[str, str]) -> int:
    """Return the sort key of a line: function keys by number, then the others in their order."""
    found = re.match(r"F(\d+)", line[0])
    return int(found[1]) if found else 100


def _movement(focused: Widget | None, moving: set[str]) -> list[tuple[str, str]]:
    """Return the keys that move and select, in few lines."""
    match focused:
        case TextArea():
            return list(READING_KEYS if focused.read_only else EDITING)
        case Input():
            return list(FIELD)
    keys = [key for key in MOVING if key in moving]
    if keys[:4] == list(MOVING[:4]):
        keys[:4] = ["arrows"]
    names = [written_out(key) for key in keys if key != "arrows"]
    moves = [(", ".join([*(["arrows"] if "arrows" in keys else []), *names]), "move")] if keys else []
    return [*ANYWHERE, *moves]
