"""Every colour of the program, defined once (design 10).

The slot colours were chosen by computation: each is at least 4.5 : 1 against black and looks like its
name, and the smallest OKLab distance between any two of them, and to the GM's white, is as large as a
search could make it, in common vision and as protanopia, deuteranopia and tritanopia see them. A test
computes all of it again.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from textual.theme import Theme

from core.slot import Slot

SLOT_COLOURS: Final[Mapping[Slot, str]] = MappingProxyType(
    {
        Slot.RED: "#ef1543",
        Slot.ORANGE: "#ee9828",
        Slot.YELLOW: "#ffd91f",
        Slot.GREEN: "#79e0b5",
        Slot.BLUE: "#1972fc",
        Slot.INDIGO: "#a99bf8",
        Slot.VIOLET: "#ae63a2",
    }
)

_ROLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # The background of each tab, and what is written on it outside the cells.
        "page-setup": "#000000",
        "page-setup-text": "#ffffff",
        "page-play": "#8a8a8a",
        "page-play-text": "#000000",
        "page-chapter": "#ffffff",
        "page-chapter-text": "#000000",
        # Cells are the same on every page.
        "cell": "#000000",
        "cell-text": "#ffffff",
        "cell-muted": "#a8a8a8",
        "cell-outline": "#767676",
        "cell-outline-focus": "#ffffff",
        # What the GM reads but cannot change, after the lock.
        "veil": "#303030",
        "veil-text": "#c6c6c6",
        # The blue buttons of the design, and the button that cannot be undone.
        "deed": "#1f5fd0",
        "deed-text": "#ffffff",
        "danger": "#b3261e",
        "danger-text": "#ffffff",
        # Banners: a stripe of the tone, text in white.
        "tone-error": "#ff6b5e",
        "tone-warning": "#ffc04d",
        "tone-info": "#7fb2ff",
        # Selected text keeps its own colour on this.
        "marked": "#3d3d3d",
    }
)

STORY_THEME: Final = Theme(
    name="story-engine",
    primary="#5c9bff",
    secondary="#a8a8a8",
    accent="#5c9bff",
    warning=_ROLES["tone-warning"],
    error=_ROLES["tone-error"],
    success="#79e0b5",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables={
        "screen-selection-background": _ROLES["marked"],
        "input-selection-background": "#1f4f9e",
        "input-selection-foreground": "#ffffff",
        "footer-key-foreground": "#5c9bff",
    },
)


def theme_variables() -> dict[str, str]:
    """Return our own variables, for `App.get_theme_variable_defaults`: then every theme has them."""
    return {**{f"slot-{slot.colour}": colour for slot, colour in SLOT_COLOURS.items()}, **_ROLES}


def slot_class(slot: Slot) -> str:
    """Return the CSS class of what wears the colour of `slot`, such as `-slot-red`."""
    return f"-slot-{slot.colour}"
