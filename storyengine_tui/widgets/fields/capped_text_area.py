"""A text area that stops at a limit: typing, paste, drop and load alike (design 10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Edit, EditResult

from core.domain.slot import Slot
from core.domain.story.transcript import counter_text
from core.text.cleaning import clean
from core.text.graphemes import head, is_safe_cut
from storyengine_tui.textual_ext.painting.text_wrap import KeptWrapTextArea
from storyengine_tui.widgets.typed_keys import text_of
from storyengine_tui.widgets.widget_message import WidgetMessage


class CharCounter(Static):
    """A counter such as `1,234/5,000`, of fixed width, so that a change never lays out the screen again.

    It has the class `-full` while the limit is reached.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "CharCounter { height: 1; text-align: right; }"

    def __init__(self, limit: int, *, length: int = 0, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown = (0, 0)
        self.show(length, limit)

    def show(self, length: int, limit: int | None = None) -> None:
        """Show `length` characters of `limit`, which stays as it was when it is not given."""
        shown_limit = self._shown[1]
        limit = shown_limit if limit is None else limit
        if (length, limit) == self._shown:
            return
        self._shown = (length, limit)
        self.update(Content(counter_text(length, limit)), layout=False)
        if limit != shown_limit:
            self.styles.width = len(counter_text(limit, limit))
        self.set_class(length >= limit, "-full")


def fitting(text: str, room: int) -> str:
    """Return as much of the beginning of `text` as fits into `room` characters; no grapheme is split."""
    if room <= 0:
        return ""
    part = head(text, room)
    return part if is_safe_cut(text, len(part)) else ""


async def run_binding_now(field: Widget, event: events.Key) -> None:
    """Run the binding that the class of `field` has for a key, if there is one.

    Textual runs bindings after the key has bubbled up, and keys typed next overtake it: a slow line brings
    many keys in one packet, and a Backspace among them would delete a later character. A text area would
    also insert a line at Enter before a binding of Enter is asked.
    """
    for binding in _bindings_of(type(field)).get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return


@cache
def _bindings_of(kind: type[Widget]) -> Mapping[str, tuple[Binding, ...]]:
    """Return the bindings of a class of widgets by key; for one key those of the class nearest to `kind`."""
    found: dict[str, tuple[Binding, ...]] = {}
    for base in reversed(kind.__mro__):
        own: dict[str, tuple[Binding, ...]] = {}
        for binding in Binding.make_bindings(base.__dict__.get("BINDINGS", ())):
            own[binding.key] = (*own.get(binding.key, ()), binding)
        found |= own
    return found


@dataclass(frozen=True, slots=True)
class HelpedText:
    """A text that a model can help with: the name of its limit, what the GM calls it, and its character."""

    field: str
    name: str
    slot: Slot | None = None


class CappedTextArea(KeptWrapTextArea):
    """A text area for at most `limit` characters of clean text.

    Text beyond the limit is refused: the bell rings, and `LimitReached` says how much. Loading a text puts
    the cursor at its end. A read-only text can still be selected and copied.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "document_end(False)", "Beginning of the text", show=False),
        Binding("ctrl+end", "document_end(True)", "End of the text", show=False),
        # Not by F7 as in Textual: that key lists the calls.
        Binding("ctrl+g", "select_all", "Select all", show=False),
    ]

    @dataclass
    class Edited(WidgetMessage["CappedTextArea"]):
        """The user changed the text; loading one is not an edit. The owner decides when to store it."""

        text: str

    @dataclass
    class LimitReached(WidgetMessage["CappedTextArea"]):
        """`refused` characters were not taken, since `limit` of them are the most."""

        limit: int
        refused: int

    def __init__(
        self,
        text: str = "",
        *,
        limit: int,
        placeholder: str = "",
        read_only: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            fitting(clean(text), limit),
            placeholder=placeholder,
            read_only=read_only,
            highlight_cursor_line=False,
            id=id,
            classes=classes,
        )
        self.limit = limit
        self.helped: HelpedText | None = None
        """Kind and purpose of the text, where a model can help the GM with it."""
        self.full_sentence = ""
        self.cursor_blink = False
        self.move_cursor(self.document.end)

    @property
    def says_full(self) -> bool:
        """Whether it says that something was not taken."""
        return bool(self.full_sentence)

    @property
    def length(self) -> int:
        """The number of characters in it."""
        return len(self.text)

    async def on_key(self, event: events.Key) -> None:
        """Run a key's binding before the next key is read, and type what Textual would not."""
        await run_binding_now(self, event)
        if not event.is_printable and not self.read_only and (text := text_of(event)):
            event.stop()
            event.prevent_default()
            self._put(text)

    async def on_paste(self, event: events.Paste) -> None:
        """Insert a paste, and leave the focus where it is.

        Replaces Textual's handler, which requests the focus through the app's queue and so takes it back
        after a Tab that came directly behind the paste.
        """
        event.prevent_default()
        if not self.read_only:
            self._put(event.text)

    def _put(self, text: str) -> None:
        """Put a text in place of the selection."""
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def load_text(self, text: str) -> None:
        """Show another text, with the cursor at its end and nothing to undo."""
        cleaned = clean(text)
        taken = fitting(cleaned, self.limit)
        super().load_text(taken)
        self.move_cursor(self.document.end)
        self._refuse(len(cleaned) - len(taken))

    def edit(self, edit: Edit) -> EditResult:
        """Do as much of `edit` as fits."""
        text = clean(edit.text)
        replaced = len(self.get_text_range(edit.top, edit.bottom))
        taken = fitting(text, self.limit - (self.length - replaced))
        if text and not taken:
            self._refuse(len(text))
            return EditResult(end_location=self.cursor_location, replaced_text="")
        edit.text = taken
        result = super().edit(edit)
        self._refuse(len(text) - len(taken))
        if self.says_full and len(taken) == len(text):
            self.full_sentence = self.border_subtitle = ""
        if taken or result.replaced_text:
            self.post_message(self.Edited(self, self.text))
        return result

    def action_document_end(self, is_end: bool) -> None:
        """Go to the end of the text, or to its beginning."""
        self.move_cursor(self.document.end if is_end else (0, 0))
        # Textual scrolls after the next refresh, but by the current view; a text that was loaded just
        # before is not in view yet.
        self.call_after_refresh(self.scroll_cursor_visible)

    @property
    def _is_caret_beyond_text(self) -> bool:
        row, column = self.cursor_location
        return row >= self.document.line_count or column > len(self.document.get_line(row))

    @property
    def cursor_screen_offset(self) -> Offset:
        """The place of the caret on the screen, for the terminal's own cursor.

        Textual keeps where the caret was in the text when it last scrolled to it: nowhere yet in a text that
        was loaded before the field was laid out.
        """
        if self._is_caret_beyond_text:
            return super().cursor_screen_offset
        caret = self.wrapped_document.location_to_offset(self.cursor_location)
        return self.content_region.offset + caret - self.scroll_offset

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it is beyond the text in the middle of an edit.

        Textual measures the text again before it places the cursor, which may remove the scroll bar and
        call this; it calls this again afterwards.
        """
        if self._is_caret_beyond_text:
            return Offset()
        scrolled = super().scroll_cursor_visible(center, animate)
        if self.has_focus:
            self.bring_cursor_into_sight()
        return scrolled

    def bring_cursor_into_sight(self) -> None:
        """Scroll the page around the field to the cursor, so that the GM sees what is typed."""
        if not self.region:
            return
        for page in self.ancestors:
            if isinstance(page, Widget) and page.is_scrollable and page is not self.screen:
                cursor = self.cursor_screen_offset
                if page.region and not page.scrollable_content_region.contains_point(cursor):
                    line = Region(0, cursor.y - page.scrollable_content_region.y + page.scroll_offset.y, 1, 1)
                    page.scroll_to_region(line, animate=False, force=True, x_axis=False)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint nothing once removed: a screen behind a dialog is painted in its last layout."""
        if not self.is_attached:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

    def undo(self) -> None:
        """Undo the last edits."""
        before = self.text
        super().undo()
        self._tell_if_edited(before)

    def redo(self) -> None:
        """Redo the last undone edits."""
        before = self.text
        super().redo()
        self._tell_if_edited(before)

    def _tell_if_edited(self, before: str) -> None:
        text = self.text
        if text != before:
            self.post_message(self.Edited(self, text))

    def _refuse(self, count: int) -> None:
        """Say on the border how much was not taken; the next edit that fits removes the sentence."""
        if count > 0:
            self.app.bell()
            left = f"{count:,} {'was' if count == 1 else 'were'} not taken"
            self.full_sentence = f"Full: {self.limit:,} characters fit, {left}"
            self.border_subtitle = self.full_sentence
            self.post_message(self.LimitReached(self, self.limit, count))
