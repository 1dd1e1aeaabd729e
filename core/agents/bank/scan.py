"""Builds the inputs that extract items for the memory bank from a part of play (design 15).

The part to analyse is kept apart from its context. A part is no longer than the model
can take; a chunk that is longer is read in several parts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.agents.bank.scan_answer import scan_schema
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import fit_events
from core.config.models.model_config import PromptStyle
from core.context.segments import Context, Segment
from core.context.visibility import Knowledge
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import in_order, render_events
from core.providers.base import OutputSchema
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName

SCAN: Final = "bank_scan"
"""The name of the prompt files, and of the schema."""
MOST_NAMES: Final = 60
"""Names of people and places that are known, of each kind."""
_MEMORY_SHARE: Final = 0.2
_BEFORE_SHARE: Final = 0.2
_BEFORE: Final = SegmentName.RECENT_CONTEXT
_CHUNK: Final = SegmentName.RECENT_CONTEXT_CHUNK


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
class ScanPart:
    """Events that are analysed in one call, and those before them or between them, for the context."""

    analyse: tuple[Event, ...]
    context: tuple[Event, ...] = ()


def parts_of(
    setup: AgentSetup, knowledge: Knowledge, analyse: Sequence[Event], known: Known
) -> list[ScanPart]:
    """Return the parts in which events are analysed: whole prompts, as many as leave room for the context."""
    session = knowledge.session
    room = _room(setup, session, known)
    most = int(room * (1 - _MEMORY_SHARE - _BEFORE_SHARE))
    if setup.style is PromptStyle.FULL:
        # Canon locks are never left out of memory: where they take more than its share, a part has less.
        locks = setup.digester.digest(knowledge.blocks, 0).text
        most = min(most, room - total((_memory(setup, locks), _told(setup, _BEFORE, session, ()))))
    prompts: dict[int, list[Event]] = {}
    for event in in_order(analyse):
        prompts.setdefault(event.summarised_with, []).append(event)
    parts: list[list[Event]] = []
    for events in prompts.values():
        if parts and _told(setup, _CHUNK, session, [*parts[-1], *events]).tokens <= most:
            parts[-1] += events
        else:
            parts.append(list(events))
    chosen = {event.id for event in analyse}
    others = [event for event in in_order(knowledge.events) if event.id not in chosen]
    return [
        ScanPart(tuple(part), tuple(one for one in in_order((*others, *analyse)) if _is_before(one, part)))
        for part in parts
    ]


def _is_before(event: Event, part: Sequence[Event]) -> bool:
    return event.place <= part[-1].place and all(event.id != one.id for one in part)


def scan_context(setup: AgentSetup, knowledge: Knowledge, part: ScanPart, known: Known) -> Context:
    """Return the input: known names, memory so far, what was played before, and what is to be analysed."""
    session = knowledge.session
    names = setup.fenced(SegmentName.AGENT_ROSTER, known.text(session))
    room = _room(setup, session, known)
    digest = setup.digester.digest(knowledge.blocks, int(room * _MEMORY_SHARE))
    memory, source = _memory(setup, digest.text), _told(setup, _CHUNK, session, part.analyse)
    free = min(int(room * _BEFORE_SHARE), room - total((memory, source)))
    before = _told(setup, _BEFORE, session, _newest(setup, session, part.context, free))
    left_out = digest.left_out
    free = setup.budget - total((*setup.beginning, names, memory, before, *setup.cue()))
    if source.tokens > free:
        short = fit_events(part.analyse, session, free - setup.fenced(_CHUNK, "").tokens, setup.style)
        source = _told(setup, _CHUNK, session, short.events)
        left_out = (*left_out, *short.left_out)
    schema = OutputSchema(SCAN, scan_schema(session, part.analyse))
    segments = (names, memory, before, source, *setup.cue())
    return setup.context(segments, schema=schema, left_out=left_out)


def _newest(setup: AgentSetup, session: Session, events: Sequence[Event], room: int) -> list[Event]:
    """Return the newest events that fit whole."""
    kept: list[Event] = []
    for event in reversed(events):
        if _told(setup, _BEFORE, session, [event, *kept]).tokens > room:
            break
        kept.insert(0, event)
    return kept


def _memory(setup: AgentSetup, text: str) -> Segment:
    return setup.fenced(SegmentName.STRUCTURED_MEMORY_SO_FAR, text)


def _told(setup: AgentSetup, name: SegmentName, session: Session, events: Sequence[Event]) -> Segment:
    return setup.fenced(name, render_events(events, session))


def _room(setup: AgentSetup, session: Session, known: Known) -> int:
    """Return the tokens that memory, context and what is analysed may have together."""
    names = setup.fenced(SegmentName.AGENT_ROSTER, known.text(session))
    return max(0, setup.budget - total((*setup.beginning, names, *setup.cue())))
