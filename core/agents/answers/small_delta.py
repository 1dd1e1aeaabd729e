"""Builds the schema of a turn delta whose texts a very small model picks from a chunk (see `extract`)."""

from collections.abc import Mapping, Sequence

from core.agents.answers.extract import (
    EMPTY_LIST,
    changes,
    clauses,
    finds,
    fitted,
    pick,
    questions,
    records,
    stretches,
    tuple_of,
)
from core.agents.answers.schema import Schema, fixed, one_of, record
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType

_EVENTS, _PARTICIPANTS, _RECORDS, _THREADS = 4, 2, 2, 2


def small_delta_schema(session: Session, span: Schema, played: Sequence[Event], tokens: int) -> Schema:
    """Return the schema of a delta of `played`, in order, whose longest answer fits in `tokens`.

    `span` is the schema of its range. Lists have fewer entries where more would not fit.
    """
    told = clauses("\n".join(event.text for event in played if event.role is Role.USER))
    said = [
        (clause, session.name_of(event.slot) if event.slot else "")
        for event in played
        for clause in clauses(event.text)
    ]
    changed, found, asked = changes(told), finds(said), questions(told)
    done = _actions(session, played)

    def build(most: int) -> Schema:
        return record(
            memory_type=fixed(BlockType.TURN_DELTA.value),
            range=span,
            location_updates=record(where=pick(told, optional=True), notable_environment_changes=EMPTY_LIST),
            major_events=_events(session, told, most),
            character_actions=_first_of(done, session, most),
            state_changes=records(changed, min(_RECORDS, most)),
            relationship_shifts=EMPTY_LIST,
            items_clues_discovered=records(found, min(_RECORDS, most)),
            unresolved_threads=_threads(asked or told[-4:], min(_THREADS if asked else 1, most)),
            canon_locks=EMPTY_LIST,
            contradictions_or_questions=EMPTY_LIST,
        )

    return fitted(build, max(_EVENTS, len(done)), tokens)


def _events(session: Session, told: Sequence[str], most: int) -> Schema:
    names = one_of(*dict(session.roster).values())
    return tuple_of(
        [
            record(
                event=pick(stretch),
                cause=fixed(""),
                effect=fixed(""),
                participants={"type": "array", "items": names, "maxItems": min(_PARTICIPANTS, most)},
            )
            for stretch in stretches(told, min(_EVENTS, most))
        ]
    )


def _threads(options: Sequence[str], most: int) -> Schema:
    return tuple_of(
        [
            record(thread=pick(stretch), stakes=fixed(""), next_likely_trigger=fixed(""))
            for stretch in stretches(options, most)
        ]
    )


def _first_of(done: Mapping[Slot, Schema], session: Session, most: int) -> Schema:
    """Return the list of the first `most` actions, in the order of the roster."""
    kept = list(done)[:most]
    return tuple_of([done[slot] for slot, _ in session.roster if slot in kept])


def _actions(session: Session, played: Sequence[Event]) -> dict[Slot, Schema]:
    """Return the schema of each character's actions; first that of the last one to act."""
    said: dict[Slot, list[str]] = {}
    for event in reversed(played):
        if event.role is Role.AGENT and event.slot is not None:
            said.setdefault(event.slot, []).insert(0, event.text)
    return {
        slot: record(
            agent_slot=fixed(slot.value),
            name=fixed(session.name_of(slot)),
            did=pick(clauses("\n".join(texts))),
            intent=fixed(""),
            result=fixed("unknown"),
        )
        for slot, texts in said.items()
    }
