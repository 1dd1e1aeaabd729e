"""Agent 8: a chunk of prompts becomes a turn delta."""

from collections.abc import Iterable, Mapping, Sequence

from core.agents.answers.json_output import ParsedMemory, checked, overridden, read_object
from core.agents.answers.schema import Schema, fixed, one_of, record, schema_of
from core.agents.answers.small_delta import small_delta_schema
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import FittedEvents, fit_events
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context
from core.context.visibility import Knowledge
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.memory import BlockType, TurnDelta
from core.domain.story.transcript import in_order, render_events
from core.providers.base import OutputSchema
from core.text.delimiters import SegmentName
from core.text.name_list import name_key
from core.text.numbers import read_count

OUTSIDER = 0
"""The slot of an action of someone outside the cast."""
_LONGEST_SLOT = 20


def summary_context(setup: AgentSetup, knowledge: Knowledge, chunk: PromptRange) -> Context:
    """Return the input of agent 8: system prompt, memory so far, the chunk.

    Of the events those of `chunk` are taken. Over budget first the oldest deltas shrink to their canon locks,
    then the longest texts of the chunk are shortened; `fitting_chunk` avoids the latter where it can.
    """
    name = SegmentName.RECENT_CONTEXT_CHUNK
    session, events = knowledge.session, events_of(chunk, knowledge.events)
    source = setup.fenced(name, render_events(events, session))
    digest = setup.digester.digest(knowledge.blocks, setup.memory_budget(fixed_tokens(setup), source.tokens))
    memory = setup.memory(SegmentName.STRUCTURED_MEMORY_SO_FAR, digest)
    room = setup.budget - total((*setup.beginning, memory))
    short = FittedEvents(events)
    if source.tokens > room:
        short = fit_events(events, session, room - setup.fenced(name, "").tokens, setup.style)
        source = setup.fenced(name, render_events(short.events, session)).shortened(source.tokens)
    return setup.context(
        (memory, source),
        schema=output_schema(session, chunk, short.events, setup.choice),
        left_out=(*digest.left_out, *short.left_out),
        is_shortened=bool(short.left_out),
    )


def fitting_chunk(setup: AgentSetup, knowledge: Knowledge, chunk: PromptRange) -> PromptRange:
    """Return as many prompts from the beginning of `chunk` as fit whole, and at least the first."""
    room = setup.budget - fixed_tokens(setup) - setup.digester.digest(knowledge.blocks, 0).tokens
    for last in range(chunk.last, chunk.first, -1):
        part = PromptRange(chunk.first, last)
        text = chunk_text(knowledge.session, part, knowledge.events)
        if setup.fenced(SegmentName.RECENT_CONTEXT_CHUNK, text).tokens <= room:
            return part
    return PromptRange(chunk.first, chunk.first)


def events_of(chunk: PromptRange, events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events that are summarised with the prompts of `chunk`, in order."""
    sent = (event for event in events if not event.is_never_sent)
    return tuple(in_order(event for event in sent if event.summarised_with in chunk))


def chunk_text(session: Session, chunk: PromptRange, events: Iterable[Event]) -> str:
    """Return the transcript of `chunk`: the source of its summary."""
    return render_events(events_of(chunk, events), session)


def fixed_tokens(setup: AgentSetup) -> int:
    """Return the tokens that every input of agent 8 shares."""
    return total((*setup.beginning, setup.fenced(SegmentName.STRUCTURED_MEMORY_SO_FAR, "")))


def output_schema(
    session: Session, chunk: PromptRange, events: Sequence[Event], choice: ModelConfig
) -> OutputSchema:
    """Return the schema of the delta with type, range and cast fixed; a small model picks from the chunk."""
    if choice.style is PromptStyle.SMALL:
        played = events_of(chunk, events)
        schema = small_delta_schema(session, _range_schema(chunk), played, choice.max_output_tokens)
        return OutputSchema(BlockType.TURN_DELTA.value, schema)
    schema = schema_of(TurnDelta)
    properties = schema["properties"]
    properties["memory_type"] = fixed(BlockType.TURN_DELTA.value)
    properties["range"] = _range_schema(chunk)
    actor = properties["character_actions"]["items"]["properties"]
    actor["agent_slot"] = one_of(OUTSIDER, *(slot.value for slot, _ in session.roster))
    return OutputSchema(BlockType.TURN_DELTA.value, schema)


def range_json(chunk: PromptRange) -> dict[str, str | int]:
    """Return the range as the memory block holds it; a marker is a number as the transcript shows it."""
    return {
        "from_marker": f"{chunk.first})",
        "to_marker": f"{chunk.last})",
        "prompt_count_in_chunk": len(chunk),
    }


def parse(
    text: str, session: Session, chunk: PromptRange, source_length: int, style: PromptStyle
) -> ParsedMemory:
    """Return the memory of the delta; raise InvalidMemoryError when it cannot be stored.

    `source_length` is the length of the chunk's transcript in characters.
    """
    answer = read_object(text, TurnDelta.model_fields)
    truth: dict[str, object] = {
        "memory_type": BlockType.TURN_DELTA.value,
        "range": overridden(answer.value.get("range"), range_json(chunk)),
    }
    if "character_actions" in answer.value:
        truth["character_actions"] = _with_cast(answer.value["character_actions"], session)
    return checked(TurnDelta, overridden(answer.value, truth), answer, style, source_length)


def empty_delta(chunk: PromptRange) -> dict[str, object]:
    """Return the delta of a chunk of which no model is sent anything: no call is made for it."""
    delta: dict[str, object] = {name: [] for name in TurnDelta.model_fields}
    delta |= {"memory_type": BlockType.TURN_DELTA.value, "range": range_json(chunk)}
    delta["location_updates"] = {"where": "", "notable_environment_changes": []}
    return TurnDelta.model_validate(delta).model_dump()


def _range_schema(chunk: PromptRange) -> Schema:
    return record(**{key: fixed(value) for key, value in range_json(chunk).items()})


def _with_cast(actions: object, session: Session) -> object:
    """Give each action the name that belongs to its slot, or the slot that belongs to its name.

    Where neither is of the cast, the action is that of an outsider, and the name stays. An action whose slot
    is absurd stays as it is, and does not validate.
    """
    if not isinstance(actions, list):
        return actions
    names = {slot.value: name for slot, name in session.roster}
    slots = {name_key(name): slot.value for slot, name in reversed(session.roster)}
    placed: list[object] = []
    for action in actions:
        if not isinstance(action, Mapping):
            placed.append(action)
            continue
        number, name = _number(action.get("agent_slot")), action.get("name")
        known = slots.get(name_key(name)) if isinstance(name, str) else None
        if known is not None and name_key(names.get(number or 0, "")) != name_key(str(name)):
            number = known
        if number is not None:
            number = number if number in names else OUTSIDER
            action = overridden(action, {"agent_slot": number, "name": names.get(number, name)})
        placed.append(action)
    return placed


def _number(slot: object) -> int | None:
    """Return the slot that a model wrote, `OUTSIDER` for a word or nothing; None when it is absurd."""
    if slot is None or (isinstance(slot, str) and len(slot) <= _LONGEST_SLOT):
        number = read_count(slot) if slot else None
        return OUTSIDER if number is None else number
    if isinstance(slot, bool) or not isinstance(slot, int):
        return None
    return slot if 0 <= slot < 10**_LONGEST_SLOT else None
