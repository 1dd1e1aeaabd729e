"""The widget that shows a transcript: it paints lines, keeps the reader's position, and selects text."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from textual import events, on
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from storyengine_tui.textual_ext.painting.line_scroll import set_virtual_size
from storyengine_tui.widgets.reading.line_painter import Highlight, LinePainter
from storyengine_tui.widgets.reading.line_selection import LineSelection
from storyengine_tui.widgets.reading.reading_position import ReadingPosition
from storyengine_tui.widgets.reading.transcript_lines import ScreenPos, SourcePos, TranscriptLines
from storyengine_tui.widgets.widget_message import WidgetMessage

FRAMES_PER_SECOND: Final = 30
"""Most times in a second that text is painted which streams in."""
WIDEST: Final = 100
"""Most cells of a line: from the end of a longer one the eye does not find the next."""

MOVEMENTS = {
    **{key: f"Scroll {key.title()}" for key in ("up", "down", "left", "right", "home", "end")},
    "pageup": "Page Up",
    "pagedown": "Page Down",
}
"""Movement keys, and what the help calls them."""


class LineView(ScrollView, can_focus=True):
    """Shows `self.lines`, of which text can be selected.

    The mouse selects as everywhere in Textual; a double click selects a paragraph, a triple click all. Shift
    with movement keys extends. `v` starts marking, for terminals that do not pass Shift on: then movement
    keys move a cursor, and Space sets the other end. What is copied is the source text: prefixes and blank
    lines as they are shown, no soft line breaks.
    """

    DEFAULT_CSS = "LineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-horizontal: 0; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"transcript-view--aside", "transcript-view--gm"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,ctrl+c,super+c", "copy", "Copy", key_display="c"),
        Binding("v", "mark", "Select text"),
        Binding("v", "go_on_marking", show=False),
        Binding("space", "drop_anchor", "Select from here"),
        Binding("escape", "unmark", "Stop selecting"),
        Binding("ctrl+a", "select_all", "Select all", show=False),
        *(Binding(key, f"scroll_by_key('{key}')", what, show=False) for key, what in MOVEMENTS.items()),
        *(Binding(f"shift+{key}", f"extend_selection('{key}')", show=False) for key in MOVEMENTS),
    ]

    has_more_below: reactive[bool] = reactive(False, repaint=False, init=False)
    """Whether the end is out of view."""

    @dataclass
    class MoreBelowChanged(WidgetMessage["LineView"]):
        """The end went out of view, or came back."""

        has_more_below: bool

    @dataclass
    class Copied(WidgetMessage["LineView"]):
        """The user copied so many characters."""

        length: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = TranscriptLines()
        self.painter = LinePainter(self, self.lines)
        self.position = ReadingPosition(self, self.lines)
        self.selection = LineSelection(self, self.lines, self.position)
        self._width = 0

    # Changes

    def extend(self, change: Callable[[], int]) -> None:
        """Apply a change at the end; `change` returns the first line that may look different."""
        self._apply(change)
        self._hold_position()

    def rearrange(self, change: Callable[[], int]) -> None:
        """Apply any other change, and keep what is selected and the text that the reader looks at."""
        with self.selection.kept():
            top = self.position.anchors()
            self._apply(change)
            if not self.position.is_following:
                self.position.go_back(top)
            self._hold_position()

    def _apply(self, change: Callable[[], int]) -> None:
        before, dirty, height = self.lines.height, change(), self.lines.height
        end = max(before, height)
        self.painter.forget(dirty, end)
        if not self._width:
            return
        size = Size(self._width, height)
        if size != self.virtual_size:
            set_virtual_size(self, size)
        first = max(dirty - self.scroll_offset.y, 0)
        last = min(end - self.scroll_offset.y, self.size.height)
        if first < last or not self.size:
            self.refresh(Region(0, first, self._width, last - first))

    # The position of the reader

    def follow(self) -> None:
        """Go to the end and stay there while it grows."""
        self.unpin()
        self.position.is_following = True
        self._hold_position()

    def pin(self, paragraph: int) -> None:
        """Keep this paragraph at the top until the reader scrolls, now and after every resize."""
        self.position.pinned = paragraph
        self._hold_position()

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    @on(ScrollTo)
    @on(ScrollUp)
    @on(ScrollDown)
    def unpin(self) -> None:
        """Leave the position to the reader, or to the end that grows."""
        self.position.pinned = None

    def _hold_position(self) -> None:
        if self._width:
            self.has_more_below = self.position.hold()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end from now on if it is in view."""
        super().watch_scroll_y(old_value, new_value)
        if self.scrollable_content_region.width == self._width:  # Else `on_resize` follows.
            self.position.note_scroll(new_value)
            self.has_more_below = not self.position.is_following

    def watch_has_more_below(self, has_more_below: bool) -> None:
        """Tell the owner."""
        self.post_message(self.MoreBelowChanged(self, has_more_below))

    def on_resize(self) -> None:
        """Wrap to the new width, and keep the position and what is selected."""
        width, position = self.scrollable_content_region.width, self.position
        if width <= 0:
            return
        if width != self._width:
            self._width, top, was_following = width, position.top, position.is_following
            with self.selection.kept():
                self._apply(lambda: self.lines.set_width(min(width, WIDEST)))
            if not was_following:
                position.go_back(top)
            position.is_following = was_following
        self._hold_position()

    # Painting

    def notify_style_update(self) -> None:
        """Drop what was painted in other colours."""
        super().notify_style_update()
        self.painter.forget_styles()

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Repaint the given lines, or all.

        A view on a hidden page has no size, so no region can say which of its lines will be visible. Textual
        would keep the rows that it painted last, and show them again with the page.
        """
        if not self.size:
            regions = ()
        if repaint and not regions:
            self.painter.framed.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the visible rows. A line that only moved is not rendered again."""
        render = super().render_lines
        return render(crop) if self.gutter.height else self.painter.rows(crop, render)

    def render_line(self, y: int) -> Strip:
        """Return visible row `y`."""
        line = y + self.scroll_offset.y
        highlights = self.highlights(line)
        strip = None if highlights else self.painter.strips.get(line)
        return self.painter.paint(line, highlights) if strip is None else strip

    def highlights(self, line: int) -> list[Highlight]:
        """Return the highlighted parts of a line, in order."""
        return self.selection.highlights(line)

    # Selecting

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what is possible now."""
        if action in {"unmark", "drop_anchor", "go_on_marking"}:
            return self.selection.is_marking
        if action == "mark":
            return not self.selection.is_marking and self.lines.height > 0
        if action == "copy":
            return self.text_selection is not None
        return super().check_action(action, parameters)

    def action_scroll_by_key(self, key: str) -> None:
        """Scroll as a movement key says; while marking, move the cursor instead."""
        self.unpin()
        if self.selection.is_marking:
            self.selection.move(key)
            return
        match key:
            case "home":
                self.scroll_to(y=0, animate=False)
            case "end":
                self.follow()
            case "left" | "right":
                raise SkipAction
            case _:
                self.scroll_relative(y=self.selection.rows_of(key), animate=False)

    def action_extend_selection(self, key: str) -> None:
        """Extend the selection as a movement key says, from its moving end on."""
        self.selection.move(key, is_extending=True)

    def action_mark(self) -> None:
        """Show a cursor that movement keys move."""
        self.selection.mark(None, self.selection.start())

    def action_go_on_marking(self) -> None:
        """Do nothing for a key that comes twice: as a letter it would be typed into a field."""

    def mark_at(self, place: SourcePos, end: SourcePos | None = None) -> None:
        """Show the cursor at a place; with an `end`, the text between them is selected."""
        self.unpin()
        self.selection.mark(end and place, end or place)

    def action_drop_anchor(self) -> None:
        """Select from the cursor on."""
        cursor = self.selection.start()
        self.selection.select(cursor, cursor)

    def action_select_all(self) -> None:
        """Select the whole transcript."""
        self.selection.select(SourcePos(0, 0), self.lines.end, keep_in_sight=False)

    def action_unmark(self) -> None:
        """Select nothing and stop marking."""
        self.selection.clear()

    def on_mouse_down(self) -> None:
        """Leave the keyboard's selection to the mouse."""
        self.selection.forget_ends()

    def on_click(self, event: events.Click) -> None:
        """Select a paragraph with two clicks, everything with three."""
        if event.chain < 2:
            return
        event.prevent_default()  # Textual would select everything with two.
        if event.chain > 2:
            self.action_select_all()
        elif self.lines.height:
            line = event.y - self.gutter.top + self.scroll_offset.y
            number = self.lines.place(ScreenPos(0, line)).paragraph
            end = SourcePos(number, len(self.lines.paragraphs[number].text))
            self.selection.select(SourcePos(number, 0), end, keep_in_sight=False)

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaint, and update whether Copy is possible."""
        self.refresh()
        self.refresh_bindings()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the source text that is selected."""
        if not self.lines.height:
            return None
        return self.lines.text_between(*self.selection.range_of(selection)), "\n"

    def action_copy(self, *, with_marks: bool = False) -> None:
        """Copy what is selected, with or without the marks of who heard it, and stop marking."""
        ends = self.selection.ends
        if ends is None:
            raise SkipAction
        text = self.lines.text_between(*ends, with_marks=with_marks)
        if text:
            self.app.copy_to_clipboard(text)
            self.post_message(self.Copied(self, len(text)))
        if self.selection.is_marking:
            self.action_unmark()


class StreamedText:
    """Text of a view that arrives in pieces: the first is painted at once, later ones once in a frame."""

    def __init__(self, view: LineView, paint: Callable[[str], None]) -> None:
        self._view, self._paint = view, paint
        self._pending: list[str] = []
        self._timer: Timer | None = None

    def add(self, piece: str) -> None:
        """Paint a piece, now or at the end of the frame."""
        self._pending.append(piece)
        if self._timer is None:
            self.end_frame()

    def end_frame(self) -> None:
        """Paint what arrived in the frame, and begin another; without any, the next piece begins it."""
        self._timer = None
        if self._pending:
            text = "".join(self._pending)
            self._pending.clear()
            self._paint(text)
            self._timer = self._view.set_timer(1 / FRAMES_PER_SECOND, self.end_frame)

    def forget(self) -> None:
        """Drop what is not painted yet."""
        self._pending.clear()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
