"""Shortens story text to its room, with a visible note of the omission (design 7).

The longest texts are shortened first, all to the same length, and keep their beginning and their end. Only
where each would keep hardly a sentence, the oldest prompts go as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.models.model_config import PromptStyle
from core.context.tokens import characters_for, estimate_tokens
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.transcript import render_event
from core.text.delimiters import escape_delimiters
from core.text.graphemes import head, tail

_LEAST = 60
"""Tokens below which no event is shortened: two or three sentences."""
_PER_EVENT = 2
"""Tokens between two events, at most."""


@dataclass(frozen=True, slots=True)
class FittedEvents:
    """Events that fit, and what was left out of them in words for the GM."""

    events: tuple[Event, ...]
    left_out: tuple[str, ...] = ()


def fit_events(events: Sequence[Event], session: Session, room: int, style: PromptStyle) -> FittedEvents:
    """Return `events`, which are in order, in at most `room` tokens, or as close as a few words come."""
    costs = [_cost(event, session, style) for event in events]
    if not events or sum(costs) <= room:
        return FittedEvents(tuple(events))
    start = _first_kept(events, costs, room)
    level = _level(costs[start:], room)
    kept: list[Event] = []
    for event, cost in zip(events[start:], costs[start:], strict=True):
        if cost > level:
            frame = _cost(replace(event, text=""), session, style)
            event = replace(event, text=shortened(event.text, level - frame, style))
        kept.append(event)
    cut = [
        event.prompt_index for event, cost in zip(events[start:], costs[start:], strict=True) if cost > level
    ]
    left_out = []
    if start:
        gone = PromptRange(max(1, events[0].prompt_index), max(1, events[start - 1].prompt_index))
        left_out.append(f"Prompts {gone} (not yet in memory; no room)")
    if cut:
        left_out.append(f"The middle of long texts in prompts {_listed(cut)} (not yet in memory; no room)")
    return FittedEvents(tuple(kept), tuple(left_out))


def shortened(text: str, tokens: int, style: PromptStyle) -> str:
    """Return beginning and end of `text` in about `tokens`, with a note between them."""
    least = min(8, len(text))
    size = min(len(text), tokens * 4)
    while True:
        size = max(least, min(size, characters_for(tokens, text[:size], style)))
        first = head(text, size * 2 // 3)
        last = tail(text, size - size * 2 // 3)
        made = f"{first}\n[… {len(text) - len(first) - len(last):,} characters left out …]\n{last}"
        if size == least or estimate_tokens(escape_delimiters(made), style) <= tokens:
            return made
        size = size * 9 // 10


def _cost(event: Event, session: Session, style: PromptStyle) -> int:
    return estimate_tokens(escape_delimiters(render_event(event, session)), style) + _PER_EVENT


def _first_kept(events: Sequence[Event], costs: Sequence[int], room: int) -> int:
    """Return where the events begin of which each can keep a little; the newest prompt always stays."""
    starts = [at for at, event in enumerate(events) if event.ordinal == 0 or at == 0]
    for start in starts:
        if sum(min(cost, _LEAST) for cost in costs[start:]) <= room:
            return start
    return starts[-1]


def _level(costs: Sequence[int], room: int) -> int:
    """Return the greatest length that all may have so that together they fit into `room`."""
    rest, left = room, len(costs)
    for cost in sorted(costs):
        if cost * left > rest:
            return max(1, rest // left)
        rest -= cost
        left -= 1
    return max(costs)


def _listed(prompts: Sequence[int]) -> str:
    return ", ".join(f"{index:,}" for index in dict.fromkeys(prompts))
