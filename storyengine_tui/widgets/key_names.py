"""Names of keys: short in the row of keys (`^o`, `⏎`), written out everywhere else (`Ctrl+O`, `Enter`)."""

import re
from typing import Final

_WORDS: Final = ("enter", "esc", "space", "tab", "up", "down", "left", "right", "home", "end")
_WRITTEN_OUT: Final = {
    **{word: word.capitalize() for word in _WORDS},
    **dict.fromkeys(("pgup", "pageup"), "PageUp"),
    **dict.fromkeys(("pgdn", "pagedown"), "PageDown"),
    "escape": "Esc",
    "del": "Delete",
} | {"⏎": "Enter", "↑": "Up", "↓": "Down", "←": "Left", "→": "Right", "⌫": "Backspace"}
"""Names of keys that have a sign, an abbreviation or lower case in the row of keys."""
_FUNCTION_KEY: Final = re.compile(r"f\d+")


def short(shown: str) -> str:
    """Return the name for the row of keys of a key as Textual shows it: F3, not f3."""
    return shown.upper() if _FUNCTION_KEY.fullmatch(shown) else shown


def written_out(key: str) -> str:
    """Return the name for texts and buttons, such as Ctrl+N for `ctrl+n`, or for `^n` in the row of keys."""
    *modifiers, key = key.split("+") if len(key) > 1 else [key]
    if key.startswith("^") and len(key) > 1:
        modifiers, key = ["ctrl", *modifiers], key[1:]
    words = [word.capitalize() for word in modifiers]
    is_letter = bool(modifiers) and len(key) == 1
    return "+".join([*words, _WRITTEN_OUT.get(key, key.upper() if is_letter else short(key))])


def with_key(label: str, key: str) -> str:
    """Return a label with the key that does the same, such as `Undo (Ctrl+O)`; without one, the label."""
    return f"{label} ({written_out(key)})" if key else label
