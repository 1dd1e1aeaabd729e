"""Tells keys that type a text from keys that do something."""

from textual import events

from core.text.cleaning import clean


def text_of(event: events.Key) -> str:
    """Return the text that a key types; empty for one that does something.

    Textual asks Python what is printable: blanks but the usual one, joiners within words and emoji, and
    characters that are newer than Python are not.
    """
    text = event.character or ""
    # In a protocol of terminals, a key without a name in Textual; the last character is a logo on keyboards.
    is_function = "\ue000" <= text < "\uf8ff"
    is_text = text not in "\t\n" and not is_function and clean(text) == text
    return text if event.is_printable or is_text else ""
