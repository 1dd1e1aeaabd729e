"""Updates the exposure of topics after a chapter, by counting words; no model is asked (design 14 and 17).

A topic is mentioned by each text that has its name, whole and word by word, without regard to case. Each
mention closes a fifth of the gap to 1: after n of them, exposure is 1 - (1 - before) x 0.8^n. A topic that a
chapter does not mention loses a tenth, down to nothing. Both are rounded to hundredths.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from core.library.characters.character import LibraryCharacter, Topic
from core.text.analysis.repetition import words_of
from core.text.name_list import name_key

GAIN: Final = 0.2
"""Share of the gap to full exposure that one mention closes."""
DECAY: Final = 0.1
"""Exposure that a topic loses in a chapter that does not mention it."""
NEGLECTED_AFTER: Final = timedelta(days=3)
"""Time that a topic which a character wants to speak about may wait before it is explored."""
_DIGITS: Final = 2


def mentions(topic: Topic, texts: Iterable[str]) -> int:
    """Return how many of the texts mention a topic."""
    return named_in(topic.name, texts)


def named_in(name: str, texts: Iterable[str]) -> int:
    """Return how many of the texts have a name, whole and word by word."""
    words = words_of(name)
    return sum(_has(words_of(text), words) for text in texts) if words else 0


def after_mentions(exposure: float, count: int) -> float:
    """Return the exposure of a topic after so many mentions of it."""
    return round(1 - (1 - exposure) * (1 - GAIN) ** count, _DIGITS)


def faded(exposure: float) -> float:
    """Return the exposure of a topic after a chapter that does not mention it."""
    return round(max(0.0, exposure - DECAY), _DIGITS)


def neglected(
    character: LibraryCharacter, texts: Sequence[str], touched: dict[str, datetime], now: datetime
) -> tuple[Topic, ...]:
    """Return the topics that the character wants to speak about and has not for long, the least first.

    `texts` are those of the chapter; `touched` says by `name_key` when a topic was changed last.
    """
    found = [
        topic
        for topic in character.topics
        if topic.exposure_now < topic.exposure_desired
        and not mentions(topic, texts)
        and now - touched.get(name_key(topic.name), character.created_at) >= NEGLECTED_AFTER
    ]
    return tuple(sorted(found, key=lambda topic: topic.exposure_now - topic.exposure_desired))


def _has(words: Sequence[str], name: Sequence[str]) -> bool:
    length = len(name)
    return any(words[start : start + length] == name for start in range(len(words) - length + 1))
