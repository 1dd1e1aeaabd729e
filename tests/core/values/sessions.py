"""Sessions, events, blocks and texts for the tests of the pure core."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import strategies as st

from core.agents.context_builder import ContextBuilder
from core.agents.narrative import NarrativePart
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context
from core.context.visibility import CharacterKnowledge, Knowledge, Story, known_to
from core.domain.agent_role import AgentRole
from core.domain.ids import BlockId, EventId, SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.retry_policy import Backoffs
from core.domain.session.cast import Cast
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot, first_slots
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.transcript import render_events
from core.engine.engine_settings import PlaySettings
from core.engine.services.speaking.afterthoughts import IdleClock

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SESSION_ID = SessionId(UUID(int=1))


def session(
    *, prompts: int = 0, boundary: int = 0, names: Mapping[Slot, str] | None = None, characters: int = 3
) -> Session:
    return Session(
        id=SESSION_ID,
        prompt_index=prompts,
        boundary=boundary,
        names=names or {},
        slots=first_slots(characters),
        created_at=NOW,
        updated_at=NOW,
    )


def event(prompt_index: int, text: str, slot: Slot | None = None, ordinal: int | None = None) -> Event:
    """The GM's text, or with a slot a reply."""
    number = (1 if slot else 0) if ordinal is None else ordinal
    return Event(
        id=EventId(UUID(int=prompt_index * 1_000 + number)),
        session_id=SESSION_ID,
        prompt_index=prompt_index,
        ordinal=number,
        role=Role.AGENT if slot else Role.USER,
        slot=slot,
        text=text,
        created_at=NOW,
    )


def play(first: int, last: int, words: int = 40) -> list[Event]:
    """Prompts `first` to `last`, each with a reply; every text is its own."""
    events = []
    for prompt in range(first, last + 1):
        slot = Slot((prompt - 1) % 3 + 1)
        events.append(event(prompt, " ".join(f"gm{prompt}w{n}" for n in range(words))))
        events.append(event(prompt, " ".join(f"reply{prompt}w{n}" for n in range(words)), slot))
    return events


def lock_block(canon: Sequence[str] = ("Iron burns the fae.",)) -> MemoryBlock:
    payload = {**lock_payload(), "canon_locks": list(canon)}
    return _block(0, BlockType.WORLD_CHAPTER_LOCK, 0, 0, payload)


def delta_block(number: int, canon: Sequence[str] = (), words: int = 60) -> MemoryBlock:
    """The delta of chunk `number`, counted from 1."""
    payload = delta_payload()
    happened = " ".join(f"event{number}w{n}" for n in range(words))
    payload["major_events"] = [{"event": happened, "cause": "", "effect": "", "participants": ["Mara"]}]
    payload["canon_locks"] = list(canon)
    return _block(number, BlockType.TURN_DELTA, number * 7 - 6, number * 7, payload)


def memory(deltas: int, words: int = 60) -> tuple[MemoryBlock, ...]:
    """The lock, then deltas of which every third brings a canon lock."""
    return (
        lock_block(),
        *(
            delta_block(n, [f"Canon of chunk {n}."] if n % 3 == 0 else [], words)
            for n in range(1, deltas + 1)
        ),
    )


def _block(number: int, kind: BlockType, first: int, last: int, payload: Mapping[str, object]) -> MemoryBlock:
    return MemoryBlock(
        id=BlockId(UUID(int=7_000_000 + number)),
        session_id=SESSION_ID,
        type=kind,
        first=first,
        last=last,
        payload=payload,
        created_at=NOW,
    )


