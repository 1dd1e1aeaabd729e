"""Agent 0: world, chapter and cast become the first memory block."""

from collections.abc import Mapping, Sequence

from core.agents.answers.extract import EMPTY_LIST, clauses, fitted, pick, pick_any, picks, stretches
from core.agents.answers.json_output import ParsedMemory, checked, overridden, read_object
from core.agents.answers.schema import Schema, fixed, one_of, record, schema_of
from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context, Segment
from core.domain.session.session import Session, Tab1Inputs
from core.domain.story.memory import BlockType, WorldChapterLock
from core.providers.base import OutputSchema
from core.text.delimiters import SegmentName

_LORE, _CANON, _ENVIRONMENT = 3, 2, 2


def lock_context(setup: AgentSetup, session: Session, tab1: Tab1Inputs) -> Context:
    """Return the input of agent 0: system prompt, world, chapter, roster."""
    schema = output_schema(session, tab1, setup.choice)
    return setup.context(_material(setup, session, tab1), schema=schema)


def tokens_beside_beginning(setup: AgentSetup, session: Session, tab1: Tab1Inputs) -> int:
    """Return the tokens of world, chapter and roster."""
    return total(_material(setup, session, tab1))


def _material(setup: AgentSetup, session: Session, tab1: Tab1Inputs) -> tuple[Segment, ...]:
    return (
        setup.fenced(SegmentName.WORLD_TEXT, tab1.world),
        setup.fenced(SegmentName.CHAPTER_TEXT, tab1.chapter),
        setup.fenced(SegmentName.AGENT_ROSTER, roster_text(session)),
    )


def roster_text(session: Session) -> str:
    """Return number, slots, colours and names of the characters."""
    lines = [f"{slot.value} ({slot.colour}): {name}" for slot, name in session.roster]
    return "\n".join([f"Number of characters: {len(lines)}", *lines])


def roster_json(session: Session) -> list[dict[str, object]]:
    """Return the roster as the memory block holds it."""
    return [{"slot": slot.value, "color": slot.colour, "name": name} for slot, name in session.roster]


def output_schema(session: Session, tab1: Tab1Inputs, choice: ModelConfig) -> OutputSchema:
    """Return the schema of the lock with type and roster fixed; a small model picks from the texts."""
    if choice.style is PromptStyle.SMALL:
        schema = _small_schema(session, tab1, choice.max_output_tokens)
        return OutputSchema(BlockType.WORLD_CHAPTER_LOCK.value, schema)
    schema = schema_of(WorldChapterLock)
    properties = schema["properties"]
    properties["memory_type"] = fixed(BlockType.WORLD_CHAPTER_LOCK.value)
    count = len(session.roster)
    properties["agents"] |= {"minItems": count, "maxItems": count}
    properties["agents"]["items"]["properties"] = {
        "slot": one_of(*(slot.value for slot, _ in session.roster)),
        "color": one_of(*(slot.colour for slot, _ in session.roster)),
        "name": one_of(*(name for _, name in session.roster)),
    }
    return OutputSchema(BlockType.WORLD_CHAPTER_LOCK.value, schema)


def parse(text: str, session: Session, style: PromptStyle) -> ParsedMemory:
    """Return the memory of the lock; raise InvalidMemoryError when it cannot be stored."""
    answer = read_object(text, WorldChapterLock.model_fields)
    truth = {
        "memory_type": BlockType.WORLD_CHAPTER_LOCK.value,
        "agents": _with_roster(answer.value.get("agents"), session),
    }
    return checked(WorldChapterLock, overridden(answer.value, truth), answer, style)


def _with_roster(agents: object, session: Session) -> list[dict[str, object]]:
    """Return the roster, each entry with the other fields that the model wrote for that slot."""
    entries = agents if isinstance(agents, list) else []
    written = [entry for entry in entries if isinstance(entry, Mapping)]
    return [
        overridden(next((entry for entry in written if entry.get("slot") == truth["slot"]), {}), truth)
        for truth in roster_json(session)
    ]


def _small_schema(session: Session, tab1: Tab1Inputs, tokens: int) -> Schema:
    """Return the schema of a lock whose longest answer fits in `tokens`.

    What does not fit is left out, first the roster: `parse` adds it in any case.
    """
    of_chapter = clauses(tab1.chapter)
    of_world = clauses(tab1.world) or of_chapter
    of_chapter = of_chapter or of_world

    def build(most: int) -> Schema:
        return record(
            memory_type=fixed(BlockType.WORLD_CHAPTER_LOCK.value),
            world=_small_world(of_world, most),
            chapter=_small_chapter(of_chapter, most),
            agents={"type": "array", "const": roster_json(session) if most == _LORE else []},
            canon_locks=picks(of_world, min(_CANON, most)),
            assumptions=EMPTY_LIST,
        )

    return fitted(build, _LORE, tokens)


def _small_world(of_world: Sequence[str], most: int) -> Schema:
    return record(
        genre=pick(stretches(of_world, 3)[0] if of_world else ()),
        tone=pick(of_world),
        themes=EMPTY_LIST,
        rules_of_reality=picks(of_world, min(1, most)),
        factions_or_powers=EMPTY_LIST,
        key_lore=picks(of_world, min(_LORE, most)),
        safety_or_boundaries=pick_any(of_world, min(1, most)),
    )


def _small_chapter(of_chapter: Sequence[str], most: int) -> Schema:
    opening = stretches(of_chapter, 2)[0] if of_chapter else ()
    single = min(1, most)
    return record(
        premise=pick(opening),
        location=pick(opening),
        time=pick(of_chapter, optional=True),
        environment=picks(of_chapter, min(_ENVIRONMENT, most)),
        active_threats=pick_any(of_chapter, single),
        open_mysteries=pick_any(of_chapter, single),
        chapter_goals=pick_any(of_chapter, single),
    )
