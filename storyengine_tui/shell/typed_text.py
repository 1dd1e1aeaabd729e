"""Brings what is typed, pasted or dropped over the chapter to the field that it is meant for."""

import asyncio
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.textual_ext.painting.diff_display import DiffDisplayApp
from storyengine_tui.textual_ext.painting.visibility import is_displayed
from storyengine_tui.textual_ext.repairs.crash_recovery import CrashRecoveryApp
from storyengine_tui.textual_ext.terminal.clipboard import ClipboardApp

BURST = 0.5
"""Most seconds between two letters of a text that is typed quickly."""
MAYBE_DROPPED = ("/", "~/", "'", '"', "file://")
"""How the text begins that a terminal writes for a file that is dropped on it."""


class TypingApp(DiffDisplayApp, CrashRecoveryApp, ClipboardApp):
    """An app with a chapter, whose fields get what is typed while no field has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: a key that bubbles up first is overtaken by what is typed or pasted after it.
        Binding("tab", "go_on(1)", "Next field", show=False, priority=True),
        Binding("shift+tab", "go_on(-1)", "Previous field", show=False, priority=True),
    ]

    chapter: ChapterScreen

    _key_letters = ""
    """Letters that acted as keys a moment ago, and may be the beginning of a text."""
    _key_letter_at = 0.0

    async def on_event(self, event: events.Event) -> None:
        """Type nothing for a key with Alt, and keep what is typed before there is a field."""
        if isinstance(event, events.Key) and event.key.startswith("alt+"):
            event.character = None
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self.chapter.touch()
            if self._is_on_chapter:
                if self.chapter.has_no_field_yet and self.chapter.early.capture(event):
                    self.chapter.show_early_text()
                    return
                self._focus_field_for(event)
                if isinstance(event, events.Paste) and event.text.startswith(MAYBE_DROPPED):
                    self.run_worker(self._tell_of_drop(event.text), group="drop", exit_on_error=False)
        await super().on_event(event)

    async def _tell_of_drop(self, text: str) -> None:
        """Say where a file can be imported that was dropped on a field; its path is text there."""

        def droppable() -> str:
            from core.exchange.arrivals import droppable_file

            return droppable_file(text)

        if name := await asyncio.to_thread(droppable):
            self.notify(f"“{name}” can be imported: drop it on the library (F5).", markup=False)

    def _focus_field_for(self, event: events.Key | events.Paste) -> None:
        """Focus the field for a text that is typed or pasted while another widget has the focus.

        A paste is text, and so is a letter that is not bound to an action. A letter that is bound (`v` and
        `y` of a reader, `1` of the strip of panels) acts at once; none of them changes what is stored. It may
        also be the first letter of a text, typed or sent in one write by a slow line. So it is kept, and
        inserted into the field before a letter that is not bound and follows within `BURST`.
        """
        key_letters, self._key_letters = self._key_letters, ""
        focused = self.chapter.focused
        if focused is not None and focused.check_consume_key("a", "a"):
            return
        if isinstance(event, events.Paste):
            key_letters = ""
        elif not event.is_printable:
            return
        else:
            if event.time - self._key_letter_at > BURST:
                key_letters = ""
            if event.key in self.chapter.active_bindings:
                self._key_letters, self._key_letter_at = key_letters + (event.character or ""), event.time
                return
        for page in self.chapter.query(SessionTab):
            if page.has_session and is_displayed(page) and (field := page.field_for_typing()) is not None:
                self.chapter.set_focus(field, scroll_visible=False)
                if key_letters:
                    field.insert(key_letters)

    @property
    def _is_on_chapter(self) -> bool:
        # There is no screen before the first one is pushed and after the last one is removed.
        return bool(self.screen_stack) and self.screen is self.chapter

    async def action_go_on(self, step: int) -> None:
        """Focus the next field or the one before; a page may choose which."""
        focused = self.screen.focused
        pages = [node for node in focused.ancestors if isinstance(node, SessionTab)] if focused else []
        for page in pages:
            if focused is not None and await page.step_focus(focused, step):
                return
        if step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()
