"""Sessions of any length, generated with texts of realistic size, for the benchmarks."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import BlockId, EventId, SessionId, new_uuid
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot, first_slots, slot_after
from core.domain.story.event import SECRET, Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.secret import Secret
from core.storage.changes import Changes

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = (
    "the lamp harbour salt wind keeper rope stair a of and silence ledger debt tide gull brass oil "
    "storm bell watch she he they turn open hold against under before after nothing promise door"
)
PROMPT_WORDS, REPLY_WORDS = 20, 35
AUDIENCES = (EVERYONE, Audience.of((Slot.RED, Slot.ORANGE)), Audience.of((Slot.RED,)))
REVEALED_AT = 10
SECRETS = (
    Secret(number=1, text=VOCABULARY[:40], known_by=AUDIENCES[2]),
    Secret(number=2, text=VOCABULARY[40:], known_by=AUDIENCES[1]),
)


def sentences(words: int, seed: int) -> str:
    """Return about `words` words of made-up prose; the same seed gives the same text."""
    source = random.Random(seed)
    vocabulary = VOCABULARY.split()
    picked = [source.choice(vocabulary) for _ in range(words)]
    runs = [" ".join(picked[start : start + 11]) for start in range(0, words, 11)]
    return " ".join(run.capitalize() + "." for run in runs)


def session(session_id: SessionId, prompts: int, chunk: int = 7) -> Session:
    """Return a session that was played to `prompts`, with everything full in memory."""
    return Session(
        id=session_id,
        title=f"A chapter of {prompts:,} prompts",
        state=SessionState.ACTIVE,
        prompt_index=prompts,
        boundary=prompts // chunk * chunk,
        slots=first_slots(3),
        names={Slot.RED: "Kara", Slot.ORANGE: "Joss", Slot.YELLOW: "Ines"},
        tab1_locked=True,
        created_at=BEGAN,
        updated_at=BEGAN + timedelta(minutes=prompts),
    )


def tab1() -> Tab1Inputs:
    """Return world, chapter and identities of usual length."""
    return Tab1Inputs(
        world=sentences(300, 1),
        chapter=sentences(200, 2),
        identities={slot: sentences(200, 3 + slot) for slot in first_slots(3)},
    )


def events(session_id: SessionId, first: int, last: int, takes: int = 1) -> tuple[Event, ...]:
    """Return prompts `first` to `last` with one reply in each take: about 300 characters a pair."""
    made: list[Event] = []
    slot = Slot.RED
    for index in range(first, last + 1):
        parts = product(range(1, takes + 1), ((0, PROMPT_WORDS), (1, REPLY_WORDS)))
        for take, (ordinal, words) in parts:
            made.append(
                Event(
                    id=EventId(new_uuid()),
                    session_id=session_id,
                    prompt_index=index,
                    take=take,
                    ordinal=ordinal,
                    role=Role.AGENT if ordinal else Role.USER,
                    slot=slot if ordinal else None,
                    text=sentences(words, index * 2 + ordinal),
                    created_at=BEGAN + timedelta(minutes=index),
                )
            )
        slot = slot_after(slot, first_slots(3))
    return tuple(made)


def lock_block(session_id: SessionId) -> MemoryBlock:
    """Return a lock of usual size."""
    payload: dict[str, object] = {
        "memory_type": "world_chapter_lock",
        "world": {
            "genre": "maritime mystery",
            "tone": sentences(12, 5),
            "themes": [sentences(4, seed) for seed in range(5)],
            "rules_of_reality": [sentences(10, seed) for seed in range(6)],
            "factions_or_powers": [sentences(8, seed) for seed in range(4)],
            "key_lore": [sentences(12, seed) for seed in range(6)],
            "safety_or_boundaries": [],
        },
        "chapter": {
            "premise": sentences(20, 6),
            "location": "Grey Point",
            "time": "dusk",
            "environment": [sentences(6, seed) for seed in range(4)],
            "active_threats": [sentences(6, seed) for seed in range(3)],
            "open_mysteries": [sentences(8, seed) for seed in range(3)],
            "chapter_goals": [sentences(8, seed) for seed in range(3)],
        },
        "agents": [],
        "canon_locks": [sentences(8, seed) for seed in range(5)],
        "assumptions": [],
    }
    return _block(session_id, BlockType.WORLD_CHAPTER_LOCK, 0, 0, payload)


def delta_block(session_id: SessionId, number: int, chunk: int = 7) -> MemoryBlock:
    """Return delta `number`, counted from 0, of usual size; every fifth locks something into canon."""
    payload: dict[str, object] = {
        "memory_type": "turn_delta",
        "range": {"from_marker": "", "to_marker": "", "prompt_count_in_chunk": chunk},
        "location_updates": {"where": sentences(4, number), "notable_environment_changes": []},
        "major_events": [
            {
                "event": sentences(9, number * 7 + seed),
                "cause": sentences(6, number * 11 + seed),
                "effect": sentences(6, number * 13 + seed),
                "participants": ["Kara", "Joss"],
            }
            for seed in range(3)
        ],
        "character_actions": [
            {
                "agent_slot": 1,
                "name": "Kara",
                "did": sentences(7, number * 17 + seed),
                "intent": sentences(5, number * 19 + seed),
                "result": sentences(5, number * 23 + seed),
            }
            for seed in range(3)
        ],
        "state_changes": [],
        "relationship_shifts": [],
        "items_clues_discovered": [],
        "unresolved_threads": [
            {"thread": sentences(8, number * 29), "stakes": sentences(5, number), "next_likely_trigger": ""}
        ],
        "canon_locks": [sentences(8, number * 31)] if number % 5 == 0 else [],
        "contradictions_or_questions": [],
    }
    first = number * chunk + 1
    return _block(session_id, BlockType.TURN_DELTA, first, first + chunk - 1, payload)


def blocks(session_id: SessionId, prompts: int, chunk: int = 7) -> tuple[MemoryBlock, ...]:
    """Return the lock and every full delta of a session with `prompts` prompts."""
    deltas = (delta_block(session_id, number, chunk) for number in range(prompts // chunk))
    return (lock_block(session_id), *deltas)


def whole(prompts: int, takes: int = 1) -> Changes:
    """Return everything of a session with `prompts` prompts, to be stored; the last take of each is canon."""
    session_id = SessionId(new_uuid())
    made = Changes(
        session_id=session_id,
        session=session(session_id, prompts),
        tab1=tab1(),
        events=events(session_id, 1, prompts, takes),
        blocks=blocks(session_id, prompts),
    )
    if takes == 1:
        return made
    changed = replace(session(session_id, prompts), canon_version=prompts * (takes - 1))
    return replace(made, session=changed, takes=dict.fromkeys(range(1, prompts + 1), takes))


def told(prompts: int) -> Changes:
    """Return such a session in which not everyone knows everything.

    Every third prompt is whispered and every third one heard by two, each chunk has three deltas, a line
    stands behind every tenth prompt, and there are two secrets, of which one was revealed.
    """
    made = whole(prompts)
    heard: list[Event] = []
    for event in made.events:
        heard.append(replace(event, audience=AUDIENCES[event.prompt_index % len(AUDIENCES)]))
        if event.ordinal and event.prompt_index % 10 == 0:
            is_reveal = event.prompt_index == REVEALED_AT
            line = replace(event, id=EventId(new_uuid()), ordinal=2, role=Role.SYSTEM, slot=None)
            heard.append(replace(line, metadata={SECRET: 1} if is_reveal else {}, audience=AUDIENCES[1]))
    lock, *deltas = made.blocks
    private = (
        replace(block, id=BlockId(new_uuid()), ordinal=ordinal, audience=audience)
        for block in deltas
        for ordinal, audience in enumerate(AUDIENCES)
    )
    return replace(made, events=tuple(heard), blocks=(lock, *private), secrets=SECRETS)


def _block(
    session_id: SessionId, type_: BlockType, first: int, last: int, payload: dict[str, object]
) -> MemoryBlock:
    return MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=session_id,
        type=type_,
        first=first,
        last=last,
        payload=payload,
        created_at=BEGAN,
    )
