"""The recent context of a character's input, made to fit (design 7 and 16).

Prompts that are in memory go first; lines that the GM has marked as always sent stay for as long as the
prompts that are not in memory leave room for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from core.agents.role.setup import AgentSetup
from core.agents.role.shortening import FittedEvents, fit_events
from core.context.segments import Segment
from core.context.tokens import estimate_tokens
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.transcript import in_order, render_event, render_events
from core.text.delimiters import SegmentName, escape_delimiters

_KEPT_SHARE: Final = 4
"""Divisor of an input for the lines that are always sent and already in memory: a quarter of it."""
_PER_EVENT: Final = 2
"""Tokens between two events, at most."""


@dataclass(frozen=True)
class RecentContext:
    """Recent context before it is reduced: `events` in order, and `kept`, always sent and in memory already.

    `oversize` are the prompts up to one that would crowd everything else out, and `crowded` the lines that
    are always sent and have no room.
    """

    setup: AgentSetup
    session: Session
    events: tuple[Event, ...]
    kept: tuple[Event, ...]
    oversize: PromptRange | None
    crowded: tuple[Event, ...]

    @classmethod
    def of(cls, setup: AgentSetup, session: Session, known: Sequence[Event]) -> "RecentContext":
        """Return the recent context of a character that knows these events."""
        ordered = in_order(known)
        always: list[Event] = []
        others: list[Event] = []
        for event in ordered:
            is_kept = event.is_always_sent and event.summarised_with <= session.boundary
            (always if is_kept else others).append(event)
        kept, crowded = _kept_within(always, session, setup)
        events, oversize = _without_oversize(others, session.boundary, setup)
        return cls(setup, session, tuple(events), kept, oversize, crowded)

    @cached_property
    def whole(self) -> Segment:
        """The section with all of it."""
        return self._section(self.sent())

    def within(self, room: int) -> tuple[Segment, PromptRange | None]:
        """Return the section in `room` tokens, if that can be, and the prompts that it had to leave out."""
        segment, dropped = self.whole, None
        for last in self._drop_steps():
            if segment.tokens <= room:
                break
            dropped = PromptRange(self.events[0].summarised_with, last)
            segment = self._section(self.sent(last))
        return segment, dropped

    def sent(self, dropped: int | None = None) -> tuple[Event, ...]:
        """Return the events of the section, without those up to prompt `dropped` that are not always sent."""
        rest = (event for event in self.events if dropped is None or event.summarised_with > dropped)
        return (*self.kept, *rest)

    def shortened(self, room: int) -> tuple[Segment, FittedEvents]:
        """Return the section of the prompts that are not in memory, shortened to `room`."""
        unsummarised = [event for event in self.events if event.summarised_with > self.session.boundary]
        short = fit_events(unsummarised, self.session, room - self._section(()).tokens, self.setup.style)
        return self._section(short.events).shortened(self._section(unsummarised).tokens), short

    def left_out(self, dropped: PromptRange | None, short: FittedEvents) -> tuple[str, ...]:
        """Return in words what the section had to leave out."""
        dropped = dropped or self.oversize
        parts: list[str] = []
        if dropped is not None:
            prompts = PromptRange((self.oversize or dropped).first, dropped.last)
            parts.append(f"Recent context of prompts {prompts} (they are in memory)")
        if gone := (*self.crowded, *(self.kept if short.left_out else ())):
            parts.append(_kept_in_words(gone))
        return (*parts, *short.left_out)

    def _section(self, events: Sequence[Event]) -> Segment:
        return self.setup.fenced(SegmentName.RECENT_CONTEXT, render_events(events, self.session))

    def _drop_steps(self) -> Iterator[int]:
        """Yield up to which prompt to leave out: half of those in memory, then all of them.

        In two steps, so that the inputs of one chunk seldom differ in where recent context begins.
        """
        boundary = self.session.boundary
        summarised = sorted(
            {event.summarised_with for event in self.events if event.summarised_with <= boundary}
        )
        if len(summarised) > 1:
            yield summarised[(len(summarised) - 1) // 2]
        if summarised:
            yield summarised[-1]


def _kept_within(
    always: Sequence[Event], session: Session, setup: AgentSetup
) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Return the newest of the lines that are always sent which have room, and the others, in order."""
    room = setup.budget // _KEPT_SHARE
    kept: list[Event] = []
    for event in reversed(always):
        room -= estimate_tokens(escape_delimiters(render_event(event, session)), setup.style) + _PER_EVENT
        if room < 0:
            break
        kept.append(event)
    first = len(always) - len(kept)
    return tuple(always[first:]), tuple(always[:first])


def _without_oversize(
    events: list[Event], boundary: int, setup: AgentSetup
) -> tuple[list[Event], PromptRange | None]:
    """Leave out the prompts in memory up to one with a text that would crowd everything else out."""
    oversize = [
        event.summarised_with
        for event in events
        if event.summarised_with <= boundary and estimate_tokens(event.text, setup.style) > setup.budget // 4
    ]
    if not oversize:
        return events, None
    dropped = PromptRange(events[0].summarised_with, oversize[-1])
    return [event for event in events if event.summarised_with > dropped.last], dropped


def _kept_in_words(gone: Sequence[Event]) -> str:
    prompts = ", ".join(f"{index:,}" for index in dict.fromkeys(event.prompt_index for event in gone))
    return f"Lines that are always sent, of prompts {prompts} (no room; they are in memory)"
