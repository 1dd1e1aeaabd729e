"""What the GM says of events after they were played, and where recent context begins."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.domain.story.context_status import (
    ContextStatus,
    EventStatus,
    in_scene,
    marked,
    of_canon,
    problems_of_statuses,
    status_of,
    with_statuses,
)
from core.domain.story.event import CONTEXT, NEVER, SCENE, Event, Role
from tests.core.values.sessions import event, play

ALWAYS, NEVER_SENT, DEFAULT = ContextStatus.ALWAYS, ContextStatus.NEVER, ContextStatus.DEFAULT


def said(of: Event, status: ContextStatus) -> EventStatus:
    return EventStatus(*of.log_place, status)


def scene_break(prompt: int, ordinal: int) -> Event:
    line = event(prompt, "* * *", ordinal=ordinal)
    return replace(line, role=Role.SYSTEM, metadata={SCENE: True, CONTEXT: NEVER})


def test_without_a_word_of_the_gm_events_are_the_very_same() -> None:
    events = play(1, 3)
    assert all(one is other for one, other in zip(marked(events, ()), events, strict=True))
    assert in_scene(events, 0) == tuple(events)


def test_what_the_gm_said_last_counts_also_against_what_an_event_was_stored_with() -> None:
    hidden = replace(event(1, "Aside."), metadata={CONTEXT: NEVER})
    assert status_of(hidden, ()) is NEVER_SENT
    shown = with_statuses((), (said(hidden, DEFAULT),))
    assert status_of(hidden, shown) is DEFAULT
    assert not marked([hidden], shown)[0].is_never_sent
    again = with_statuses(shown, (said(hidden, ALWAYS),))
    assert again == (said(hidden, ALWAYS),)
    assert marked([hidden], again)[0].is_always_sent


def test_a_status_is_that_of_one_take() -> None:
    first, second = event(1, "One."), replace(event(1, "Two."), take=2)
    statuses = (said(first, NEVER_SENT),)
    assert [one.is_never_sent for one in marked([first, second], statuses)] == [True, False]
    assert of_canon(statuses, [second]) == ()
    assert of_canon((said(second, ALWAYS),), [second]) == (said(first, ALWAYS),)


def test_a_scene_leaves_out_what_is_before_it_and_in_memory() -> None:
    line = scene_break(9, 2)
    events = [*play(1, 9), line, *play(10, 11)]
    assert in_scene(events, 7) == (*play(8, 9), line, *play(10, 11))
    assert in_scene(events, 9) == (line, *play(10, 11))
    kept = replace(events[0], metadata={CONTEXT: "always"})
    assert in_scene([kept, *events[1:]], 9) == (kept, line, *play(10, 11))


@given(st.lists(st.integers(1, 20), max_size=3), st.integers(0, 20))
def test_no_scene_loses_what_is_not_in_memory(breaks: list[int], boundary: int) -> None:
    events = [*play(1, 20, words=1), *(scene_break(prompt, 2) for prompt in set(breaks))]
    events.sort(key=lambda one: one.place)
    shown = in_scene(events, boundary)
    assert set(range(boundary + 1, 21)) <= {one.prompt_index for one in shown}
    assert list(shown) == sorted(shown, key=lambda one: one.place)


def test_an_import_says_nothing_twice_nor_of_events_that_are_missing() -> None:
    events = play(1, 1)
    good = (said(events[0], ALWAYS), said(events[1], NEVER_SENT))
    assert list(problems_of_statuses(good, events)) == []
    assert list(problems_of_statuses(good[::-1], events))
    assert list(problems_of_statuses((good[0], good[0]), events))
    assert list(problems_of_statuses((EventStatus(2, 1, 0, ALWAYS),), events))
