"""Keys that documents and help texts name are keys of the program, written as they are pressed."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widgets import Input, TextArea

import storyengine_tui
from storyengine_tui.widgets.key_names import with_key, written_out

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]{2,}`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
HELD = re.compile(r"\b(?:Ctrl|Alt|Shift)\+(?:[A-Z]\b|Tab)|\bF(?:1[0-2]|[1-9])\b")
LETTER = re.compile(r"(?<!\d )(?<![\w.’'&+/-])[B-HJ-Zb-z](?![\w.’'&+/-]|\. [A-Z]\.)")
"""A letter that stands alone, and is not the word “a” or “I”."""
IN_MARKS = re.compile(r"`([\w/+=?-])`")
SHORT = re.compile(r"(?<![\[\w(|])\^[a-z]\b|\(\^[a-z]\)|⏎")
"""A short name of a key, as in the row of keys; `^` at the beginning of a regular expression is not one."""
SHOWN_IN = {"bank": "narrative"}
"""Packages of screens whose parts are shown on a screen of another one."""
ALL_PANELS = " ".join(f"Alt+{number}" for number in range(2, 8))
SIGNS = {"/": "slash", "+": "plus", "=": "equals_sign", "-": "minus", "?": "question_mark"}


@cache
def classes() -> tuple[type[DOMNode], ...]:
    """Return every part of the screen, and those of Textual whose keys the GM is told of."""
    for module in pkgutil.walk_packages(storyengine_tui.__path__, "storyengine_tui."):
        if ".cli" not in module.name and ".textual_ext" not in module.name:
            importlib.import_module(module.name)

    def below(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
        for one in base.__subclasses__():
            yield one
            yield from below(one)

    ours = {one for one in below(DOMNode) if one.__module__.startswith("storyengine_tui.")}
    return tuple(ours | {TextArea, Input, App})


def keys_of(one: type[DOMNode]) -> set[str]:
    bindings = [entry if isinstance(entry, Binding) else Binding(*entry) for entry in one.BINDINGS]
    return {key.strip() for entry in bindings for key in entry.key.split(",")}


@cache
def all_keys() -> set[str]:
    return {App.COMMAND_PALETTE_BINDING, *(key for one in classes() for key in keys_of(one))}


def room_of(one: type[DOMNode]) -> str:
    """Return the package of screens that a class is in, such as `play`; empty for any other class."""
    found = re.match(r"storyengine_tui\.screens\.(\w+)", one.__module__)
    return found[1] if found else ""


def named(text: str) -> set[str]:
    held = {match.lower() for match in HELD.findall(text)}
    return held | set(LETTER.findall(HELD.sub("", text)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_key_that_a_document_names_is_one_of_the_program(page: Path) -> None:
    text = page.read_text("utf-8")
    in_marks = {SIGNS.get(key, key) for key in IN_MARKS.findall(text)}
    assert in_marks | named(CODE.sub("", text)) <= all_keys()


def test_a_key_that_a_help_text_names_is_one_of_its_screen_or_of_what_is_in_it() -> None:
    wrong = []
    for one in classes():
        help_text = vars(one).get("HELP")
        if not isinstance(help_text, str):
            continue
        near = {"shared", room_of(one), SHOWN_IN.get(room_of(one))}
        around = [other for other in classes() if room_of(other) in near or not room_of(other)]
        missing = named(help_text) - {App.COMMAND_PALETTE_BINDING} - {k for o in around for k in keys_of(o)}
        wrong += [f"{one.__name__}: {key}" for key in sorted(missing)]
    assert not wrong


def test_a_key_that_f1_does_not_list_by_itself_is_in_a_help_text_of_its_screen() -> None:
    helps = [(room_of(one), str(vars(one).get("HELP", ""))) for one in classes()]
    missing = []
    for one in set(classes()) - {TextArea, Input, App}:
        bindings = [entry for entry in vars(one).get("BINDINGS", ()) if isinstance(entry, Binding)]
        held = [entry.key for entry in bindings if not entry.description and re.match("alt|ctrl", entry.key)]
        texts = " ".join(text for room, text in helps if room == room_of(one)).replace("to Alt+7", ALL_PANELS)
        missing += [f"{one.__name__}: {key}" for key in held if written_out(key) not in texts]
    assert not missing


def texts_of(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are shown, without those of the row of keys."""
    tree = ast.parse(path.read_text("utf-8"))
    in_row = {
        id(one.value) for one in ast.walk(tree) if isinstance(one, ast.keyword) and one.arg == "key_display"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in in_row:
            yield node.value


def test_the_short_names_of_keys_are_for_the_row_of_keys_alone() -> None:
    modules = [*(ROOT / "storyengine_tui").rglob("*.py"), *(ROOT / "core").rglob("*.py")]
    found = [
        f"{path.name}: {text}"
        for path in modules
        if path.name != "key_names.py"
        for text in texts_of(path)
        if SHORT.search(text)
    ]
    assert not found
    assert not [page.name for page in PAGES if SHORT.search(page.read_text("utf-8"))]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("ctrl+o", "Ctrl+O"),
        ("^o", "Ctrl+O"),
        ("⏎", "Enter"),
        ("enter", "Enter"),
        ("alt+o", "Alt+O"),
        ("f9", "F9"),
    ],
)
def test_a_key_is_written_out_on_a_button(key: str, name: str) -> None:
    assert with_key("Undo", key) == f"Undo ({name})"


def test_a_list_shows_the_same_sign_for_enter_as_any_other_page() -> None:
    bindings = [entry for one in classes() for entry in one.BINDINGS if isinstance(entry, Binding)]
    assert {binding.key_display for binding in bindings} & {"⏎", "Enter"} == {"⏎"}
