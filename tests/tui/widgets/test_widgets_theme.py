"""The colours: readable on black, and told apart by as many eyes as seven can be (design 10)."""

from contextlib import AbstractAsyncContextManager
from itertools import combinations
from pathlib import Path

import pytest
from rich._palettes import EIGHT_BIT_PALETTE
from rich.color import Color, ColorSystem
from textual.color import Color as TextualColor

from core.config.files.paths import Paths
from core.config.settings import Settings
from core.domain.slot import Slot
from core.engine.engine import Engine
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.theme import (
    FEW_SLOT_COLOURS,
    NO_COLOUR,
    SLOT_COLOURS,
    STORY_THEME,
    slot_class,
    theme_variables,
)
from tests.tui.widgets.colour_vision import VISIONS, chroma, contrast, distance, hue

BLACK, WHITE = "#000000", "#ffffff"
APART = 0.075
"""The least distance in OKLab; a search over all palettes as near to their names reached 0.094."""

HUES = {
    Slot.RED: (10, 40),
    Slot.ORANGE: (45, 80),
    Slot.YELLOW: (85, 115),
    Slot.GREEN: (138, 150),
    Slot.BLUE: (245, 265),
    Slot.INDIGO: (275, 302),
    Slot.VIOLET: (315, 330),
}
"""Hue angles in OKLab; the CSS colours of these names have 29, 71, 110, 142, 264, 302 and 327."""


@pytest.mark.parametrize("slot", Slot)
def test_a_slot_colour_is_readable_on_black(slot: Slot) -> None:
    assert contrast(SLOT_COLOURS[slot], BLACK) >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
def test_slot_colours_and_the_white_of_the_gm_are_told_apart(vision: str) -> None:
    closest = min(
        (distance(one, other, vision), one, other)
        for one, other in combinations([*SLOT_COLOURS.values(), WHITE], 2)
    )
    assert closest[0] >= APART, closest


def reduced(colour: str, system: ColorSystem) -> int:
    """Return the number of the colour that Rich has the terminal show."""
    number = Color.parse(colour).downgrade(system).number
    assert number is not None
    return number


def of_256(colour: str) -> str:
    """Return what a terminal of 256 colours shows."""
    return EIGHT_BIT_PALETTE[reduced(colour, ColorSystem.EIGHT_BIT)].hex


@pytest.mark.parametrize("slot", Slot)
def test_a_slot_colour_is_readable_on_black_in_256_colours(slot: Slot) -> None:
    assert contrast(of_256(SLOT_COLOURS[slot]), BLACK) >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
def test_slot_colours_and_white_are_told_apart_in_256_colours(vision: str) -> None:
    shown = [*map(of_256, SLOT_COLOURS.values()), WHITE]
    assert min(distance(one, other, vision) for one, other in combinations(shown, 2)) >= 0.05


def test_seven_of_16_colours_are_told_apart_and_none_is_the_grey_of_asides_or_the_white_of_the_gm() -> None:
    variables = theme_variables("standard")
    numbers = [reduced(variables[f"slot-{slot.colour}"], ColorSystem.STANDARD) for slot in Slot]
    assert len(set(numbers)) == len(Slot)
    assert not {0, 7, 8, 15} & set(numbers)
    # What they look like is the terminal's own. In the colours of a VGA card, the brown that stands for
    # orange and the blue that stands for indigo have 4.0 and 4.1: no other two of 16 are like their names.
    assert all(contrast(colour, BLACK) >= 4 for colour in FEW_SLOT_COLOURS.values())
    dim = {slot for slot, colour in FEW_SLOT_COLOURS.items() if contrast(colour, BLACK) < 4.5}
    assert dim == {Slot.ORANGE, Slot.INDIGO}


def test_the_program_takes_the_colours_that_its_terminal_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Configuration) -> AbstractAsyncContextManager[Engine]:
        raise NotImplementedError

    paths = Paths(*(tmp_path / name for name in ("data", "config", "logs", "downloads")))
    for system, colours in (("standard", FEW_SLOT_COLOURS), ("256", SLOT_COLOURS)):
        monkeypatch.setattr("textual.constants.COLOR_SYSTEM", system)
        app = StoryEngineApp(never, Configuration(paths, Settings(_env_file=None)))
        assert {slot: app.theme_variables[f"slot-{slot.colour}"] for slot in Slot} == colours
    monkeypatch.setenv("NO_COLOR", "1")
    app = StoryEngineApp(never, Configuration(paths, Settings(_env_file=None)))
    assert {app.theme_variables[f"slot-{slot.colour}"] for slot in Slot} == {NO_COLOUR}


@pytest.mark.parametrize("slot", Slot)
def test_a_slot_colour_looks_like_its_name(slot: Slot) -> None:
    low, high = HUES[slot]
    assert low <= hue(SLOT_COLOURS[slot]) <= high
    assert chroma(SLOT_COLOURS[slot]) >= 0.16, "a pastel: mint, lavender, mauve"


@pytest.mark.parametrize("system", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT, ColorSystem.STANDARD])
@pytest.mark.parametrize("slot", Slot)
def test_without_colour_a_slot_is_readable_on_black(slot: Slot, system: ColorSystem) -> None:
    assigned = theme_variables(system.name.lower(), has_colour=False)[f"slot-{slot.colour}"]
    shown = TextualColor.parse(assigned).monochrome.rich_color.downgrade(system)
    assert contrast(shown.get_truecolor().hex, BLACK) >= 4.5


def test_of_16_colours_yellow_is_bold_and_nothing_is_bold_where_there_are_more() -> None:
    assert theme_variables("standard")["slot-yellow-style"] == "bold"
    assert theme_variables("256")["slot-yellow-style"] == "none"
    assert theme_variables("standard", has_colour=False)["slot-yellow-style"] == "none"


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("cell-text", "cell"),
        ("cell-muted", "cell"),
        ("veil-text", "veil"),
        ("page-setup-text", "page-setup"),
        ("page-play-text", "page-play"),
        ("page-chapter-text", "page-chapter"),
        ("action-text", "action"),
        ("danger-text", "danger"),
        ("tone-error", "cell"),
        ("tone-warning", "cell"),
        ("tone-info", "cell"),
        ("cell-outline", "cell"),
    ],
)
def test_every_pair_that_is_used_is_readable(text: str, ground: str) -> None:
    colours = theme_variables()
    assert contrast(colours[text], colours[ground]) >= 4.5


def test_pages_are_black_grey_and_white_and_cells_black() -> None:
    colours = theme_variables()
    red, green, blue = (colours["page-play"][place : place + 2] for place in (1, 3, 5))
    assert (colours["page-setup"], colours["page-chapter"]) == (BLACK, WHITE)
    assert red == green == blue not in {"00", "ff"}
    assert (colours["cell"], colours["cell-text"]) == (BLACK, WHITE)


def test_selected_text_stays_readable_in_every_colour_but_the_darkest_blue() -> None:
    ground = theme_variables()["marked"]
    assert all(contrast(colour, ground) >= 2 for colour in SLOT_COLOURS.values())
    assert contrast(WHITE, ground) >= 4.5


def test_the_theme_is_dark_and_black() -> None:
    assert STORY_THEME.dark
    assert STORY_THEME.background == BLACK


def test_a_slot_has_a_class_that_names_its_colour() -> None:
    assert [slot_class(slot) for slot in Slot][:2] == ["-slot-red", "-slot-orange"]
