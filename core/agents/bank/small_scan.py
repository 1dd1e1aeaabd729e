"""Inputs with which a very small model picks items for the memory bank from a part of play.

It is asked about a few kinds at a time, and whatever it picks are clauses of the part itself, as in
`core.agents.answers.extract`: so all of it has its proof. What it cannot tell, such as how important a thing
is, is left at the usual.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.agents.answers.extract import addressed, asks, clauses, pick, questions, stretches, tuple_of
from core.agents.answers.json_output import InvalidMemoryError, read_object
from core.agents.answers.schema import Schema, fixed, one_of, record
from core.agents.bank.findings import Finding
from core.agents.bank.scan import SCAN, Known, ScanPart
from core.agents.bank.scan_answer import MOST_READ, line, short_name
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import fit_events
from core.context.segments import Context
from core.context.visibility import Knowledge
from core.domain.bank.details import (
    Details,
    EventDetails,
    FactDetails,
    ItemKind,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    ThreadDetails,
)
from core.domain.bank.evidence import find_words
from core.domain.story.event import Event, Role
from core.domain.story.transcript import render_events
from core.providers.base import OutputSchema
from core.text.delimiters import SegmentName
from core.text.name_list import name_key

_ITEMS, _STATES, _QUOTES, _THREADS, _NAMES = 4, 2, 2, 2, 4
_LONGEST: Final = 300
_NEITHER: Final = "neither"
_CAPITAL: Final = f"[A-Z{''.join(filter(str.isupper, map(chr, range(0x80, 0x2000))))}]"
# A word with a capital, but for such as “I'm”: the apostrophe of O'Brien has a capital behind it.
_WORD: Final = rf"(?!\w[’'](?!{_CAPITAL})){_CAPITAL}[\w’'-]+"
# Such a word that begins no sentence, with those behind it.
_NAME: Final = re.compile(rf"(?<=[\w,;’'] ){_WORD}(?: {_WORD})*")


def contexts_of(setup: AgentSetup, knowledge: Knowledge, part: ScanPart, known: Known) -> Iterator[Context]:
    """Yield the inputs that ask about a part: what happened, what was said, and whom names are of."""
    schemas = (_happened(part), _said(part), _named(part, known))
    for schema in schemas:
        if schema is not None:
            yield _context(setup, knowledge, part, known, schema)


def _context(
    setup: AgentSetup, knowledge: Knowledge, part: ScanPart, known: Known, schema: Schema
) -> Context:
    session, name = knowledge.session, SegmentName.RECENT_CONTEXT_CHUNK
    names = setup.fenced(SegmentName.AGENT_ROSTER, known.text(session))
    source = setup.fenced(name, render_events(part.analyse, session))
    left_out: tuple[str, ...] = ()
    free = setup.budget - total((*setup.beginning, names, *setup.cue()))
    if source.tokens > free:
        short = fit_events(part.analyse, session, free - setup.fenced(name, "").tokens, setup.style)
        source = setup.fenced(name, render_events(short.events, session))
        left_out = short.left_out
    segments = (names, source, *setup.cue())
    return setup.context(segments, schema=OutputSchema(SCAN, schema), left_out=left_out)


def _happened(part: ScanPart) -> Schema | None:
    """Return the schema of the GM's narration; what it says about the character addressed is a state."""
    told = _clauses(part, of_characters=False)
    states = addressed(told)
    plain = [clause for clause in told if clause not in states and not asks(clause)]
    if not (plain or states):
        return None
    kind = one_of(ItemKind.EVENT, ItemKind.FACT)
    return record(
        items=tuple_of([record(kind=kind, words=pick(one)) for one in stretches(plain, _ITEMS)]),
        states=tuple_of([record(words=pick(one)) for one in stretches(states, _STATES)]),
    )