def lock_payload() -> dict[str, object]:
    return {
        "memory_type": "world_chapter_lock",
        "world": {
            "genre": "low fantasy",
            "tone": "wry",
            "themes": ["oaths"],
            "rules_of_reality": ["Iron burns the fae."],
            "factions_or_powers": [],
            "key_lore": [],
            "safety_or_boundaries": ["No torture."],
        },
        "chapter": {
            "premise": "A toll-keeper is missing.",
            "location": "ferry inn",
            "time": "longest night",
            "environment": ["frozen river"],
            "active_threats": [],
            "open_mysteries": [],
            "chapter_goals": ["cross before dawn"],
        },
        "agents": [
            {"slot": 1, "color": "red", "name": "Agent Red"},
            {"slot": 2, "color": "orange", "name": "Agent Orange"},
            {"slot": 3, "color": "yellow", "name": "Agent Yellow"},
        ],
        "canon_locks": ["Iron burns the fae."],
        "assumptions": [],
    }


def delta_payload() -> dict[str, object]:
    return {
        "memory_type": "turn_delta",
        "range": {"from_marker": "1)", "to_marker": "7)", "prompt_count_in_chunk": 7},
        "location_updates": {"where": "cellar", "notable_environment_changes": []},
        "major_events": [],
        "character_actions": [
            {
                "agent_slot": 1,
                "name": "Agent Red",
                "did": "went down",
                "intent": "search",
                "result": "unknown",
            }
        ],
        "state_changes": [],
        "relationship_shifts": [],
        "items_clues_discovered": [],
        "unresolved_threads": [],
        "canon_locks": [],
        "contradictions_or_questions": [],
    }


def choice(budget: int = 48_000, style: PromptStyle = PromptStyle.FULL, output: int = 4_000) -> ModelConfig:
    return ModelConfig(
        model="a-model",
        context_window=budget + output,
        max_input_tokens=budget,
        max_output_tokens=output,
        timeout=60,
        style=style,
    )


def choices(budget: int = 48_000, style: PromptStyle = PromptStyle.FULL) -> ModelAssignments:
    """Recent context is `stable`, so that the texts of inputs show what both settings have."""
    return ModelAssignments({role: choice(budget, style) for role in AgentRole}, recent_context="stable")


TAB1 = Tab1Inputs(
    world="Low fantasy in the river kingdom of Brell. Iron burns the fae.",
    chapter="The ferry inn on the longest night. A toll-keeper is missing.",
    identities={Slot.RED: "A ferrywoman of fifty, blunt and superstitious.", Slot.ORANGE: "A young lawyer."},
)

_SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"

GRAPHEMES = (
    *("a", " ", "\n", "é", "e\u0301", "o\u0308\u0323", "語", "ي", "ह\u093f", "क\u094dष"),
    *("한", "\u1112\u1161\u11ab", "👍🏽", "🇩🇪", "👩\u200d👩\u200d👧\u200d👦", "❤\ufe0f", _SCOTLAND),
)
"""What a reader sees as one character each."""

any_text = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(GRAPHEMES), max_size=40).map("".join),
    st.lists(st.sampled_from(["a", "\n", "\n\n", " ", "\t", "=", "===", "b"]), max_size=30).map("".join),
)


def known(
    mine: Session,
    blocks: Sequence[MemoryBlock],
    recent: Sequence[Event],
    *,
    slot: Slot = Slot.RED,
    tab1: Tab1Inputs = TAB1,
) -> CharacterKnowledge:
    """Return the knowledge of a character of the session."""
    return known_to(Cast(mine, tab1)[slot], Story(mine, blocks, recent))


def waiting(
    seconds: float, *, background: float = 2.0, tries: int = 5, idle_clock: IdleClock | None = None
) -> PlaySettings:
    """Waits before automatic retries: of a summary, and of work beside the play with so many tries."""
    backoffs = Backoffs.of(
        summary_first=seconds, summary_tries=20, background_first=background, background_tries=tries
    )
    return PlaySettings(backoffs, idle_clock=idle_clock or IdleClock())


def narrative_of(
    builder: ContextBuilder, knowledge: Knowledge, definition: str, target_words: int | None = None
) -> Context:
    """Return the input of agent 9 for the chapter in one call, whatever the plan would be."""
    events, session = knowledge.events, knowledge.session
    text = render_events(events, session)
    part = NarrativePart(1, 1, PromptRange(1, max(1, session.prompt_index)), text, target_words)
    return builder.narrative_part(knowledge, part, definition)
