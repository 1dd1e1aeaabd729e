"""Asks what a part of play holds for the memory bank, and reads the answer (design 15).

What is to be analysed is kept apart from what is given to understand it. A part is no longer than the model
can take; a chunk that is longer is read in several parts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.agents.answers.json_output import InvalidMemoryError, read_object
from core.agents.answers.schema import Schema, one_of, record
from core.agents.bank.findings import Finding
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import fit_events
from core.config.models.assignments import AgentRole, ModelConfig
from core.context.memory_digest import MemoryDigester
from core.context.segments import Context, Segment
from core.context.visibility import Knowledge
from core.domain.bank.details import (
    Aspect,
    Details,
    EventDetails,
    FactDetails,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    ThreadCategory,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.item import MOST_PARTICIPANTS
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import in_order, render_events
from core.providers.base import OutputSchema
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName
from core.text.graphemes import head

AGENT_ID: Final = 8
SCAN: Final = "bank_scan"
"""The name of the prompt files, and of the schema."""
LONGEST_NAME: Final = 80
LONGEST_TEXT: Final = 400
LONGEST_QUOTE: Final = 300
MOST_READ: Final = 16
"""Entries of one list that are read."""
MOST_NAMES: Final = 60
"""Names of people and places that are known, of each kind."""
_STEPS: Final = 4
"""How important a thing is, in steps."""
_FEELINGS: Final = 2
"""Steps of a feeling for or against a thing."""
_MEMORY_SHARE: Final = 0.2
_BEFORE_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The names that may come up, so that no one is invented twice."""

    cast: Mapping[str, Slot]
    """Every name that means a character; of each character its own name first."""
    heard: Collection[str] = ()
    """The other names that are told: those that a character alone has heard, of itself. Whom others mean by
    one, such as by the name on a mask, the GM alone knows."""
    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def text(self, session: Session) -> str:
        """Return the section that lists them."""
        lines = ["Cast:"]
        for slot, name in session.roster:
            others = [one for one in self.heard if self.cast.get(one) is slot and one != name]
            lines.append(f"- {name} (also {', '.join(others)})" if others else f"- {name}")
        for title, names in (("Other people", self.people), ("Places", self.places)):
            if names:
                lines += [f"{title}:", *(f"- {clean_line(name)}" for name in names[:MOST_NAMES])]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Part:
    """Events that are analysed in one call, and those before them or between them, for the context."""

    analyse: tuple[Event, ...]
    context: tuple[Event, ...] = ()


def setup_of(choice: ModelConfig, prompt: str = SCAN) -> AgentSetup:
    """Return how the model of agent 8 is called with one of the prompts of the bank."""
    return AgentSetup.load(AgentRole.CONTEXT_SUMMARY, choice, MemoryDigester(choice.style), prompt)


def parts_of(
    setup: AgentSetup, session: Session, analyse: Sequence[Event], context: Sequence[Event], known: Known
) -> list[Part]:
    """Return the parts in which events are analysed: whole prompts, as many as leave room for the context."""
    room = int(_room(setup, session, known) * (1 - _MEMORY_SHARE - _BEFORE_SHARE))
    prompts: dict[int, list[Event]] = {}
    for event in in_order(analyse):
        prompts.setdefault(event.summarised_with, []).append(event)
    parts: list[list[Event]] = []
    for events in prompts.values():
        if parts and _source(setup, session, [*parts[-1], *events]).tokens <= room:
            parts[-1] += events
        else:
            parts.append(list(events))
    chosen = {event.id for event in analyse}
    others = [event for event in in_order(context) if event.id not in chosen]
    return [
        Part(tuple(part), tuple(one for one in in_order((*others, *analyse)) if _is_before(one, part)))
        for part in parts
    ]


def _is_before(event: Event, part: Sequence[Event]) -> bool:
    return event.place <= part[-1].place and all(event.id != one.id for one in part)


