"""Named, numbered entries at the bottom of a cell that switch its panels (design 10)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from core.text.cleaning import clean_line
from storyengine_tui.widgets.widget_message import WidgetMessage

_AROUND = 2
"""Cells that an entry takes beside its label: brackets when it is the active one, else spaces."""


@dataclass(frozen=True, slots=True)
class PanelEntry:
    """One entry. The name is untrusted text; a mark, such as `✎`, follows it.

    `style` is a colour or style such as `$slot-red`; without one the cell's own colour is used.
    """

    key: str
    number: int
    name: str
    style: str = ""
    mark: str = ""


def entry_labels(entries: Sequence[PanelEntry], width: int) -> list[str]:
    """Return the labels of `entries` so that all fit into `width` cells.

    Where room is short, a first word that several names share is dropped, as in `Agent Red` and `Agent
    Orange`; then the longest names are cut.
    """
    names = [clean_line(entry.name) for entry in entries]
    marks = [f" {entry.mark}" if entry.mark else "" for entry in entries]
    fixed = sum(
        _AROUND + len(f"{entry.number} ") + cell_len(mark) for entry, mark in zip(entries, marks, strict=True)
    )
    room = width - fixed
    if sum(map(cell_len, names)) > room:
        names = _without_shared_words(names)
    cap = _cap(names, room)
    return [
        f"{entry.number} {_shortened(name, cap)}".rstrip() + mark
        for entry, name, mark in zip(entries, names, marks, strict=True)
    ]


def _without_shared_words(names: list[str]) -> list[str]:
    firsts = Counter(name.split(" ")[0] for name in names)
    return [
        name.split(" ", 1)[1] if " " in name and firsts[name.split(" ")[0]] > 1 else name for name in names
    ]


def _cap(names: list[str], room: int) -> int:
    """Return how many cells a name may have so that all fit into `room`; 0 when none may have any."""
    widths = [cell_len(name) for name in names]
    for cap in range(max(widths, default=0), 1, -1):
        if sum(min(width, cap) for width in widths) <= room:
            return cap
    return 0


def _shortened(name: str, cells: int) -> str:
    if cell_len(name) <= cells:
        return name
    return set_cell_size(name, cells - 1).rstrip() + "…" if cells > 1 else ""


class PanelSwitcher(Widget, can_focus=True):
    """One row of entries. Arrows, digits and the mouse pick one, which sends `Picked`.

    The active entry is in brackets and reversed, so that it is seen without colour as well. Names get
    shorter where the row is narrow; the number always stays.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "PanelSwitcher { height: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Previous", show=False),
        Binding("right", "step(1)", "Next", show=False),
        *(Binding(str(number), f"pick_number({number})", show=False) for number in range(1, 10)),
    ]

    active: reactive[str] = reactive("")
    """The key of the active entry; setting it sends no message."""

    @dataclass
    class Picked(WidgetMessage["PanelSwitcher"]):
        """The user picked the entry with this key; it is active now."""

        key: str

    def __init__(
        self, entries: Sequence[PanelEntry] = (), *, active: str = "", id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.entries = tuple(entries)
        self.set_reactive(PanelSwitcher.active, active or (entries[0].key if entries else ""))

    def set_entries(self, entries: Sequence[PanelEntry]) -> None:
        """Show other entries; the active one stays active if it is among them."""
        if tuple(entries) == self.entries:
            return
        self.entries = tuple(entries)
        if self.entries and self.active not in {entry.key for entry in self.entries}:
            self.active = self.entries[0].key
        self.refresh()

    def pick(self, key: str) -> None:
        """Pick this entry as the user would; do nothing when it does not exist."""
        if key in {entry.key for entry in self.entries}:
            self.active = key
            self.post_message(self.Picked(self, key))

    def action_step(self, step: int) -> None:
        """Pick the entry `step` places on, and wrap around at the ends."""
        keys = [entry.key for entry in self.entries]
        if keys:
            here = keys.index(self.active) if self.active in keys else 0
            self.pick(keys[(here + step) % len(keys)])

    def action_pick_number(self, number: int) -> None:
        """Pick the entry with this number, if there is one."""
        for entry in self.entries:
            if entry.number == number:
                self.pick(entry.key)

    def key_at(self, x: int) -> str | None:
        """Return the key of the entry in column `x` of the content, or None beside all of them."""
        end = 0
        for entry, label in zip(self.entries, self._labels(), strict=True):
            end += cell_len(label) + _AROUND
            if x < end:
                return entry.key if x >= 0 else None
        return None

    def on_click(self, event: events.Click) -> None:
        """Pick what was clicked."""
        key = self.key_at(event.x - self.gutter.left)
        if key is not None:
            event.stop()
            self.pick(key)

    def render(self) -> Content:
        """Return the row."""
        parts: list[tuple[str, str]] = []
        for entry, label in zip(self.entries, self._labels(), strict=True):
            if entry.key == self.active:
                parts.append((f"[{label}]", f"{entry.style} bold reverse".strip()))
            else:
                parts.append((f" {label} ", entry.style))
        return Content.assemble(*parts)

    def _labels(self) -> list[str]:
        return entry_labels(self.entries, self.content_size.width)


class SlotEntries(PanelSwitcher):
    """Entries of panels to write in. Digits, the mouse and Enter go to the panel, arrows stay here."""

    HELP = "Digits and clicks pick a character and go to its panel; arrows only show the panels."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,down", "enter", "To the panel")]

    is_stepping = False

    class Entered(Message):
        """The GM goes on to the panel that shows."""

    def action_enter(self) -> None:
        """Go to the panel that shows."""
        self.post_message(self.Entered())

    def action_step(self, step: int) -> None:
        """Pick the entry `step` places on, and stay here."""
        self.is_stepping = self.has_focus
        super().action_step(step)

    def action_pick_number(self, number: int) -> None:
        """Pick the entry with this number."""
        self.is_stepping = False
        super().action_pick_number(number)

    def on_mouse_down(self) -> None:
        """Go on to the panel of the entry that is clicked."""
        self.is_stepping = False
