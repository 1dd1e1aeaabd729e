"""The end of a pause as a GM types and reads it: a day, or a day and a time, by the clock here."""

import re
from datetime import datetime
from typing import Final

from core.domain.errors import IllegalCommandError
from core.library.characters.character import LibraryCharacter
from core.text.cleaning import clean_line

_END: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2})?", re.ASCII)
EXPECTED: Final = "Type the end of the pause as 2030-05-31 or 2030-05-31 18:00; blank is without an end."


def read_end(typed: str) -> datetime | None:
    """Return the end of a pause; None for a blank text. A day ends a pause when it begins.

    Raises IllegalCommandError for any other text.
    """
    text = clean_line(typed)
    if not text:
        return None
    try:
        return datetime.fromisoformat(text if _END.fullmatch(text) else "").astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise IllegalCommandError(EXPECTED) from error


def pause_text(character: LibraryCharacter, now: datetime) -> str:
    """Return whether a character is paused, and until when; empty for one that is not."""
    if not character.is_paused_at(now):
        return ""
    until = character.paused_until
    return f"paused until {until.astimezone():%Y-%m-%d %H:%M}" if until else "paused"