def build_context(setup: AgentSetup, knowledge: Knowledge, part: Part, known: Known) -> Context:
    """Return the input: known names, memory so far, what was played before, and what is to be analysed."""
    session = knowledge.session
    names = setup.fenced(SegmentName.AGENT_ROSTER, known.text(session))
    room = _room(setup, session, known)
    digest = setup.digester.digest(knowledge.blocks, int(room * _MEMORY_SHARE))
    memory = setup.fenced(SegmentName.STRUCTURED_MEMORY_SO_FAR, digest.text)
    earlier = _newest(setup, session, part.context, int(room * _BEFORE_SHARE))
    before = setup.fenced(SegmentName.RECENT_CONTEXT, render_events(earlier, session))
    name = SegmentName.RECENT_CONTEXT_CHUNK
    source = setup.fenced(name, render_events(part.analyse, session))
    left_out = digest.left_out
    free = setup.budget - total((*setup.beginning, names, memory, before, *setup.cue()))
    if source.tokens > free:
        short = fit_events(part.analyse, session, free - setup.fenced(name, "").tokens, setup.style)
        source = setup.fenced(name, render_events(short.events, session))
        left_out = (*left_out, *short.left_out)
    schema = OutputSchema(SCAN, scan_schema(session, part.analyse))
    segments = (names, memory, before, source, *setup.cue())
    return setup.context(AGENT_ID, segments, schema=schema, left_out=left_out)


def scan_schema(session: Session, events: Iterable[Event]) -> Schema:
    """Return the schema of an answer: of prompts and characters only those that are there can be named."""
    prompt = one_of(*sorted({event.prompt_index for event in events}))
    cast = one_of(*dict(session.roster).values())
    proof: dict[str, Schema] = {"prompt": prompt, "words": _text(LONGEST_QUOTE)}
    said: dict[str, Schema] = {"name": _text(LONGEST_NAME), "text": _text(LONGEST_TEXT)}
    weight: dict[str, Schema] = {"importance": _step()}
    felt: dict[str, Schema] = {"sentiment": one_of(*range(-_FEELINGS, _FEELINGS + 1)), **weight}
    participants: Schema = {"type": "array", "items": _text(LONGEST_NAME), "maxItems": 8}
    return record(
        events=_list(
            record(
                **proof,
                **said,
                participants=participants,
                context=_text(200),
                outcome=_text(200),
                **weight,
            ),
            8,
        ),
        facts=_list(record(**proof, **said, **felt), 8),
        people=_list(record(**proof, **said, relationship=_text(200), **felt), 6),
        places=_list(record(**proof, **said, **felt), 6),
        threads=_list(
            record(
                **proof,
                **said,
                category=one_of(*ThreadCategory),
                stakes=_text(200),
                is_closed={"type": "boolean"},
                **felt,
            ),
            6,
        ),
        quotes=_list(record(**proof, speaker=_text(LONGEST_NAME), **weight), 4),
        traits=_list(record(**proof, who=cast, **said, strength=_step(), **weight), 4),
        states=_list(
            record(
                **proof,
                who=cast,
                aspect=one_of(*Aspect),
                **said,
                other=_text(LONGEST_NAME),
                is_over={"type": "boolean"},
                **weight,
            ),
            10,
        ),
    )


def read_scan(text: str, cast: Mapping[str, Slot]) -> list[Finding]:
    """Return what an answer found; entries that say nothing are passed over.

    `cast` are the names, in lower case, that mean a character. Raise InvalidMemoryError for an answer that
    has none of the lists.
    """
    answer = read_object(text).value
    if not any(isinstance(answer.get(name), list) for name in _LISTS):
        raise InvalidMemoryError([f"The object has none of the lists {', '.join(_LISTS)}."])
    found: list[Finding] = []
    for kind, read in _LISTS.items():
        listed = answer.get(kind)
        for entry in listed[:MOST_READ] if isinstance(listed, list) else ():
            if isinstance(entry, Mapping):
                found += _finding(entry, read(entry), cast)
    return found


