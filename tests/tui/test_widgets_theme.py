"""The colours: readable on black, and told apart by as many eyes as seven can be (design 10)."""

from itertools import combinations

import pytest

from core.slot import Slot
from storyengine_tui.theme import SLOT_COLOURS, STORY_THEME, slot_class, theme_variables
from tests.tui.colour_vision import VISIONS, contrast, distance, hue

BLACK, WHITE = "#000000", "#ffffff"
APART = 0.13
"""The least distance in OKLab; a search over all palettes that look like their names reached 0.14."""

HUES = {
    Slot.RED: (10, 40),
    Slot.ORANGE: (45, 80),
    Slot.YELLOW: (85, 115),
    Slot.GREEN: (130, 170),
    Slot.BLUE: (235, 265),
    Slot.INDIGO: (268, 295),
    Slot.VIOLET: (300, 340),
}


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


@pytest.mark.parametrize("slot", Slot)
def test_a_slot_colour_looks_like_its_name(slot: Slot) -> None:
    low, high = HUES[slot]
    assert low <= hue(SLOT_COLOURS[slot]) <= high


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("cell-text", "cell"),
        ("cell-muted", "cell"),
        ("veil-text", "veil"),
        ("page-setup-text", "page-setup"),
        ("page-play-text", "page-play"),
        ("page-chapter-text", "page-chapter"),
        ("deed-text", "deed"),
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