def _said(part: ScanPart) -> Schema | None:
    """Return the schema of quotes, and of the GM's open questions."""
    spoken, asked = _clauses(part, of_characters=True), questions(_clauses(part, of_characters=False))
    if not (spoken or asked):
        return None
    return record(
        quotes=tuple_of([record(words=pick(one)) for one in stretches(spoken, _QUOTES)]),
        threads=tuple_of([record(words=pick(one)) for one in stretches(asked, _THREADS)]),
    )


def _clauses(part: ScanPart, *, of_characters: bool) -> list[str]:
    """Return the clauses of characters' replies, or of the GM's narration."""
    events = (event for event in part.analyse if (event.role is Role.AGENT) is of_characters)
    return [clause for event in events for clause in clauses(event.text)]


def _named(part: ScanPart, known: Known) -> Schema | None:
    names = list(unknown_names(part.analyse, known))[:_NAMES]
    if not names:
        return None
    what = one_of(ItemKind.PERSON, ItemKind.PLACE, _NEITHER)
    return record(names=tuple_of([record(name=fixed(name), what=what) for name in names]))


def unknown_names(events: Sequence[Event], known: Known) -> dict[str, str]:
    """Return the names in events that are of no one and no place that is known, each with its clause."""
    taken = {word for name in (*known.cast, *known.people, *known.places) for word in name_key(name).split()}
    found: dict[str, str] = {}
    for event in events:
        for clause in clauses(event.text):
            for match in _NAME.finditer(clause):
                if taken.isdisjoint(name_key(match[0]).split()):
                    found.setdefault(match[0], clause)
    return found


_PARTS: Final = frozenset({"items", "states", "quotes", "threads", "names"})


def read_small_scan(text: str, part: ScanPart, known: Known) -> list[Finding]:
    """Return what a very small model picked; raise InvalidMemoryError if it is not JSON."""
    answer = read_object(text, _PARTS).value
    if not _PARTS & answer.keys():
        raise InvalidMemoryError(["The object has none of the parts that were asked for."])
    found = [_picked(entry, _details(entry)) for entry in _entries(answer, "items")]
    found += [_state(entry, part.analyse) for entry in _entries(answer, "states")]
    found += [_picked(entry, QuoteDetails()) for entry in _entries(answer, "quotes")]
    found += [_picked(entry, ThreadDetails()) for entry in _entries(answer, "threads")]
    named = unknown_names(part.analyse, known)
    found += [_name(entry, named) for entry in _entries(answer, "names")]
    return [finding for finding in found if finding is not None]


def _entries(answer: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    listed = answer.get(key)
    return [one for one in listed[:MOST_READ] if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _details(entry: Mapping[str, object]) -> Details:
    return EventDetails() if entry.get("kind") == ItemKind.EVENT else FactDetails()


def _state(entry: Mapping[str, object], events: Sequence[Event]) -> Finding | None:
    """Return a state of the character that was addressed: the first one that answers."""
    words = line(entry, "words", _LONGEST)
    told = [event for event in events if event.role is Role.USER and find_words(event.text, words)]
    if not told:
        return None
    prompt = told[0].prompt_index
    slots = [event.slot for event in events if event.prompt_index == prompt and event.slot is not None]
    made = _picked(entry, StateDetails())
    return replace(made, about=slots[0], prompt=prompt) if made and slots else None


def _name(entry: Mapping[str, object], named: Mapping[str, str]) -> Finding | None:
    name = line(entry, "name", _LONGEST)
    details: Details = PersonDetails() if entry.get("what") == ItemKind.PERSON else PlaceDetails()
    if name not in named or entry.get("what") not in (ItemKind.PERSON, ItemKind.PLACE):
        return None
    return Finding(details=details, name=name, text=named[name], words=named[name])


def _picked(entry: Mapping[str, object], details: Details) -> Finding | None:
    words = line(entry, "words", _LONGEST)
    return Finding(details=details, name=short_name(words), text=words, words=words) if words else None