def _finding(entry: Mapping[str, object], details: Details, cast: Mapping[str, Slot]) -> list[Finding]:
    prompt, words = entry.get("prompt"), line(entry, "words", LONGEST_QUOTE)
    if not isinstance(prompt, int) or isinstance(prompt, bool) or not words:
        return []
    about = cast.get(line(entry, "who", LONGEST_NAME).casefold())
    if about is None and isinstance(details, StateDetails | TraitDetails):
        return []
    text = line(entry, "text", LONGEST_TEXT)
    is_quote = isinstance(details, QuoteDetails)
    name = line(entry, "name", LONGEST_NAME) or short_name(words if is_quote else text)
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
    listed = entry.get("participants")
    names = [clean_line(name) for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    kept = tuple(head(name, LONGEST_NAME) for name in names if name)[:MOST_PARTICIPANTS]
    context, outcome = (line(entry, name, LONGEST_TEXT) for name in ("context", "outcome"))
    return EventDetails(participants=kept, context=context, outcome=outcome)


def _thread(entry: Mapping[str, object]) -> Details:
    category = line(entry, "category", LONGEST_NAME)
    return ThreadDetails(
        category=ThreadCategory(category) if category in set(ThreadCategory) else ThreadCategory.CONCERN,
        stakes=line(entry, "stakes", LONGEST_TEXT),
        is_closed=entry.get("is_closed") is True,
    )


def _state(entry: Mapping[str, object]) -> Details:
    aspect = line(entry, "aspect", LONGEST_NAME)
    return StateDetails(
        aspect=Aspect(aspect) if aspect in set(Aspect) else Aspect.OTHER,
        other=line(entry, "other", LONGEST_NAME),
        is_over=entry.get("is_over") is True,
    )


_LISTS: Final = {
    "events": _event,
    "facts": lambda _: FactDetails(),
    "people": lambda entry: PersonDetails(relationship=line(entry, "relationship", LONGEST_TEXT)),
    "places": lambda _: PlaceDetails(),
    "threads": _thread,
    "quotes": lambda entry: QuoteDetails(speaker=line(entry, "speaker", LONGEST_NAME)),
    "traits": lambda entry: TraitDetails(strength=_share(entry, "strength")),
    "states": _state,
}


def short_name(text: str) -> str:
    """Return the first words of a text, as a name for what has none."""
    return head(" ".join(text.split()[:8]).rstrip(" .,;:…"), LONGEST_NAME)


def line(entry: Mapping[str, object], key: str, most: int) -> str:
    """Return a text of an entry on one line, within bounds; empty for anything else."""
    value = entry.get(key)
    return head(clean_line(value), most).strip() if isinstance(value, str) else ""


def _share(entry: Mapping[str, object], key: str) -> float:
    """Return a step as a share; one half where the answer has none."""
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.5
    return min(_STEPS, max(1, value)) / _STEPS


def _feeling(entry: Mapping[str, object]) -> float:
    """Return a feeling from -1 to 1; none where the answer has none."""
    value = entry.get("sentiment")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return min(_FEELINGS, max(-_FEELINGS, value)) / _FEELINGS


def _newest(setup: AgentSetup, session: Session, events: Sequence[Event], room: int) -> list[Event]:
    """Return the newest events that fit whole."""
    kept: list[Event] = []
    for event in reversed(events):
        if _source(setup, session, [event, *kept]).tokens > room:
            break
        kept.insert(0, event)
    return kept


def _source(setup: AgentSetup, session: Session, events: Sequence[Event]) -> Segment:
    return setup.fenced(SegmentName.RECENT_CONTEXT, render_events(events, session))


def _room(setup: AgentSetup, session: Session, known: Known) -> int:
    """Return the tokens that memory, context and what is analysed may have together."""
    names = setup.fenced(SegmentName.AGENT_ROSTER, known.text(session))
    return max(0, setup.budget - total((*setup.beginning, names, *setup.cue())))


def _text(most: int) -> Schema:
    return {"type": "string", "maxLength": most}


def _step() -> Schema:
    return one_of(*range(1, _STEPS + 1))


def _list(entry: Schema, most: int) -> Schema:
    return {"type": "array", "items": entry, "maxItems": most}
