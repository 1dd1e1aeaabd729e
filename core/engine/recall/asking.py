"""Builds the query of an input to the memory bank: its words, meaning and chapters (design 15)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from core.context.bank import BankChapter
from core.domain.audience import Audience
from core.domain.bank.recall import Query, QueryWord, Scope, Vector, query_words
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.text.graphemes import tail
from core.text.prose import word_count

EVENTS_ASKED: Final = 2
"""Number of the last events known to the character that are queried, beside the GM's prompt."""
_NAME_WEIGHT: Final = 0.3
_EVENT_WEIGHT: Final = 0.4
"""Weights of words of the last events, and of the character's own name, beside those of the prompt."""
_ENOUGH_WORDS: Final = 6
_ENOUGH_OF_QUESTION: Final = 4
"""A prompt of so many words, or a question of so many, is asked about alone: other texts would blur it."""
_END_OF_EVENT: Final = 400
"""Characters of the end of an event that say where the scene is."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a text, and the model that made it."""

    numbers: Vector
    model: str
    spans: tuple[str, ...] = ()
    """The signs (`signs_of`) of those of its parts, which overlap."""


Embed = Callable[[str], Awaitable[Meaning | None]]
"""Returns the meaning of a text; None where none can be had at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The prompt for which an input is built, and the means to search by meaning."""

    text: str
    """The GM's prompt."""
    recent_from: int
    """The prompt after which the input has every event that the character knows."""
    embed: Embed | None = None
    """None to look by words alone."""


async def meaning_of(asked: RecallRequest, events: Sequence[Event]) -> Meaning | None:
    """Return the meaning that an input asks about; None where none can be had, or words alone are asked."""
    return await asked.embed(_told(asked.text, events[-EVENTS_ASKED:])) if asked.embed else None


def query_of(
    asked: RecallRequest,
    meaning: Meaning | None,
    chapters: Sequence[BankChapter],
    slot: Slot,
    limit: int,
) -> Query:
    """Return the query of an input, but for its words."""
    return Query(
        session_id=chapters[-1].session_id,
        scopes=tuple(scopes_of(chapters, slot, asked.recent_from)),
        vector=None if meaning is None else meaning.numbers,
        model="" if meaning is None else meaning.model,
        spans=() if meaning is None else meaning.spans,
        limit=limit,
        is_for_input=True,
    )


def words_of_input(asked: RecallRequest, name: str, events: Sequence[Event]) -> tuple[QueryWord, ...]:
    """Return the words of the prompt, the character's name, and the last events that it knows."""
    last = ((event.text, _EVENT_WEIGHT) for event in events[-EVENTS_ASKED:])
    return query_words([(asked.text, 1.0), (name, _NAME_WEIGHT), *last])


def _told(text: str, events: Sequence[Event]) -> str:
    """Return the text whose meaning is looked for."""
    enough = _ENOUGH_OF_QUESTION if any(mark in text for mark in "?？؟") else _ENOUGH_WORDS
    if word_count(text) >= enough:
        return text
    return "\n".join((*(tail(event.text, _END_OF_EVENT) for event in events), text))


def scopes_of(chapters: Sequence[BankChapter], slot: Slot, recent_from: int) -> list[Scope]:
    """Return of which chapters a character may recall what: those that it played in, by its slot there."""
    return [
        Scope(
            session_id=chapter.session_id,
            mask=Audience.of((there,)).mask,
            before=None if chapter.number else recent_from,
            now=chapter.now,
            language=chapter.language,
        )
        for chapter in chapters
        for there, here in chapter.slots.items()
        if here is slot
    ]
