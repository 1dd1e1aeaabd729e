"""The form of the answer about a part of play, and the usable parts of an answer (design 15)."""

from collections.abc import Iterable, Mapping
from typing import Final

from core.agents.answers.json_output import InvalidMemoryError, is_true, prompt_of, read_object
from core.agents.answers.schema import Schema, one_of, record, text_of
from core.agents.bank.findings import Finding
from core.domain.bank.details import (
    LONGEST_MS,
    MOST_LISTED,
    Aspect,
    Attribute,
    Details,
    EventDetails,
    FactDetails,
    Performance,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    Relationship,
    StateDetails,
    ThreadCategory,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.item import MOST_PARTICIPANTS
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.name_list import name_key
from core.text.numbers import number_of
from core.text.prose import without_half_pairs

LONGEST_SCANNED_NAME: Final = 80
LONGEST_TEXT: Final = 400
LONGEST_QUOTE: Final = 300
LONGEST_VALUE: Final = 120
MOST_READ: Final = 16
"""Entries of one list that are read."""
_STEPS: Final = 4
"""Number of steps on the scales of an answer, such as importance."""
_FEELINGS: Final = 2
"""Steps of a feeling for or against a thing."""
_MINUTE: Final = 60_000
"""Milliseconds."""
_WORKED: Final = {"yes": 1.0, "no": 0.0, "partly": 0.5}
"""Success rate of a use of a skill; an empty answer says that it was not used."""


def scan_schema(session: Session, events: Iterable[Event]) -> Schema:
    """Return the schema of an answer: of prompts and characters only those that are there can be named."""
    prompt = one_of(*sorted({event.prompt_index for event in events}))
    cast = one_of(*dict(session.roster).values())
    proof: dict[str, Schema] = {"prompt": prompt, "words": text_of(LONGEST_QUOTE)}
    said: dict[str, Schema] = {"name": text_of(LONGEST_SCANNED_NAME), "text": text_of(LONGEST_TEXT)}
    weight: dict[str, Schema] = {"importance": _step()}
    felt: dict[str, Schema] = {"sentiment": one_of(*range(-_FEELINGS, _FEELINGS + 1)), **weight}
    wanted: dict[str, Schema] = {"exposure_desired": one_of(*range(_STEPS + 1))}
    took: dict[str, Schema] = {"minutes": {"type": "integer", "minimum": 0, "maximum": LONGEST_MS // _MINUTE}}
    further: dict[str, Schema] = {
        "attributes": _list(record(name=text_of(LONGEST_SCANNED_NAME), value=text_of(LONGEST_VALUE)), 3),
        "relationships": _list(
            record(relation=text_of(LONGEST_SCANNED_NAME), target=text_of(LONGEST_SCANNED_NAME)), 3
        ),
    }
    participants = _list(text_of(LONGEST_SCANNED_NAME), 8)
    return record(
        events=_list(
            record(
                **proof,
                **said,
                participants=participants,
                context=text_of(200),
                outcome=text_of(200),
                **took,
                **weight,
            ),
            8,
        ),
        facts=_list(record(**proof, **said, **further, **felt), 8),
        people=_list(record(**proof, **said, relationship=text_of(200), **further, **wanted, **felt), 6),
        places=_list(record(**proof, **said, **further, **felt), 6),
        threads=_list(
            record(
                **proof,
                **said,
                category=one_of(*ThreadCategory),
                stakes=text_of(200),
                is_closed={"type": "boolean"},
                **wanted,
                **felt,
            ),
            6,
        ),
        quotes=_list(record(**proof, speaker=text_of(LONGEST_SCANNED_NAME), **weight), 4),
        traits=_list(
            record(
                **proof,
                who=cast,
                **said,
                strength=_step(),
                steps=_list(text_of(LONGEST_VALUE), 6),
                prerequisites=_list(text_of(LONGEST_VALUE), 3),
                outcomes=_list(text_of(LONGEST_VALUE), 3),
                worked=one_of(*_WORKED, ""),
                **took,
                **weight,
            ),
            4,
        ),
        states=_list(
            record(
                **proof,
                who=cast,
                aspect=one_of(*Aspect),
                **said,
                other=text_of(LONGEST_SCANNED_NAME),
                is_over={"type": "boolean"},
                **weight,
            ),
            10,
        ),
    )


def read_scan(text: str, cast: Mapping[str, Slot]) -> list[Finding]:
    """Return what an answer found; entries that say nothing are passed over.

    `cast` are the names that mean a character, by their `name_key`. Raise InvalidMemoryError for an answer
    that has none of the lists, or no entry that is an object.
    """
    answer = read_object(text, _LISTS).value
    if not any(isinstance(answer.get(name), list) for name in _LISTS):
        raise InvalidMemoryError([f"The object has none of the lists {', '.join(_LISTS)}."])
    found: list[Finding] = []
    are_objects: set[bool] = set()
    for kind, read in _LISTS.items():
        listed = answer.get(kind)
        for entry in listed[:MOST_READ] if isinstance(listed, list) else ():
            are_objects.add(isinstance(entry, Mapping))
            if isinstance(entry, Mapping):
                found += _finding(entry, read(entry), cast)
    if are_objects == {False}:
        raise InvalidMemoryError(["The entries of the lists are not objects."])
    return found


def _finding(entry: Mapping[str, object], details: Details, cast: Mapping[str, Slot]) -> list[Finding]:
    prompt, words = prompt_of(entry.get("prompt")), line(entry, "words", LONGEST_QUOTE)
    if prompt is None or not words:
        return []
    about = cast.get(name_key(line(entry, "who", LONGEST_SCANNED_NAME)))
    if about is None and isinstance(details, StateDetails | TraitDetails):
        return []
    text = line(entry, "text", LONGEST_TEXT)
    is_quote = isinstance(details, QuoteDetails)
    name = without_half_pairs(line(entry, "name", LONGEST_SCANNED_NAME)) or short_name(
        words if is_quote else text
    )
    if not name or not (text or is_quote):
        return []
    return [
        Finding(
            details=details,
            name=name,
            text=text,
            words=words,
            prompt=prompt,
            about=about,
            importance=_share(entry, "importance"),
            sentiment=_feeling(entry),
        )
    ]


def _event(entry: Mapping[str, object]) -> Details:
    context, outcome = (line(entry, name, LONGEST_TEXT) for name in ("context", "outcome"))
    return EventDetails(
        participants=_texts(entry, "participants", LONGEST_SCANNED_NAME, MOST_PARTICIPANTS),
        context=context,
        outcome=outcome,
        duration_ms=_duration(entry),
    )


def _fact(entry: Mapping[str, object]) -> Details:
    return FactDetails(attributes=_attributes(entry), relationships=_relationships(entry))


def _person(entry: Mapping[str, object]) -> Details:
    return PersonDetails(
        relationship=line(entry, "relationship", LONGEST_TEXT),
        attributes=_attributes(entry),
        relationships=_relationships(entry),
        exposure_desired=_wanted(entry),
    )


def _place(entry: Mapping[str, object]) -> Details:
    return PlaceDetails(attributes=_attributes(entry), relationships=_relationships(entry))


def _trait(entry: Mapping[str, object]) -> Details:
    success = _WORKED.get(line(entry, "worked", LONGEST_SCANNED_NAME).lower())
    used = Performance(success_rate=success, average_duration_ms=_duration(entry))
    steps, prerequisites, outcomes = (
        _texts(entry, name, LONGEST_VALUE, MOST_LISTED) for name in ("steps", "prerequisites", "outcomes")
    )
    return TraitDetails(
        strength=_share(entry, "strength"),
        steps=steps,
        prerequisites=prerequisites,
        outcomes=outcomes,
        performance=None if success is None else used,
    )


def _thread(entry: Mapping[str, object]) -> Details:
    category = line(entry, "category", LONGEST_SCANNED_NAME).capitalize()
    return ThreadDetails(
        category=ThreadCategory(category) if category in set(ThreadCategory) else ThreadCategory.CONCERN,
        stakes=line(entry, "stakes", LONGEST_TEXT),
        is_closed=is_true(entry.get("is_closed")),
        exposure_desired=_wanted(entry),
    )


def _state(entry: Mapping[str, object]) -> Details:
    aspect = line(entry, "aspect", LONGEST_SCANNED_NAME).lower()
    return StateDetails(
        aspect=Aspect(aspect) if aspect in set(Aspect) else Aspect.OTHER,
        other=line(entry, "other", LONGEST_SCANNED_NAME),
        is_over=is_true(entry.get("is_over")),
    )


_LISTS: Final = {
    "events": _event,
    "facts": _fact,
    "people": _person,
    "places": _place,
    "threads": _thread,
    "quotes": lambda entry: QuoteDetails(speaker=line(entry, "speaker", LONGEST_SCANNED_NAME)),
    "traits": _trait,
    "states": _state,
}


def short_name(text: str) -> str:
    """Return the first words of a text, as the name of an item without one."""
    return without_half_pairs(head(" ".join(text.split()[:8]).rstrip(" .,;:…"), LONGEST_SCANNED_NAME))


def line(entry: Mapping[str, object], key: str, most: int) -> str:
    """Return a text of an entry on one line, within bounds; empty for anything else."""
    value = entry.get(key)
    return head(clean_line(value), most).strip() if isinstance(value, str) else ""


def _entries(entry: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """Return the objects of a list of an entry, as many as one item has."""
    listed = entry.get(key)
    found = listed[:MOST_LISTED] if isinstance(listed, list) else []
    return [one for one in found if isinstance(one, Mapping)]


def _attributes(entry: Mapping[str, object]) -> tuple[Attribute, ...]:
    found = (
        Attribute(name=line(one, "name", LONGEST_SCANNED_NAME), value=line(one, "value", LONGEST_VALUE))
        for one in _entries(entry, "attributes")
    )
    return tuple(dict.fromkeys(one for one in found if one.name and one.value))


def _relationships(entry: Mapping[str, object]) -> tuple[Relationship, ...]:
    found = (
        Relationship(
            relation=line(one, "relation", LONGEST_SCANNED_NAME),
            target=line(one, "target", LONGEST_SCANNED_NAME),
        )
        for one in _entries(entry, "relationships")
    )
    return tuple(dict.fromkeys(one for one in found if one.relation and one.target))


def _texts(entry: Mapping[str, object], key: str, longest: int, most: int) -> tuple[str, ...]:
    """Return the texts of a list of an entry, each on one line, within bounds."""
    listed = entry.get(key)
    texts = (clean_line(text) for text in listed if isinstance(text, str)) if isinstance(listed, list) else ()
    return tuple(head(text, longest) for text in texts if text)[:most]


def _wanted(entry: Mapping[str, object]) -> float | None:
    """Return how much the cast wants to come back to something; None where the answer does not say."""
    value = number_of(entry.get("exposure_desired"), 0, _STEPS)
    return None if value is None else value / _STEPS


def _duration(entry: Mapping[str, object]) -> int | None:
    """Return in milliseconds how long something took in the story; None where the answer does not say."""
    value = number_of(entry.get("minutes"), 0, LONGEST_MS)
    if value is None or not 0 < value <= LONGEST_MS / _MINUTE:
        return None
    return max(1, round(value * _MINUTE))


def _share(entry: Mapping[str, object], key: str) -> float:
    """Return a step as a share; one half where the answer has none."""
    value = number_of(entry.get(key), 1, _STEPS)
    return 0.5 if value is None else value / _STEPS


def _feeling(entry: Mapping[str, object]) -> float:
    """Return a feeling from -1 to 1; none where the answer has none."""
    value = number_of(entry.get("sentiment"), -_FEELINGS, _FEELINGS)
    return 0.0 if value is None else value / _FEELINGS


def _step() -> Schema:
    return one_of(*range(1, _STEPS + 1))


def _list(entry: Schema, most: int) -> Schema:
    return {"type": "array", "items": entry, "maxItems": most}
