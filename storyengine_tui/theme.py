"""Every colour of the program, defined once (design 10).

The slot colours were chosen by a search: each has a contrast of at least 4.5 : 1 with black, the hue of its
name, and enough saturation not to pass for a pastel. Among such colours the smallest OKLab distance between
any two, and to the GM's white, was made large, in common vision and as protanopia, deuteranopia and
tritanopia see them. Indigo (#4b0082) itself is nearly black, so ours is lighter, between blue and violet.
A terminal of 256 colours shows colours as readable; one of 16 gets colours that it has. Without colour
(`NO_COLOR`) all slots have one readable grey, and names and numbers tell them apart. Tests compute all this.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from textual.theme import Theme

from core.domain.slot import Slot

SLOT_COLOURS: Final[Mapping[Slot, str]] = MappingProxyType(
    {
        Slot.RED: "#ed1512",
        Slot.ORANGE: "#ed9808",
        Slot.YELLOW: "#f0cc00",
        Slot.GREEN: "#5af07a",
        Slot.BLUE: "#41a0fe",
        Slot.INDIGO: "#8165eb",
        Slot.VIOLET: "#b656b2",
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

NO_COLOUR: Final = "#bcbcbc"
"""Every slot under `NO_COLOR`. The grey of red itself would be too dark to read."""

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
        "action": "#1f5fd0",
        "action-text": "#ffffff",
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
    success=SLOT_COLOURS[Slot.GREEN],
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


def colour_of(slot: Slot) -> tuple[int, int, int]:
    """Return the colour of a slot as red, green and blue from 0 to 255."""
    red, green, blue = bytes.fromhex(SLOT_COLOURS[slot].removeprefix("#"))
    return red, green, blue


def theme_variables(color_system: str | None = None, *, has_colour: bool = True) -> dict[str, str]:
    """Return our own variables, for `App.get_theme_variable_defaults`: then every theme has them.

    `color_system` is Rich's name of the terminal's colours; `has_colour` is false under `NO_COLOR`.
    """
    is_few = has_colour and color_system == "standard"
    colours = FEW_SLOT_COLOURS if is_few else SLOT_COLOURS
    return {
        **{f"slot-{slot.colour}": colours[slot] if has_colour else NO_COLOUR for slot in Slot},
        # Of 16 colours, orange and yellow are the dark and the bright one of the same hue in many terminals.
        "slot-yellow-style": "bold" if is_few else "none",
        **_ROLES,
    }


def slot_class(slot: Slot) -> str:
    """Return the CSS class of widgets in the colour of `slot`, such as `-slot-red`."""
    return f"-slot-{slot.colour}"
