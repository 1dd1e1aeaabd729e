"""The parts of tab 2 that need no screen: joined texts, sentences for the GM, and the kept events."""

from dataclasses import replace
from uuid import UUID

import pytest

from core.domain.errors import ErrorCode
from core.domain.ids import SessionId
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind, render_window
from core.engine.services.takes.memory_commands import rebuild_block
from core.text.composer_text import joined, merged, without
from storyengine_tui.screens.chapter.stopped_calls import _stopped
from storyengine_tui.screens.play.play_view import (
    ending_consequences,
    play_view,
    reply_failure,
    summary_failure,
    why_not_writable,
)
from storyengine_tui.screens.play.transcript.played_events import PlayedEvents
from tests.core.rooms.simulation import active, failure
from tests.tui.chapters.chapter import events, session


@pytest.mark.parametrize(
    ("front", "behind", "whole"),
    [("a", "b", "a\n\nb"), ("", "b", "b"), ("a", "", "a"), ("a", " \n", "a"), ("a", "a", "a")],
)
def test_joined(front: str, behind: str, whole: str) -> None:
    assert joined(front, behind) == whole


@pytest.mark.parametrize(
    ("text", "part", "rest"),
    [
        ("a\n\nb", "a", "b"),
        ("a\n\nb", "b", "a"),
        ("a\n", "a", ""),
        ("ab", "a", None),
        ("", "a", None),
        ("a\n\nb\n\nc", "a\n\nb", "c"),
    ],
)
def test_without(text: str, part: str, rest: str | None) -> None:
    assert without(text, part) == rest


@pytest.mark.parametrize(
    ("stored", "typed", "whole"),
    [
        ("a", "a", "a"),
        ("", "b", "b"),
        ("a", "", "a"),
        ("a", "b", "a\n\nb"),
        ("a", "a\n\nb", "a\n\nb"),
        ("a\n\nb", "b", "a\n\nb"),
    ],
)
def test_merged_holds_both(stored: str, typed: str, whole: str) -> None:
    assert merged(stored, typed) == whole


def test_a_chapter_that_is_ending_says_so_in_a_line_of_80_columns() -> None:
    ending = replace(session(8), state=SessionState.SUMMARIZING, is_ending=True)
    said = why_not_writable(ending, None, is_writer=True)
    assert said.startswith("The chapter is ending")
    # The counter of the composer has the rest of the line.
    assert len(said) <= 56


def test_the_end_says_how_much_is_summarised() -> None:
    story = session(10, boundary=7)
    assert "3 prompts to summarise into memory first (prompts 8–10, 1 summary)." in ending_consequences(
        story, []
    )
    assert "(prompts 1–10, 2 summaries)" in ending_consequences(session(10), [])
    assert "1 prompt to summarise" in ending_consequences(session(8, boundary=7), [])
    assert "nothing is left to summarise" in ending_consequences(session(7, boundary=7), [])
    assert "4 Agent Green" in ending_consequences(story, [Slot.GREEN])


def test_the_end_says_how_many_items_of_the_memory_bank_are_new_where_there_are_some() -> None:
    story = session(7, boundary=7)
    assert "memory bank" not in ending_consequences(story, [])
    assert ending_consequences(story, [], 1).endswith(
        "\n\n1 item of the memory bank is new: you can confirm it on tab 3, also after the end."
    )
    assert "1,200 items of the memory bank are new: you can confirm them" in ending_consequences(
        story, [], 1_200
    )


def test_a_summary_that_is_about_to_run_counts_as_running() -> None:
    story = active()
    story.play(7, with_summaries=False)
    view = play_view(story.snapshot)
    assert story.state is SessionState.SUMMARIZING
    assert view.running is not None
    assert (view.running.kind, view.running.state) == (RequestKind.SUMMARY, RequestState.PENDING)
    story.submit("And then?")
    assert [request.text for request in play_view(story.snapshot).queued] == ["And then?"]
    story.fail()
    assert play_view(story.snapshot).failed_summary is not None
    assert play_view(story.snapshot).running is None


@pytest.mark.parametrize(
    ("code", "what_then"),
    [
        (ErrorCode.LLM_CANCELLED, "it is made with the next summary, or by Retry now"),
        (ErrorCode.LLM_SERVER_ERROR, "the memory catches up later"),
    ],
)
def test_a_summary_that_was_not_made_says_when_it_will_be(code: ErrorCode, what_then: str) -> None:
    story = active()
    story.play(7, with_summaries=False)
    story.fail(code)
    view = play_view(story.snapshot)
    assert view.failed_summary is not None
    _, hint = summary_failure(view, view.failed_summary)
    assert what_then in hint


@pytest.mark.parametrize(
    ("code", "what_then"),
    [
        (ErrorCode.LLM_CANCELLED, "Retry asks for it once more"),
        (ErrorCode.LLM_SERVER_ERROR, "it is tried again by itself"),
    ],
)
def test_memory_that_was_not_made_again_is_not_said_to_be_missing(code: ErrorCode, what_then: str) -> None:
    story = active()
    story.play(7)
    story.store(rebuild_block(story.snapshot, 7, story.now)[0])
    story.begin()
    [request] = story.snapshot.open_requests
    assert _stopped(story.snapshot, request).startswith("Memory of prompts 1–7 is not made again")
    story.settle(failure(code))
    view = play_view(story.snapshot)
    assert view.failed_summary is not None
    what, hint = summary_failure(view, view.failed_summary)
    assert what.startswith("Memory of prompts 1–7 was not made again.")
    assert hint == f"The revision before counts as it did; {what_then}."


@pytest.mark.parametrize("code", [ErrorCode.LLM_SERVER_ERROR, ErrorCode.LLM_RATE_LIMITED])
def test_a_reply_that_a_service_refused_says_once_how_long_to_wait(code: ErrorCode) -> None:
    story = active()
    story.submit("And then?")
    story.fail(code, retry_after=90.0)
    _, hint = reply_failure(play_view(story.snapshot))
    assert ("asks to wait until" in hint) is (code is ErrorCode.LLM_SERVER_ERROR)


def test_duplicate_events_are_kept_once_and_old_ones_are_dropped() -> None:
    played, all_events, story = PlayedEvents(), events(40), session(40)
    played.load((), story.id)
    limit = 2_000
    assert played.next_index == 1
    for number in range(0, len(all_events), 2):
        played.append(all_events[number : number + 2], limit)
        played.append(all_events[number : number + 2], limit)
    window = played.window(story)
    assert played.next_index == 41
    assert window.pieces[0].kind is PieceKind.NOTICE
    known = PlayedEvents()
    known.load(all_events, story.id)
    assert played.window(story).text == window.text
    assert render_window(played._events, story, limit, is_complete=False).text == (
        render_window(all_events, story, limit).text
    )
    assert len(played._events) < len(all_events)


def test_events_of_another_session_are_ignored_and_its_window_is_empty() -> None:
    played, ours = PlayedEvents(), session(3)
    theirs = replace(ours, id=SessionId(UUID(int=77)))
    foreign = [replace(event, session_id=theirs.id) for event in events(5)]
    played.load(events(3), ours.id)
    played.append(foreign, 2_000)
    assert played.next_index == 4
    assert played.window(theirs).pieces == ()
    assert played.next_index == 1, "events of the previous session are dropped"
    played.load([*events(3), *foreign[:2]], theirs.id)
    assert played.next_index == 2
