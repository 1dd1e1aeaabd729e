"""The keys of what has the focus, and what it is for (F1, and ? where nothing is being written)."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Static, TextArea

EDITING = (
    ("arrows, Home, End, PageUp, PageDown", "move"),
    ("Ctrl+Home, Ctrl+End", "to the beginning, to the end of the text"),
    ("Shift with arrows, Home, End", "mark"),
    ("Ctrl+C, Ctrl+X, Ctrl+V", "copy, cut, paste"),
    ("Ctrl+Z, Ctrl+Y", "undo, redo"),
    ("Ctrl+W", "delete the word before"),
    ("Tab, Shift+Tab", "next and previous field"),
)
"""What every text area can; its thirty bindings say the same at length."""
READING = (*EDITING[:3], ("Ctrl+C", "copy what is marked"), EDITING[-1])

NAMES = {
    "⏎": "Enter",
    "enter": "Enter",
    "esc": "Esc",
    "escape": "Esc",
    "space": "Space",
    "tab": "Tab",
    "↑": "Up",
    "↓": "Down",
    "←": "Left",
    "→": "Right",
    "home": "Home",
    "end": "End",
    "⌫": "Backspace",
    "pgup": "PageUp",
    "pgdn": "PageDown",
    "del": "Delete",
}
"""Keys that the row of keys shows as signs, or small."""

GENERAL = (
    "go_on(1)",
    "go_on(-1)",
    "app.focus_next",
    "app.focus_previous",
    "focus_next",
    "focus_previous",
    "screen.copy_text",
)
"""Said by the lists above."""


class HelpScreen(ModalScreen[None]):
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
        """Return the help for what has the focus on `screen`."""
        start: DOMNode = screen.focused or screen
        texts = [
            node.HELP
            for node in start.ancestors_with_self
            if isinstance(getattr(node, "HELP", None), str) and not isinstance(node, TextArea)
        ]
        return cls([text for text in texts if text], keys_of(screen))

    def compose(self) -> ComposeResult:
        """Compose texts and keys."""
        width = max((len(key) for key, _ in self._keys), default=0)
        lines = [f"{key:<{width}}  {what}" for key, what in self._keys]
        with Vertical(classes="help--box"):
            yield Static("Help", classes="help--title")
            with VerticalScroll(classes="help--scroll", can_focus=False):
                yield Static(Content("\n\n".join(self._texts)), classes="help--text")
                yield Static(Content("\n".join(lines)), classes="help--keys")
            yield Static("↑ ↓ scroll · Esc closes", classes="help--foot")

    def action_scroll(self, rows: int) -> None:
        """Move the text."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_close(self) -> None:
        """Go back to where the help was asked for."""
        self.dismiss()


def named(shown: str) -> str:
    """Return a key by its whole name, as the texts above have it: Ctrl+N, where the row of keys says ^n."""
    if shown.startswith("^") and len(shown) > 1:
        shown = f"ctrl+{shown[1:]}"
    *modifiers, key = shown.split("+") if len(shown) > 1 else [shown]
    words = [word.capitalize() for word in modifiers]
    return "+".join([*words, NAMES.get(key, key.upper() if modifiers and len(key) == 1 else key)])


def keys_of(screen: Screen[object]) -> list[tuple[str, str]]:
    """Return keys and what they do now, from the focus outwards, each action once."""
    keys: dict[str, list[str]] = {}
    focused = screen.focused
    if isinstance(focused, TextArea):
        for names, what in READING if focused.read_only else EDITING:
            keys[what] = [names]
    for active in screen.active_bindings.values():
        binding = active.binding
        is_known = isinstance(focused, TextArea) and (
            binding.action in GENERAL or (isinstance(active.node, TextArea) and not binding.show)
        )
        if active.enabled and binding.description and not is_known and not binding.system:
            shown = named(screen.app.get_key_display(binding))
            names_of_action = keys.setdefault(binding.description, [])
            if shown not in names_of_action:
                names_of_action.append(shown)
    return [(", ".join(names), what) for what, names in keys.items()]
