"""Every name that a style sheet selects by is one of the product's or of Textual's."""

import re
from pathlib import Path

import textual
from textual.css.model import Selector, SelectorType
from textual.css.stylesheet import Stylesheet

from storyengine_tui.theme import STORY_THEME, theme_variables

ROOT = Path(__file__).parents[2] / "storyengine_tui"
MARKS = {SelectorType.ID: "#", SelectorType.CLASS: ".", SelectorType.TYPE: ""}


def selected() -> list[Selector]:
    """Return what the rules of all style sheets select by."""
    styles = Stylesheet(variables=STORY_THEME.to_color_system().generate() | dict(theme_variables()))
    for path in sorted(ROOT.rglob("*.tcss")):
        styles.add_source(path.read_text(), read_from=(str(path), ""))
    every = (selector for rule in styles.rules for one in rule.selector_set for selector in one.selectors)
    return [selector for selector in every if selector.type in MARKS]


def test_every_name_in_a_style_sheet_is_of_something_that_can_be_there() -> None:
    ours = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    theirs = "\n".join(path.read_text() for path in Path(textual.__file__).parent.rglob("*.py"))
    types = set(re.findall(r"^ *class (\w+)", ours + theirs, re.MULTILINE))
    words = set(re.findall(r"[\w-]+", ours)) | set(re.findall(r"\w*-[\w-]+", theirs))
    # Classes of slots and of parts of the transcript are put together: `-slot-{name}`.
    made = tuple(re.findall(r"[\w-]+-(?=\{)", ours))

    def is_known(selector: Selector) -> bool:
        if selector.type is SelectorType.TYPE:
            return selector.name in types
        return selector.name in words or selector.name.startswith(made)

    assert {MARKS[one.type] + one.name for one in selected() if not is_known(one)} == set()
