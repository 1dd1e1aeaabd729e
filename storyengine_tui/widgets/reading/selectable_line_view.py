"""Selecting in a transcript by mouse and by keyboard, and copying its source text."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.style import Style
from textual import events, on
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.reactive import var
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.selection import Selection

from storyengine_tui.widgets.reading.line_view import LineView
from storyengine_tui.widgets.reading.transcript_lines import ScreenPos, SourceAnchor, SourcePos
from storyengine_tui.widgets.reading.wrap import Span
from storyengine_tui.widgets.widget_message import WidgetMessage

MOVEMENTS = {
    **{key: f"Scroll {key.title()}" for key in ("up", "down", "left", "right", "home", "end")},
    "pageup": "Page Up",
    "pagedown": "Page Down",
}
"""Movement keys, and what the help calls them."""


class SelectableLineView(LineView, can_focus=True):
    """Adds selection to a `LineView`.

    The mouse selects as everywhere in Textual; a double click selects a paragraph, a triple click all. Shift
    with movement keys extends. `v` starts marking, for terminals that do not pass Shift on: then movement
    keys move a cursor, and Space sets the other end. What is copied is the source text: prefixes and blank
    lines as they are shown, no soft line breaks.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,ctrl+c,super+c", "copy", "Copy", key_display="c"),
        Binding("v", "mark", "Select text"),
        Binding("space", "drop_anchor", "Select from here"),
        Binding("escape", "unmark", "Stop selecting"),
        Binding("ctrl+a", "select_all", "Select all", show=False),
        *(Binding(key, f"scroll_by_key('{key}')", what, show=False) for key, what in MOVEMENTS.items()),
        *(Binding(f"shift+{key}", f"extend_selection('{key}')", show=False) for key in MOVEMENTS),
    ]

    is_marking: var[bool] = var(False, bindings=True)
    """Whether movement keys move the cursor of a selection instead of scrolling."""

    @dataclass
    class Copied(WidgetMessage["SelectableLineView"]):
        """The user copied so many characters."""

        length: int

    _anchor: SourcePos | None = None
    _cursor: SourcePos | None = None

    def action_scroll_by_key(self, key: str) -> None:
        """Scroll as a movement key says; while marking, move the cursor instead."""
        if self.is_marking:
            self._cursor = self._moved(self._start(), key)
            self._show_selection()
            return
        match key:
            case "home":
                self.scroll_to(y=0, animate=False)
            case "end":
                self.follow()
            case "left" | "right":
                raise SkipAction
            case _:
                self.scroll_relative(y=self._rows_of(key), animate=False)

    def _rows_of(self, key: str) -> int:
        page = max(1, self.size.height - 1)
        return {"up": -1, "down": 1, "pageup": -page, "pagedown": page}[key]

    # Selecting by keyboard

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what is possible now."""
        if action in {"unmark", "drop_anchor"}:
            return self.is_marking
        if action == "mark":
            return not self.is_marking and self.lines.height > 0
        if action == "copy":
            return self.text_selection is not None
        return super().check_action(action, parameters)

    def action_mark(self) -> None:
        """Show a cursor that movement keys move."""
        self._cursor, self._anchor = self._start(), None
        self.is_marking = True
        self._show_selection()

    def action_drop_anchor(self) -> None:
        """Select from the cursor on."""
        self._anchor = self._cursor
        self._show_selection()

    def action_select_all(self) -> None:
        """Select the whole transcript."""
        self._anchor, self._cursor = SourcePos(0, 0), self.lines.end
        self._show_selection(keep_in_sight=False)

    def action_extend_selection(self, way: str) -> None:
        """Extend the selection as the key says, from its moving end on."""
        start = self._start()
        if self._anchor is None:
            self._anchor = start
        self._cursor = self._moved(start, way)
        self._show_selection()

    def action_unmark(self) -> None:
        """Select nothing and stop marking."""
        self._anchor = self._cursor = None
        self.is_marking = False
        self._select(None)
        self.refresh()

    def _start(self) -> SourcePos:
        """Return the moving end: the cursor, that of a mouse selection, or the last line in sight."""
        selection = self.text_selection
        if selection is None and not self.is_marking and self._anchor != self._cursor:
            self._anchor = self._cursor = None  # Cleared elsewhere, as by Esc.
        if self._cursor is not None:
            return self._cursor
        if selection is not None:
            self._anchor, end = self._range(selection)
            return end
        bottom = min(self.scroll_offset.y + self.size.height, self.lines.height) - 1
        return self.lines.place(ScreenPos(0, max(0, bottom)))

    def _moved(self, place: SourcePos, way: str) -> SourcePos:
        spot = self.lines.spot(place)
        match way:
            case "left":
                return self.lines.step(place, -1)
            case "right":
                return self.lines.step(place, 1)
            case "home":
                return self.lines.place(ScreenPos(0, spot.y))
            case "end":
                return self.lines.place(ScreenPos(len(self._text_of(spot.y)), spot.y))
        step = self._rows_of(way)
        y = spot.y + step
        if abs(step) == 1 and self.lines.line(y) is None:
            y += step  # Skip the blank line between two paragraphs.
        if y < 0:
            return SourcePos(0, 0)
        return self.lines.end if y >= self.lines.height else self.lines.place(ScreenPos(spot.x, y))

    def _text_of(self, y: int) -> str:
        found = self.lines.line(y)
        return found[0].text[slice(*found[1])] if found else ""

    def _show_selection(self, *, keep_in_sight: bool = True) -> None:
        if self._cursor is None:
            return
        selection = None
        if self._anchor is not None and self._anchor != self._cursor:
            ends = (self.lines.spot(self._anchor), self.lines.spot(self._cursor))
            selection = Selection.from_offsets(*(Offset(*spot) for spot in ends))
        self._select(selection)
        if keep_in_sight:
            self.place_in_sight(self._cursor)
        self.refresh()

    def _select(self, selection: Selection | None) -> None:
        others = {widget: other for widget, other in self.screen.selections.items() if widget is not self}
        self.screen.selections = others if selection is None else {**others, self: selection}

    # Selecting by mouse

    def on_mouse_down(self) -> None:
        """Leave the keyboard's selection to the mouse."""
        self._anchor = self._cursor = None
        self.is_marking = False

    def on_click(self, event: events.Click) -> None:
        """Select a paragraph with two clicks, everything with three."""
        if event.chain < 2:
            return
        event.prevent_default()  # Textual would select everything with two.
        if event.chain == 2:
            place = self.lines.place(ScreenPos(0, event.y - self.gutter.top + self.scroll_offset.y))
            if self.lines.height:
                self._anchor = SourcePos(place.paragraph, 0)
                self._cursor = SourcePos(place.paragraph, len(self.lines.paragraphs[place.paragraph].text))
                self._show_selection(keep_in_sight=False)
        else:
            self.action_select_all()

    # What is selected

    @property
    def marked_place(self) -> SourcePos | None:
        """The place of the cursor, or of the end of the selection; None without one."""
        selection = self.text_selection
        place = self._cursor if self.is_marking else None
        if place is None and selection is not None:
            place = self._range(selection)[1]
        return place if self.lines.paragraphs else None

    @property
    def marked_key(self) -> object:
        """The key of the paragraph with the cursor, or with the end of the selection; None without one."""
        place = self.marked_place
        return None if place is None else self.lines.paragraphs[place.paragraph].key

    @property
    def selected_in_one(self) -> str | None:
        """The selected text of one paragraph, without its mark; None if more than one is selected."""
        selection = self.text_selection
        if selection is None:
            return ""
        start, end = self._range(selection)
        return self.lines.text_between(start, end) if start.paragraph == end.paragraph else None

    def paragraph_with(self, key: object) -> int | None:
        """Return the number of the paragraph with a key."""
        return next((n for n, one in enumerate(self.lines.paragraphs) if one.key == key), None)

    def mark_at(self, place: SourcePos, end: SourcePos | None = None) -> None:
        """Show the cursor at a place; with an `end`, the text between them is selected."""
        self._cursor, self._anchor = (place, None) if end is None else (end, place)
        self.is_marking = True
        self._show_selection()

    @property
    def has_marks_selected(self) -> bool:
        """Whether the selection has a mark of who heard a paragraph."""
        selection = self.text_selection
        return selection is not None and self.lines.has_marks(*self._range(selection))

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaint, and update whether Copy is possible."""
        self.refresh()
        self.refresh_bindings()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the source text that is selected."""
        if not self.lines.height:
            return None
        return self.lines.text_between(*self._range(selection)), "\n"

    def action_copy(self) -> None:
        """Copy what is selected, and stop marking."""
        self.copy_selection()

    def copy_selection(self, *, with_marks: bool = False) -> None:
        """Copy what is selected, with or without the marks of who heard it, and stop marking."""
        selection = self.text_selection
        if selection is None:
            raise SkipAction
        text = self.lines.text_between(*self._range(selection), with_marks=with_marks)
        if text:
            self.app.copy_to_clipboard(text)
            self.post_message(self.Copied(self, len(text)))
        if self.is_marking:
            self.action_unmark()

    def _range(self, selection: Selection) -> tuple[SourcePos, SourcePos]:
        start = SourcePos(0, 0) if selection.start is None else self.lines.place(ScreenPos(*selection.start))
        end = self.lines.end if selection.end is None else self.lines.place(ScreenPos(*selection.end))
        return self.lines.snapped(start, end)

    # Painting it

    def highlights(self, line: int) -> list[tuple[int, int, Style]]:
        """Return what is selected of a line, and the cursor while marking."""
        found = self.lines.line(line)
        if found is None:
            return []
        selected = self._selected_of(line)
        cursor = self._cursor_of(line, found[1])
        if cursor is None:
            return [(*selected, self._selected_style)] if selected else []
        parts = [(*cursor, Style(reverse=True))]
        if selected:
            parts.insert(0, (selected[0], min(selected[1], cursor[0]), self._selected_style))
            parts.append((max(selected[0], cursor[1]), selected[1], self._selected_style))
        return parts

    def _selected_of(self, line: int) -> tuple[int, int] | None:
        selection = self.text_selection
        if selection is None:
            return None
        start, end = self._range(selection)
        here = self.lines.place(ScreenPos(0, line)).paragraph
        if not start.paragraph <= here <= end.paragraph:
            return None
        first = start.offset if here == start.paragraph else 0
        last = end.offset if here == end.paragraph else len(self.lines.paragraphs[here].text)
        return first, last

    def _cursor_of(self, line: int, span: Span) -> tuple[int, int] | None:
        if not self.is_marking or self._cursor is None or self.lines.spot(self._cursor).y != line:
            return None
        first = min(self._cursor.offset, max(span.begin, span.end - 1))
        here = self._cursor.paragraph
        start, end = self.lines.snapped(SourcePos(here, first), SourcePos(here, min(first + 1, span.end)))
        return start.offset, end.offset

    @property
    def _selected_style(self) -> Style:
        # The background alone: every character keeps its colour.
        return Style(bgcolor=self.screen.get_component_rich_style("screen--selection").bgcolor)

    # Keeping it while lines move

    def rearrange(self, change: Callable[[], int]) -> None:
        """Apply a change, and keep what is selected."""
        kept = self._keep()
        super().rearrange(change)
        self._restore(kept)

    def rewrap(self, width: int) -> None:
        """Wrap again, and keep the selection."""
        kept = self._keep()
        super().rewrap(width)
        self._restore(kept)

    def _keep(self) -> "_Kept":
        selection = self.text_selection if self.is_attached else None
        places = [self._anchor, self._cursor, *(self._range(selection) if selection else (None, None))]
        anchor, cursor, start, end = (place and self.lines.mark(place) for place in places)
        return _Kept(anchor, cursor, start, end, is_selected=selection is not None)

    def _restore(self, kept: "_Kept") -> None:
        recall = self.lines.recall
        self._anchor = kept.anchor and recall(kept.anchor)
        self._cursor = kept.cursor and recall(kept.cursor)
        if not kept.is_selected:
            return
        start, end = kept.start and recall(kept.start), kept.end and recall(kept.end)
        if start is None or end is None:
            self.action_unmark()
            return
        self._select(Selection(*(Offset(*self.lines.spot(place)) for place in (start, end))))


