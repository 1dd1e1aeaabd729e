"""The keys that do something now, in one row at the foot of a screen.

Textual's own footer is a widget for every key, all recreated whenever the focus moves; here that is one
row of text, which also says the same in fewer cells where the room is short.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget


class FooterKey(NamedTuple):
    """One key, as it is shown and as it is pressed; one that is not possible now is dim."""

    shown: str
    pressed: str
    is_possible: bool = True


class KeyHint(NamedTuple):
    """Label of one key, or of a group of them."""

    keys: tuple[FooterKey, ...]
    label: str

    @property
    def width(self) -> int:
        """Cells that it takes."""
        return sum(cell_len(key.shown) + 1 for key in self.keys) + cell_len(self.label)


MORE = " …"
"""Shown in place of hints that do not fit; the help lists them all."""
PALETTE = "command_palette"
GAP = 2
LEAST_GAP = 1


def fitting(hints: Sequence[KeyHint], last: Sequence[KeyHint], width: int) -> tuple[list[KeyHint], int, str]:
    """Return what is shown in `width` cells, the gap between two hints, and the text before `last`.

    The hints of `last` are always shown: they lead to all the others. Of the rest, the first that fit are.
    """
    for gap in (GAP, LEAST_GAP):
        if _width([*hints, *last], gap) <= width:
            return [*hints, *last], gap, ""
    kept = list(hints)
    while kept and _width([*kept, *last], LEAST_GAP) + len(MORE) > width:
        kept.pop()
    return [*kept, *last], LEAST_GAP, MORE


def _width(hints: Sequence[KeyHint], gap: int) -> int:
    return 1 + sum(hint.width for hint in hints) + gap * max(0, len(hints) - 1)


class KeyLine(Widget):
    """One row of the keys that the focus, the screen and the app offer; a click presses one."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--impossible"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        color: $footer-description-foreground;
        & .key-line--key { color: $footer-key-foreground; text-style: bold; }
        & .key-line--impossible { color: $footer-description-foreground 60%; }
    }
    """

    def __init__(self, *, offers_palette: bool = True) -> None:
        super().__init__()
        self._last = ("close", "help", PALETTE) if offers_palette else ("close", "help")
        """The actions that stay however narrow the row is, in this order at its end."""
        self._hints: tuple[tuple[KeyHint, ...], tuple[KeyHint, ...]] = ((), ())
        self._places: list[tuple[int, int, FooterKey]] = []
        """Columns from, columns to, and the key between them, as they are drawn."""

    def on_mount(self) -> None:
        """Redraw when other keys become possible."""
        self.screen.bindings_updated_signal.subscribe(self, self._handle)
        self.watch(self.screen, "stack_updates", self._look_up, init=False)

    def _look_up(self) -> None:
        """Show the keys of a dialog in front: while it is open, those of the page do nothing."""
        front = self.app.screen
        if front is not self.screen and front.is_modal:
            front.bindings_updated_signal.subscribe(self, self._handle)
            self.watch(front, "stack_updates", self._look_up, init=False)  # a dialog may open over it
        self._handle(front)

    def _handle(self, screen: Screen[object]) -> None:
        is_in_front = self.is_attached and screen is self.app.screen
        if not (is_in_front and (screen is self.screen or screen.is_modal) and screen.app.app_focus):
            return
        hints = self._hints_of(screen)
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def _hints_of(self, screen: Screen[object]) -> tuple[tuple[KeyHint, ...], tuple[KeyHint, ...]]:
        by_action: dict[str, tuple[Binding, bool]] = {}
        offered = [(binding, is_possible) for _, binding, is_possible, _ in screen.active_bindings.values()]
        if screen.is_modal:
            offered += self._offered_everywhere()
        for binding, is_possible in offered:
            name = _name(binding)
            if binding.show or name in self._last:
                by_action.setdefault(name, (binding, is_possible))
        last = [by_action.pop(name) for name in self._last if name in by_action]
        return tuple(self._grouped(list(by_action.values()))), tuple(self._grouped(last))

    def _offered_everywhere(self) -> list[tuple[Binding, bool]]:
        """Return the priority keys of the app, which a dialog does not list."""
        return [
            (binding, True)
            for node, binding, is_possible, _ in self.screen.active_bindings.values()
            if node is self.app and binding.priority and is_possible
        ]

    def _grouped(self, bindings: Sequence[tuple[Binding, bool]]) -> list[KeyHint]:
        hints: list[KeyHint] = []
        for group, members in groupby(bindings, key=lambda one: one[0].group):
            keys = [
                (FooterKey(self.app.get_key_display(binding), binding.key, is_possible), binding)
                for binding, is_possible in members
            ]
            if group is None:
                hints += [KeyHint((key,), binding.description) for key, binding in keys]
            else:
                hints.append(KeyHint(tuple(key for key, _ in keys), group.description))
        return hints

    def render(self) -> Content:
        """Draw what fits."""
        hints, gap, more = fitting(*self._hints, self.size.width)
        before_last = len(hints) - len(self._hints[1])
        key_style = self.get_visual_style("key-line--key", partial=True)
        dim = self.get_visual_style("key-line--impossible", partial=True)
        parts: list[Content] = [Content(" ")]
        self._places, column = [], 1
        for number, hint in enumerate(hints):
            lead = (more if number == before_last else "") + (" " * gap if number else "")
            parts.append(Content(lead))
            column += len(lead)
            for place, key in enumerate(hint.keys):
                is_last = place == len(hint.keys) - 1
                text = f" {hint.label}" if is_last else " "
                parts.append(Content.styled(key.shown, key_style if key.is_possible else dim))
                parts.append(Content.styled(text, "" if key.is_possible else dim))
                end = column + cell_len(key.shown + text)
                self._places.append((column, end, key))
                column = end
        return Content("").join(parts)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Press the key that is under the mouse."""
        for start, end, key in self._places:
            if start <= event.x < end:
                # A dim one too: its action says why it does nothing now.
                self.app.simulate_key(key.pressed)
                if not key.is_possible:
                    self.app.bell()


def _name(binding: Binding) -> str:
    """Return the action without its namespace, such as `app.`; two keys of one action are one hint."""
    return binding.action.rpartition(".")[2] if "(" not in binding.action else binding.action
