"""How long texts may be, and how a chapter is divided. All lengths are in characters (design 4, 9, 10)."""

from dataclasses import dataclass
from typing import Final

LONGEST_TITLE: Final = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a session was made with; they are stored with it."""

    chunk_size: int = 7
    world: int = 5_000
    chapter: int = 5_000
    identity: int = 5_000
    name: int = 40
    definition: int = 5_000
    prompt: int = 20_000
    transcript: int = 60_000
    draft_words: int = 5_000
