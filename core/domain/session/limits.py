"""Limits of texts, in characters, and of chunks, in prompts (design 4, 9, 10)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

LONGEST_TITLE: Final = 200
LONGEST_NAME: Final = 100
"""Characters of the name of a record in the library, or of a group."""
LONGEST_CORRECTION: Final = 2_000
"""A correction of canon by the GM."""
LONGEST_CORRECTIONS: Final = 8_000
"""All corrections of a chapter together: every later input contains all of them."""

EARLIEST_TIME: Final = datetime(1900, 1, 1, tzinfo=UTC)
LATEST_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Clocks may be wrong by decades. A local time within a year of Python's last could overflow."""


def is_storable_time(time: datetime) -> bool:
    """Whether a time has a zone and can be stored, read and shown in every zone."""
    return time.tzinfo is not None and EARLIEST_TIME <= time <= LATEST_TIME


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a session, stored with it when it is created."""

    chunk_size: int = 7
    world: int = 5_000
    chapter: int = 5_000
    identity: int = 5_000
    name: int = 40
    definition: int = 5_000
    prompt: int = 20_000
    transcript: int = 60_000
    draft_words: int = 5_000