class PinnedView(SelectableLineView):
    """Keeps a paragraph at the top until the reader scrolls."""

    pinned: int | None = None
    """The paragraph at the top; None while the reader or the growing end decides."""

    def pin(self, paragraph: int) -> None:
        """Keep this paragraph at the top, now and after every resize."""
        self.pinned = paragraph
        self._hold_place()

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    @on(ScrollTo)
    @on(ScrollUp)
    @on(ScrollDown)
    def unpin(self) -> None:
        """Leave the position to the reader, or to the end that grows."""
        self.pinned = None

    def follow(self) -> None:
        """Go to the end and stay there while it grows."""
        self.unpin()
        super().follow()

    def action_scroll_by_key(self, key: str) -> None:
        """Scroll as a movement key says."""
        self.unpin()
        super().action_scroll_by_key(key)

    def _hold_place(self) -> None:
        if self.pinned is None or not self._width or self.pinned >= len(self.lines.paragraphs):
            super()._hold_place()
            return
        self.is_following = False
        self.scroll_to(y=self.lines.spot(SourcePos(self.pinned, 0)).y, animate=False)
        self._top = self._top_marks()
        self.has_more_below = round(self.scroll_y) < self.max_scroll_y


class _Kept(NamedTuple):
    """Anchors of a selection, to restore it."""

    anchor: SourceAnchor | None
    cursor: SourceAnchor | None
    start: SourceAnchor | None
    end: SourceAnchor | None
    is_selected: bool
