"""Tells keys that type a text from keys that do something."""

from textual import events

from core.text.cleaning import clean


def text_of(event: events.Key) -> str:
    """Return the text that a key types; empty for one that does something.

    Textual asks Python what is printable: blanks but the usual one, joiners within words and emoji, and
    characters that are newer than Python are not.
    """
    text = event.character or ""
    return text if event.is_printable or (text not in "\t\n" and clean(text) == text) else ""
