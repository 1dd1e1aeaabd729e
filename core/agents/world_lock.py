"""Agent 0: world, chapter and cast become the first memory block."""

from core.agents.json_output import read_object, validated
from core.agents.schema import Schema, fixed, one_of, schema_of, tighten
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
    return setup.context(AGENT_ID, segments, schema=output_schema(session, setup.style))


def roster_text(session: Session) -> str:
    """Return number, slots, colours and names of the characters."""
    lines = [f"{slot.value} ({slot.colour}): {name}" for slot, name in session.roster]
    return "\n".join([f"Number of characters: {len(lines)}", *lines])


def roster_json(session: Session) -> list[dict[str, object]]:
    """Return the roster as the memory block holds it."""
    return [{"slot": slot.value, "color": slot.colour, "name": name} for slot, name in session.roster]


def output_schema(session: Session, style: PromptStyle) -> OutputSchema:
    """Return the schema of the lock with type and roster fixed; bounds are tighter for a small model."""
    schema = schema_of(WorldChapterLock)
    schema["properties"]["memory_type"] = fixed(BlockType.WORLD_CHAPTER_LOCK.value)
    schema["properties"]["agents"] = _roster_schema(schema["properties"]["agents"], session, style)
    if style is PromptStyle.SMALL:
        tighten(schema, text=80, items={}, default_items=2)
    return OutputSchema(BlockType.WORLD_CHAPTER_LOCK.value, schema)


def parse(text: str, session: Session) -> dict[str, object]:
    """Return the payload of the lock; raise InvalidMemoryError when it cannot be stored."""
    value = read_object(text)
    value |= {"memory_type": BlockType.WORLD_CHAPTER_LOCK.value, "agents": roster_json(session)}
    return validated(WorldChapterLock, value).model_dump()


def _roster_schema(schema: Schema, session: Session, style: PromptStyle) -> Schema:
    roster = roster_json(session)
    if style is PromptStyle.SMALL:
        return {"type": "array", "const": roster, "minItems": len(roster), "maxItems": len(roster)}
    schema["items"]["properties"] = {
        "slot": one_of(*(slot.value for slot, _ in session.roster)),
        "color": one_of(*(slot.colour for slot, _ in session.roster)),
        "name": one_of(*(name for _, name in session.roster)),
    }
    return {**schema, "minItems": len(roster), "maxItems": len(roster)}
