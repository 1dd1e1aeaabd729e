"""Agent 0: world, chapter and cast become the first memory block."""

from collections.abc import Mapping

from core.agents.extract import EMPTY_LIST, clauses, pick, pick_any, picks, stretches
from core.agents.json_output import ParsedMemory, checked, overridden, read_object
from core.agents.schema import Schema, fixed, one_of, record, schema_of
from core.agents.setup import AgentSetup
from core.fence import SegmentName
from core.memory import BlockType, WorldChapterLock
from core.model_choice import PromptStyle
from core.providers.base import OutputSchema
from core.segment import Context
from core.session import Session, Tab1Inputs

AGENT_ID = 0


def build_context(setup: AgentSetup, session: Session, tab1: Tab1Inputs) -> Context:
    """Return the input of agent 0: system prompt, world, chapter, roster."""
    segments = (
        setup.fenced(SegmentName.WORLD_TEXT, tab1.world),
        setup.fenced(SegmentName.CHAPTER_TEXT, tab1.chapter),
        setup.fenced(SegmentName.AGENT_ROSTER, roster_text(session)),
    )
    return setup.context(AGENT_ID, segments, schema=output_schema(session, tab1, setup.style))


def roster_text(session: Session) -> str:
    """Return number, slots, colours and names of the characters."""
    lines = [f"{slot.value} ({slot.colour}): {name}" for slot, name in session.roster]
    return "\n".join([f"Number of characters: {len(lines)}", *lines])


def roster_json(session: Session) -> list[dict[str, object]]:
    """Return the roster as the memory block holds it."""
    return [{"slot": slot.value, "color": slot.colour, "name": name} for slot, name in session.roster]


def output_schema(session: Session, tab1: Tab1Inputs, style: PromptStyle) -> OutputSchema:
    """Return the schema of the lock with type and roster fixed; a small model picks from the texts."""
    if style is PromptStyle.SMALL:
        return OutputSchema(BlockType.WORLD_CHAPTER_LOCK.value, _small_schema(session, tab1))
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
    answer = read_object(text)
    truth = {
        "memory_type": BlockType.WORLD_CHAPTER_LOCK.value,
        "agents": _with_roster(answer.value.get("agents"), session),
    }
    return checked(WorldChapterLock, overridden(answer.value, truth), answer, style)


def _with_roster(agents: object, session: Session) -> list[dict[str, object]]:
    """Return the roster, each entry with what the model wrote of that slot besides."""
    entries = agents if isinstance(agents, list) else []
    written = [entry for entry in entries if isinstance(entry, Mapping)]
    return [
        overridden(next((entry for entry in written if entry.get("slot") == truth["slot"]), {}), truth)
        for truth in roster_json(session)
    ]


def _small_schema(session: Session, tab1: Tab1Inputs) -> Schema:
    of_chapter = clauses(tab1.chapter)
    of_world = clauses(tab1.world) or of_chapter
    of_chapter = of_chapter or of_world
    opening = stretches(of_chapter, 2)[0] if of_chapter else ()
    world = record(
        genre=pick(stretches(of_world, 3)[0] if of_world else ()),
        tone=pick(of_world),
        themes=EMPTY_LIST,
        rules_of_reality=picks(of_world, 1),
        factions_or_powers=EMPTY_LIST,
        key_lore=picks(of_world, 3),
        safety_or_boundaries=pick_any(of_world, 1),
    )
    chapter = record(
        premise=pick(opening),
        location=pick(opening),
        time=pick(of_chapter, optional=True),
        environment=picks(of_chapter, 2),
        active_threats=pick_any(of_chapter, 1),
        open_mysteries=pick_any(of_chapter, 1),
        chapter_goals=pick_any(of_chapter, 1),
    )
    return record(
        memory_type=fixed(BlockType.WORLD_CHAPTER_LOCK.value),
        world=world,
        chapter=chapter,
        agents={"type": "array", "const": roster_json(session)},
        canon_locks=picks(of_world, 2),
        assumptions=EMPTY_LIST,
    )
