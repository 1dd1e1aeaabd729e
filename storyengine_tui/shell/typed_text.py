"""Brings what is typed, pasted or dropped over the chapter to the field that it is meant for."""

import asyncio
from typing import TYPE_CHECKING

from textual import events

from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.textual_ext.painting.visibility import is_displayed
from storyengine_tui.widgets.typed_keys import text_of

if TYPE_CHECKING:
    from textual.widgets import TextArea

BURST = 0.5
"""Most seconds between two letters of a text that is typed quickly."""
MAYBE_DROPPED = ("/", "~/", "'", '"', "file://")
"""Beginnings of the text that a terminal writes for a file dropped on it."""


LEADING = ("f2", "f3", "f4", "f5", "f7")
"""Keys of tabs and lists, which are carried out once the chapter is open."""


class TypedText:
    """Gives the fields of a chapter what is typed while no field has the focus."""

    def __init__(self, chapter: ChapterScreen) -> None:
        self._chapter = chapter
        self._key_letters = ""
        """Letters that acted as keys a moment ago, and may be the beginning of a text."""
        self._key_letter_at = 0.0

    def receive(self, event: events.Key | events.Paste) -> bool:
        """Focus the field for a text; return whether it is kept for a field or a page to come."""
        chapter = self._chapter
        chapter.idle.touch()
        if not chapter.is_active:
            return self._type_below(event)
        is_coming = not (chapter.has_session or chapter.is_left_empty)
        if isinstance(event, events.Key) and event.key in LEADING and is_coming:
            chapter.early.leads_to = event.key
            return True
        if chapter.has_no_field_yet and chapter.early.capture(event):
            chapter.show_early_text()
            return True
        if chapter.is_page_coming and not self._is_for_all_tabs(event):
            chapter.held.append((chapter.active_tab, event))
            return True
        self._focus_field_for(event)
        if isinstance(event, events.Paste) and event.text.startswith(MAYBE_DROPPED):
            chapter.app.run_worker(self._tell_of_drop(event.text), group="drop", exit_on_error=False)
        return False

    def _is_for_all_tabs(self, event: events.Key | events.Paste) -> bool:
        """Whether it is a key of the chapter or of the app, and not of a page."""
        bound = self._chapter.active_bindings.get(event.key) if isinstance(event, events.Key) else None
        return bound is not None and bound.node in (self._chapter, self._chapter.app)

    def _type_below(self, event: events.Key | events.Paste) -> bool:
        """Insert a text into its field where a question has opened by itself; return whether it was."""
        from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

        question = self._chapter.app.screen
        is_text = isinstance(event, events.Paste) or bool(text_of(event))
        if not (isinstance(question, ConfirmModal) and question.is_unasked and is_text):
            return False
        if (field := self._field()) is None or field is not self._chapter.focused:
            return False
        field.insert(event.text if isinstance(event, events.Paste) else event.character or "")
        return True

    async def _tell_of_drop(self, text: str) -> None:
        """Say where a file can be imported that was dropped on a field; its path is text there."""

        def droppable() -> str:
            from core.exchange.arrivals import droppable_file

            return droppable_file(text)

        if name := await asyncio.to_thread(droppable):
            self._chapter.notify(f"“{name}” can be imported: drop it on the library (F5).", markup=False)

    def _focus_field_for(self, event: events.Key | events.Paste) -> None:
        """Focus the field for a text that is typed or pasted while another widget has the focus.

        A paste is text, and so is a letter that is not bound to an action. A letter that is bound (`v` and
        `y` of a reader, `1` of the strip of panels) acts at once; none of them changes what is stored. It may
        also be the first letter of a text, typed or sent in one write by a slow line. So it is kept, and
        inserted into the field before a letter that is not bound and follows within `BURST`.
        """
        key_letters, self._key_letters = self._key_letters, ""
        focused = self._chapter.focused
        if focused is not None and focused.check_consume_key("a", "a"):
            return
        if isinstance(event, events.Paste):
            key_letters = ""
        elif not text_of(event):
            return
        else:
            if event.time - self._key_letter_at > BURST:
                key_letters = ""
            if event.key in self._chapter.active_bindings:
                self._key_letters, self._key_letter_at = key_letters + (event.character or ""), event.time
                return
        if (field := self._field()) is not None:
            self._chapter.set_focus(field, scroll_visible=False)
            if key_letters:
                field.insert(key_letters)

    def _field(self) -> "TextArea | None":
        """Return the field for a text on the page that shows."""
        for page in self._chapter.query(SessionTab):
            if page.has_session and is_displayed(page):
                return page.field_for_typing()
        return None
