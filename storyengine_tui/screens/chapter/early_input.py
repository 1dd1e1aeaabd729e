"""Text that is typed before the first field exists: kept, and inserted into that field."""

from pathlib import Path

from textual import events
from textual.content import Content
from textual.widgets import Static

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.last_session import LastPanel
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.theme import slot_class
from storyengine_tui.widgets.typed_keys import text_of

MAX_BYTES = 50_000_000
"""Largest file that is read: more than a GM types or pastes before a chapter is open."""
SHOWN = 1_000
"""Characters from the end that are shown; the field that follows shows all."""
LISTS = ("f5", "f7")
"""Keys of lists over the chapter: letters behind them are commands of the list, and no text of the story."""


class EarlyKeys:
    """The text of keys and pastes, as a text area would insert them.

    A start may take seconds, and may be killed. So every key is also written to a file, which is deleted
    when the field has stored the text: a text may be inserted twice, but is never lost.
    """

    def __init__(self) -> None:
        self.text = ""
        """The text that no field has received yet."""
        self._kept: KeptText | None = None
        self.has_come = False
        """Whether anything was typed before the first field existed."""
        self.leads_to = ""
        """The key of a tab or a list that was pressed last before a chapter was open."""

    def capture(self, event: events.Event) -> bool:
        """Keep the text of an event; return False for an event without text, such as a function key.

        Letters behind the key of a list are dropped: the list does not show yet.
        """
        match event:
            case events.Key(key=key) if self.leads_to in LISTS and (
                key in ("backspace", "enter") or text_of(event)
            ):
                return True
            case events.Key(key="backspace"):
                self.text = self.text[:-1]
            case events.Key(key="enter" | "ctrl+j"):
                self.text += "\n"
            case events.Paste(text=text):
                self.text += text
            case events.Key() if text := text_of(event):
                self.text += text
            case _:
                return False
        self._write()
        self.has_come |= bool(self.text)
        return True

    def keep(self) -> None:
        """Flush unconsumed input to disk when the user quits before a field exists."""
        if self.text:
            self._write(is_flushed=True)
            self.release()

    def recover(self, file: Path) -> None:
        """Put the text that the last start left in `file` before the current text, and keep the text there.

        A second call, when the start is tried again, does nothing.
        """
        if self._kept is not None:
            return
        self._kept, typed = KeptText(file, MAX_BYTES), self.text
        if kept := self._kept.read():
            self.text = kept + typed
            self.has_come = True
        if typed:
            self._write()

    def forget_stored(self) -> None:
        """Delete the file, unless it holds text that no field has received: the fields are stored."""
        if self._kept is not None and not self.text:
            self._kept.forget()

    def release(self) -> str:
        """Return the text, and clear it."""
        text, self.text = self.text, ""
        return text

    def _write(self, *, is_flushed: bool = False) -> None:
        if self._kept is not None:
            self._kept.keep(self.text, is_flushed=is_flushed)


class EarlyPanel(Static):
    """A placeholder that looks like the composer of the last session, until that is open."""

    def show_for(self, panel: LastPanel) -> None:
        """Show the colour and the name of this panel."""
        self.border_title = Content(f"To {int(panel.slot)} {panel.name}")
        self.remove_class(*map(slot_class, Slot)).add_class(slot_class(panel.slot))
        self.display = True

    def show_text(self, text: str) -> None:
        """Show the end of the typed text, with a cursor after it."""
        self.update(Content.assemble(text[-SHOWN:], (" ", "reverse")), layout=False)
