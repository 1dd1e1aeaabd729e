"""Whether models are sent an event, as the GM says after it was played, and where a scene begins (design 16).

Events never change, so what the GM says of one is kept beside it, by its place in the log. Of another take of
a prompt the same is said where its words are the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from core.domain.ids import LogPlace
from core.domain.story.event import CONTEXT, Event

MOST_STATUSES: Final = 1_000
"""Maximum number of events in a chapter with a status set by the GM; further takes of these may add some."""


class ContextStatus(StrEnum):
    """Whether models are sent an event."""

    DEFAULT = "default"
    """While it is recent, to those who witnessed it; later what memory says of it."""
    ALWAYS = "always"
    """Also when it is no longer recent."""
    NEVER = "never"
    """Not at all; no summary is made of it either."""


@dataclass(frozen=True, slots=True)
class EventStatus:
    """The status of one event."""

    prompt_index: int
    take: int
    ordinal: int
    status: ContextStatus

    @property
    def place(self) -> LogPlace:
        """The place of the event in the log."""
        return self.prompt_index, self.take, self.ordinal


Statuses = tuple[EventStatus, ...]
"""Of one chapter, by their places."""


def status_of(event: Event, statuses: Statuses) -> ContextStatus:
    """Return the status of an event: what the GM said last, else what it was stored with."""
    place = event.log_place
    said = next((one.status for one in statuses if one.place == place), None)
    if said is not None:
        return said
    return ContextStatus.NEVER if event.is_never_sent else ContextStatus.DEFAULT


def with_statuses(statuses: Statuses, said: Statuses) -> Statuses:
    """Return the statuses of a chapter after the GM has `said` these."""
    if not said:
        return statuses
    by_place = {one.place: one for one in (*statuses, *said)}
    return tuple(by_place[place] for place in sorted(by_place))


def marked(events: Sequence[Event], statuses: Statuses) -> tuple[Event, ...]:
    """Return `events` with the GM's statuses in their metadata, where the context builder reads them."""
    if not statuses:
        return tuple(events)
    said = {one.place: one.status for one in statuses}
    return tuple(
        replace(event, metadata={**event.metadata, CONTEXT: said[place].value})
        if (place := event.log_place) in said
        else event
        for event in events
    )


def always_of(statuses: Statuses) -> frozenset[LogPlace]:
    """Return the places of the events that are always sent."""
    return frozenset(one.place for one in statuses if one.status is ContextStatus.ALWAYS)


def never_of(statuses: Statuses) -> frozenset[LogPlace]:
    """Return the places of the events that are never sent, as far as the GM said so."""
    return frozenset(one.place for one in statuses if one.status is ContextStatus.NEVER)


def of_canon(statuses: Statuses, canon: Iterable[Event]) -> Statuses:
    """Return the statuses of these events as those of first takes."""
    places = {event.log_place for event in canon}
    return tuple(replace(one, take=1) for one in statuses if one.place in places)


def in_scene(events: Sequence[Event], boundary: int) -> tuple[Event, ...]:
    """Return those of `events` from which recent context is made, up to now.

    It begins with the newest scene. Of earlier ones it has what is always sent, and what is not in memory
    yet: memory ends with prompt `boundary`.
    """
    start = max((event.place for event in events if event.begins_scene), default=None)
    if start is None:
        return tuple(events)
    return tuple(
        event
        for event in events
        if event.place >= start or event.summarised_with > boundary or event.is_always_sent
    )


def problems_of_statuses(statuses: Statuses, events: Iterable[Event]) -> Iterator[str]:
    """Yield problems of the statuses of a chapter that is imported, given its log."""
    places = [one.place for one in statuses]
    if places != sorted(set(places)):
        yield "an event has two statuses"
    if not {event.log_place for event in events}.issuperset(places):
        yield "a status is of an event that is missing"
