"""Every colour of the program, defined once (design 10).

The slot colours were chosen by computation: each is at least 4.5 : 1 against black and looks like its
name, and the smallest OKLab distance between any two of them, and to the GM's white, is as large as a
search could make it, in common vision and as protanopia, deuteranopia and tritanopia see them. What a
terminal of 256 colours makes of them is as readable; one of 16 is given colours that it has. A test computes
all of it again.
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
        Slot.BLUE: "#1f82ff",
        Slot.INDIGO: "#b0a4e6",
        Slot.VIOLET: "#ae63a2",
    }
)

FEW_SLOT_COLOURS: Final[Mapping[Slot, str]] = MappingProxyType(
    {
        Slot.RED: "#ff5555",
        Slot.ORANGE: "#aa5500",
        Slot.YELLOW: "#ffff55",
        Slot.GREEN: "#00aa00",
        Slot.BLUE: "#00aaaa",
        Slot.INDIGO: "#5555ff",
        Slot.VIOLET: "#ff55ff",
    }
)
"""For a terminal of 16 colours: seven of them. The nearest to the others would be grey for three slots."""

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


def theme_variables(color_system: str | None = None) -> dict[str, str]:
    """Return our own variables, for `App.get_theme_variable_defaults`: then every theme has them.

    `color_system` is Rich's name of what the terminal can show.
    """
    colours = FEW_SLOT_COLOURS if color_system == "standard" else SLOT_COLOURS
    return {**{f"slot-{slot.colour}": colour for slot, colour in colours.items()}, **_ROLES}


def slot_class(slot: Slot) -> str:
    """Return the CSS class of what wears the colour of `slot`, such as `-slot-red`."""
    return f"-slot-{slot.colour}"
