"""What is typed before there is a field to type in: kept, and given to the first one that comes."""

from pathlib import Path

from textual import events
from textual.content import Content
from textual.widgets import Static

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.last_session import LastPanel
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.theme import slot_class

LARGEST = 50_000_000
"""Bytes of the file; more than a GM types or pastes before a chapter is open."""
SHOWN = 1_000
"""Characters from the end that are shown; the panel that comes has all."""


class EarlyKeys:
    """The text of keys and pastes, as a field would have taken them.

    A start may take seconds, and be killed: so what is typed is in a file as well, key by key, until the
    field that got it has stored it. Rather twice than lost.
    """

    def __init__(self) -> None:
        self._text = ""
        self._kept: KeptText | None = None
        self.has_come = False
        """Whether anything was ever typed so early."""

    def capture(self, event: events.Event) -> bool:
        """Keep what this types; return False when it types nothing, such as a function key."""
        match event:
            case events.Paste(text=text):
                pass
            case events.Key(key="enter" | "ctrl+j"):
                text = "\n"
            case events.Key(key="backspace"):
                self._text = self._text[:-1]
                self._write()
                return True
            case events.Key(is_printable=True, character=str(text)):
                pass
            case _:
                return False
        self._text += text
        self._write()
        self.has_come = True
        return True

    @property
    def text(self) -> str:
        """What is kept so far."""
        return self._text

    def keep(self) -> None:
        """Flush unconsumed input to disk when the user quits before a field exists."""
        if self._text:
            self._write(is_flushed=True)
            self.give()

    def recover(self, file: Path) -> None:
        """Take up what was kept in a file at the last start, in front of what is typed now.

        From now on it is kept there. A start that is tried again has it already.
        """
        if self._kept is not None:
            return
        self._kept, typed = KeptText(file, LARGEST), self._text
        if kept := self._kept.read():
            self._text = kept + typed
            self.has_come = True
        if typed:
            self._write()

    def stored(self) -> None:
        """What the fields hold is stored, and with it what was given."""
        if self._kept is not None and not self._text:
            self._kept.forget()

    def give(self) -> str:
        """Return what was kept, and keep it no more."""
        text, self._text = self._text, ""
        return text

    def _write(self, *, is_flushed: bool = False) -> None:
        if self._kept is not None:
            self._kept.keep(self._text, is_flushed=is_flushed)


class EarlyPanel(Static):
    """Looks like the composer of the last session and stands in its place until that is open."""

    def show_for(self, panel: LastPanel) -> None:
        """Stand in for this panel."""
        self.border_title = Content(f"To {int(panel.slot)} {panel.name}")
        self.remove_class(*map(slot_class, Slot)).add_class(slot_class(panel.slot))
        self.show_text("")
        self.display = True

    def show_text(self, text: str) -> None:
        """Show what is typed so far, with a cursor behind it."""
        self.update(Content.assemble(text[-SHOWN:], (" ", "reverse")), layout=False)
