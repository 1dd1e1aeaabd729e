"""Reads the answers about a character of the library, and checks the words that they quote (design 14).

An answer that cannot be read raises InvalidMemoryError, so that the model is shown the problems once. A
change is dropped whose words are not in the event that it names, among those that the character knows.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.agents.answers.json_output import InvalidMemoryError, prompt_of, read_object
from core.agents.proposals.asking import LONGEST_PROPOSED_NAME, LONGEST_QUOTE, LONGEST_TEXT, About, Sheet
from core.domain.bank.evidence import DASHES
from core.domain.story.event import Event
from core.text.analysis.repetition import words_of
from core.text.cleaning import clean, clean_line, is_blank
from core.text.graphemes import head
from core.text.numbers import number_of
from core.text.prose import QUOTE_MARKS

MOST_READ: Final = 20
"""Entries of a list that are read; no question asks for as many."""
LEAST_WORDS: Final = 3
"""A quote of fewer words says nothing, unless it is the whole event."""
Value = str | float


@dataclass(frozen=True, slots=True)
class FoundGaps:
    """Proposals of an answer for the gaps; the records have the fields of traits and topics."""

    short_description: str = ""
    traits: tuple[Mapping[str, Value], ...] = ()
    topics: tuple[Mapping[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange:
    """One change with the words of the chapter that it is from."""

    about: About
    name: str
    text: str
    value: float
    prompt_index: int
    quote: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundChanges:
    """The changes whose words were found, and how many others there were."""

    changes: tuple[FoundChange, ...] = ()
    unfounded: int = field(default=0)


def read_gaps(text: str, sheet: Sheet) -> FoundGaps:
    """Return what an answer proposes; raise InvalidMemoryError where it has nothing that is missing."""
    answer = read_object(text, ("short_description", "traits", "topics")).value
    short = "" if sheet.has_short_description else head(_line(answer.get("short_description")), LONGEST_TEXT)
    found = FoundGaps(
        short,
        tuple(_items(answer.get("traits"), sheet.traits, sheet.lacks_traits, _TRAIT_FIELDS)),
        tuple(_items(answer.get("topics"), sheet.topics, sheet.lacks_topics, _TOPIC_FIELDS)),
    )
    if found == FoundGaps():
        raise InvalidMemoryError(["The object has no part that TASK asks for."])
    return found


def read_questions(text: str, topics: Sequence[str]) -> Mapping[str, str]:
    """Return a question for each topic that an answer has one for."""
    wanted = {_key(topic): topic for topic in topics}
    found: dict[str, str] = {}
    for entry in _entries(text, "questions"):
        topic = wanted.get(_key(_line(entry.get("topic"))))
        question = head(_line(entry.get("question")), LONGEST_TEXT)
        if topic is not None and not is_blank(question):
            found.setdefault(topic, question)
    if not found:
        raise InvalidMemoryError(["`questions` has no question for a topic of TASK."])
    return found


def read_changes(text: str, events: Sequence[Event]) -> FoundChanges:
    """Return the changes whose words are in one of the events, which are those that the character knows.

    Without a number of a prompt, as a small model answers, the first event with the words is meant.
    """
    found: list[FoundChange] = []
    unfounded = 0
    for entry in _entries(text, "changes"):
        change = _change(entry, events)
        if change is None:
            unfounded += 1
        elif not any(_key(other.text) == _key(change.text) for other in found):
            found.append(change)
    return FoundChanges(tuple(found), unfounded)


def event_of(quote: str, prompt_index: int | None, events: Sequence[Event]) -> Event | None:
    """Return the event that has these words, apart from white space, quotation marks and kinds of dashes."""
    wanted = _bare(quote)
    for event in events:
        text = _bare(event.text)
        is_there = event.prompt_index > 0 and prompt_index in (None, event.prompt_index) and wanted in text
        if is_there and wanted and (wanted == text or len(words_of(quote)) >= LEAST_WORDS):
            return event
    return None


def _change(entry: Mapping[str, object], events: Sequence[Event]) -> FoundChange | None:
    about = _line(entry.get("about")).lower()
    prompt = entry.get("prompt")
    number = prompt_of(prompt)
    quote = head(_line(entry.get("quote")), LONGEST_QUOTE)
    text = head(_text(entry.get("text")), LONGEST_TEXT)
    is_known = about in set(About)
    if not is_known or is_blank(text) or (prompt is not None and number is None):
        return None
    event = event_of(quote, number, events)
    if event is None or (about == About.SHORT_DESCRIPTION and not event.audience.is_everyone):
        # A short description is read by everyone, so it is never made from events that only some witnessed.
        return None
    return FoundChange(
        about=About(about),
        name=head(_line(entry.get("name")), LONGEST_PROPOSED_NAME),
        text=text,
        value=_number(entry.get("value"), -1.0),
        prompt_index=event.prompt_index,
        quote=quote,
        why=head(_line(entry.get("why")), LONGEST_TEXT),
    )


_TRAIT_FIELDS: Final[Mapping[str, float | None]] = {"description": None, "strength": 0.0, "sentiment": -1.0}
_TOPIC_FIELDS: Final[Mapping[str, float | None]] = {
    "perspective": None,
    "approach": None,
    "personal_stake": None,
    "sentiment": -1.0,
    "exposure_desired": 0.0,
}
"""The fields of an entry: the least value of a number, None for a text."""


def _items(
    found: object, known: Sequence[str], most: int, fields: Mapping[str, float | None]
) -> list[dict[str, Value]]:
    """Return the entries with a name that is new, so that none replaces what the GM has."""
    taken = set(map(_key, known))
    items: list[dict[str, Value]] = []
    for entry in found[:MOST_READ] if isinstance(found, list) else ():
        name = (
            head(_line(entry.get("name")), LONGEST_PROPOSED_NAME).strip()
            if isinstance(entry, Mapping)
            else ""
        )
        if is_blank(name) or _key(name) in taken or len(items) == most:
            continue
        taken.add(_key(name))
        item: dict[str, Value] = {"name": name}
        for key, least in fields.items():
            value = entry.get(key)
            item[key] = head(_text(value), LONGEST_TEXT) if least is None else _number(value, least)
        items.append(item)
    return items


def _entries(text: str, key: str) -> list[Mapping[str, object]]:
    listed = read_object(text, (key,)).value.get(key)
    listed = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(listed, list):
        raise InvalidMemoryError([f"`{key}` is not a list."])
    entries = [entry for entry in listed[:MOST_READ] if isinstance(entry, Mapping)]
    if len(entries) < len(listed[:MOST_READ]):
        raise InvalidMemoryError([f"`{key}` has entries that are not objects."])
    return entries


def _number(value: object, least: float) -> float:
    number = number_of(value, least, 1)
    if number is None:
        return 0.5 if least == 0 else 0.0
    return round(float(number), 2)


def _bare(text: str) -> str:
    kept = "".join(
        "-" if char in DASHES else char
        for char in unicodedata.normalize("NFKC", text)
        if char not in QUOTE_MARKS
    )
    return " ".join(kept.split())


def _key(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.casefold().split()))


def _line(value: object) -> str:
    return clean_line(value) if isinstance(value, str) else ""


def _text(value: object) -> str:
    return clean(value).strip() if isinstance(value, str) else ""
