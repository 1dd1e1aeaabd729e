"""What is typed before there is a field to type in: kept, and given to the first one that comes."""

from textual import events

MOST = 5_000
"""Characters that are kept; no field holds more."""


class EarlyKeys:
    """The text of keys and pastes, as a field would have taken them."""

    def __init__(self) -> None:
        self._text = ""
        self.has_come = False
        """Whether anything was ever typed so early."""

    def take(self, event: events.Event) -> bool:
        """Keep what this types; return False when it types nothing, such as a function key."""
        match event:
            case events.Paste(text=text):
                pass
            case events.Key(key="enter" | "ctrl+j"):
                text = "\n"
            case events.Key(key="backspace"):
                self._text = self._text[:-1]
                return True
            case events.Key(is_printable=True, character=str(text)):
                pass
            case _:
                return False
        self._text = (self._text + text)[:MOST]
        self.has_come = True
        return True

    def give(self) -> str:
        """Return what was kept, and keep it no more."""
        text, self._text = self._text, ""
        return text
