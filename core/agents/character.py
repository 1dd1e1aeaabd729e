"""Agents 1 to 7: a character answers the GM's prompt."""

import re
from collections.abc import Iterator, Sequence

from core.agents.setup import AgentSetup, total
from core.errors import ErrorCode, StoryEngineError
from core.event import Event
from core.fence import SegmentName
from core.memory import MemoryBlock
from core.prompt_range import PromptRange
from core.segment import Context, Segment
from core.session import Session, Tab1Inputs
from core.slot import Slot
from core.text import clean, is_blank
from core.transcript import in_order, render_events

_MARK_LINE = re.compile(r"^[ \t]*=== (?:END )?[A-Z_]{4,}", re.MULTILINE)


def build_context(
    setup: AgentSetup,
    session: Session,
    tab1: Tab1Inputs,
    blocks: Sequence[MemoryBlock],
    recent: Sequence[Event],
    slot: Slot,
    prompt_text: str,
) -> Context:
    """Return the input of one character: system prompt, identity, memory, recent context, GM's prompt.

    When it is over budget, first the oldest turn deltas shrink to their canon locks, then the oldest
    prompts of `recent` go that are in memory already; nothing else ever does.
    """
    identity = setup.fenced(SegmentName.AGENT_IDENTITY, identity_text(session, tab1, slot))
    prompt = setup.fenced(SegmentName.USER_PROMPT, prompt_text)
    cue = setup.cue(session.name_of(slot))
    empty = setup.fenced(SegmentName.STRUCTURED_MEMORY, "")
    events = in_order(recent)
    whole = setup.fenced(SegmentName.RECENT_CONTEXT, render_events(events, session))
    fixed = total((*setup.beginning, identity, empty, *cue))
    digest = setup.digester.digest(blocks, setup.memory_budget(fixed, whole.tokens + prompt.tokens))
    memory = setup.fenced(SegmentName.STRUCTURED_MEMORY, digest.text)
    room = setup.budget - total((*setup.beginning, identity, memory, prompt, *cue))
    context, dropped = _recent_within(setup, session, events, whole, room)
    left_out = (*digest.left_out, *_dropped_in_words(dropped))
    return setup.context(slot.value, (identity, memory, context, prompt, *cue), left_out=left_out)


def identity_text(session: Session, tab1: Tab1Inputs, slot: Slot) -> str:
    """Return who the character is: name and colour, then the GM's text."""
    text = tab1.identities.get(slot, "")
    return f"Name: {session.name_of(slot)}\nSlot: {slot.value} ({slot.colour})\n\n{text}".rstrip()


def clean_reply(text: str, name: str) -> str:
    """Return a reply as it is stored: cleaned, without the character's own name in front.

    Weak models go on with section marks of their own; what begins with one is not part of the reply.

    Raise StoryEngineError (`LLM_ERROR`) when nothing is left.
    """
    echo = re.compile(rf"\s*[*_]*{re.escape(name)}[*_]*\s*:[*_]*\s*", re.IGNORECASE)
    reply = _MARK_LINE.split(clean(text), maxsplit=1)[0].strip()
    match = echo.match(reply)
    if match is not None:
        reply = reply[match.end() :].strip()
    if is_blank(reply):
        raise StoryEngineError(
            ErrorCode.LLM_ERROR, "The model returned an empty reply; nothing is lost, retry."
        )
    return reply


def _recent_within(
    setup: AgentSetup, session: Session, events: Sequence[Event], whole: Segment, room: int
) -> tuple[Segment, PromptRange | None]:
    """Return recent context that fits into `room`, and the prompts that it had to leave out."""
    segment, dropped = whole, None
    for last in _drop_steps(events, session.boundary):
        if segment.tokens <= room:
            break
        dropped = PromptRange(events[0].prompt_index, last)
        kept = (event for event in events if event.prompt_index > last)
        segment = setup.fenced(SegmentName.RECENT_CONTEXT, render_events(kept, session))
    return segment, dropped


def _drop_steps(events: Sequence[Event], boundary: int) -> Iterator[int]:
    """Yield up to which prompt to leave out: half of those in memory, then all of them.

    In two steps, so that the inputs of one chunk seldom differ in where recent context begins.
    """
    summarised = sorted({event.prompt_index for event in events if event.prompt_index <= boundary})
    if len(summarised) > 1:
        yield summarised[(len(summarised) - 1) // 2]
    if summarised:
        yield summarised[-1]


def _dropped_in_words(dropped: PromptRange | None) -> tuple[str, ...]:
    if dropped is None:
        return ()
    return (f"Recent context of prompts {dropped} (they are in memory)",)
