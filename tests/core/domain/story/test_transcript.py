"""The transcript of tab 2, rule by rule and by properties (design 9)."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.domain.story.transcript import (
    SEPARATOR,
    PieceKind,
    Window,
    collapse_blank_lines,
    counter_text,
    render_all,
    render_event,
    render_events,
    render_window,
)
from core.text.graphemes import head, tail
from tests.core.values.sessions import GRAPHEMES, any_text, event, play, session

# The words of the source document, not those of the code.
BOUNDARY_LINE = "-------------"
TRUNCATION_NOTICE = "(Earlier transcript truncated for display.)"


NAMES = {Slot.RED: "Mara", Slot.ORANGE: "Tobin"}


def test_a_gm_line_has_its_number_and_a_reply_its_name() -> None:
    mine = session(names=NAMES)
    assert render_event(event(3, "Go?"), mine) == "3) Go?"
    assert render_event(event(3, "No.", Slot.RED), mine) == "Mara: No."
    assert render_event(event(3, "No.", Slot.YELLOW), mine) == "Agent Yellow: No."


def test_only_prompts_have_numbers_and_every_reply_its_own_prefix() -> None:
    events = [
        event(1, "Go?"),
        event(1, "Yes.", Slot.RED, 1),
        event(1, "And no.", Slot.RED, 2),
        event(2, "So?"),
    ]
    expected = "1) Go?\n\nMara: Yes.\n\nMara: And no.\n\n2) So?"
    assert render_window(events, session(names=NAMES)).text == expected


def test_order_is_by_prompt_then_ordinal() -> None:
    events = [event(2, "c"), event(1, "b", Slot.RED), event(1, "a")]
    assert render_events(events, session(names=NAMES)) == "1) a\n\nMara: b\n\n2) c"


def test_pieces_carry_what_a_screen_colours_by() -> None:
    events = [event(1, "a"), event(1, "b", Slot.ORANGE)]
    pieces = render_window(events, session(boundary=1)).pieces
    assert [(piece.kind, piece.slot) for piece in pieces] == [
        (PieceKind.GM, None),
        (PieceKind.REPLY, Slot.ORANGE),
        (PieceKind.BOUNDARY, None),
    ]
    assert [piece.event for piece in pieces] == [*events, None]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("a\n\nb", "a\n\nb"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("a\n\n\n\nb", "a\n\n\nb"),
        ("a" + "\n" * 40 + "b", "a\n\n\nb"),
        ("a\n \n\t\n  \n\n b", "a\n \n\t\n b"),
        ("a\n\n\n\nb\n\n\n\n\nc", "a\n\n\nb\n\n\nc"),
        ("  a \n b\t", "  a \n b\t"),
    ],
)
def test_three_or_more_blank_lines_become_two(typed: str, shown: str) -> None:
    assert collapse_blank_lines(typed) == shown
    assert render_event(event(1, typed), session()) == f"1) {shown}"


def test_the_boundary_line_follows_the_last_event_at_the_boundary() -> None:
    text = render_window(play(1, 8, words=1), session(boundary=7)).text
    before, after = text.split(f"{SEPARATOR}{BOUNDARY_LINE}{SEPARATOR}")
    assert before.endswith("reply7w0")
    assert after.startswith("8) ")


def test_there_is_no_line_at_boundary_zero_or_outside_the_window() -> None:
    assert BOUNDARY_LINE not in render_window(play(1, 8), session()).text
    assert BOUNDARY_LINE not in render_window([event(0, "Before the first prompt.")], session()).text
    far = render_window(play(1, 30), session(boundary=7), 900)
    assert far.pieces[0].kind is PieceKind.NOTICE
    assert BOUNDARY_LINE not in far.text
    assert all(piece.event and piece.event.prompt_index > 7 for piece in far.pieces[1:])


def test_the_notice_comes_first_when_anything_is_left_out() -> None:
    whole = render_window(play(1, 8), session())
    assert whole.pieces[0].kind is PieceKind.GM
    cut = render_window(play(1, 8), session(), whole.length - 1)
    assert cut.text.startswith(TRUNCATION_NOTICE + SEPARATOR)
    assert render_window(play(5, 8), session(), is_complete=False).text.startswith(TRUNCATION_NOTICE)


def test_a_transcript_of_exactly_the_limit_is_shown_whole() -> None:
    events, mine = play(1, 8), session(boundary=7)
    length = render_window(events, mine).length
    assert TRUNCATION_NOTICE not in render_window(events, mine, length).text
    assert TRUNCATION_NOTICE in render_window(events, mine, length - 1).text


def test_what_fits_exactly_beside_the_notice_is_shown() -> None:
    newest = event(3, "z")
    exactly = len(f"{TRUNCATION_NOTICE}{SEPARATOR}3) z")
    for limit, begins in ((exactly, "3) z"), (exactly + 1, "3) z"), (exactly - 1, "3) ")):
        window = render_window([event(1, "x" * 500), newest], session(), limit)
        assert window.pieces[-1].text.startswith(begins)
        assert window.length <= limit


def test_an_event_that_does_not_fit_is_left_out_whole() -> None:
    events = [event(1, "x" * 500), event(2, "y" * 500), event(3, "z")]
    window = render_window(events, session(), 100)
    assert window.text == f"{TRUNCATION_NOTICE}\n\n3) z"


def test_the_newest_event_is_shown_by_its_tail() -> None:
    text = "".join(chr(97 + n % 26) for n in range(500))
    window = render_window([event(1, "first"), event(2, text)], session(), 120)
    assert window.length == 120
    assert window.text == f"{TRUNCATION_NOTICE}\n\n2) {text[-(120 - len(TRUNCATION_NOTICE) - 5) :]}"


def test_the_tail_of_an_event_at_the_boundary_is_followed_by_the_line() -> None:
    window = render_window([event(7, "x" * 500)], session(boundary=7), 150)
    assert window.length == 150
    assert window.text.endswith(f"x{SEPARATOR}{BOUNDARY_LINE}")


def test_a_limit_too_small_for_everything_still_shows_the_newest_words() -> None:
    for limit in range(1, 120):
        window = render_window([event(6, "old"), event(7, "word " * 50 + "end")], session(boundary=7), limit)
        assert window.length <= limit
        shown = [piece for piece in window.pieces if piece.event]
        assert len(shown) == 1
        assert shown[0].text.endswith("d")


def test_counter() -> None:
    assert counter_text(12_345, 60_000) == "12,345/60,000"
    assert counter_text(render_window([], session()).length, 60_000) == "0/60,000"
    assert counter_text(render_window([event(1, "abc")], session()).length, 60_000) == "6/60,000"


def test_the_limit_is_the_sessions_own() -> None:
    window = render_window([event(n, "x" * 20_000) for n in range(1, 9)], session())
    assert window.limit == 60_000
    assert window.length == 20_003 * 2 + 2 + len(TRUNCATION_NOTICE) + 2


def test_cost_is_that_of_the_window_and_not_of_the_story() -> None:
    class Counting(Sequence[Event]):
        def __init__(self, events: list[Event]) -> None:
            self.events, self.looked_at = events, 0

        def __len__(self) -> int:
            return len(self.events)

        def __getitem__(self, index):  # type: ignore[no-untyped-def]  # int or slice
            self.looked_at += 1
            return self.events[index]

    def looked_at(prompts: int) -> int:
        events = Counting(play(1, prompts))
        render_window(events, session(boundary=7), 5_000)
        return events.looked_at

    assert looked_at(2_000) <= looked_at(200) < 40


def test_a_system_event_stands_without_prefix() -> None:
    base = event(1, "The lights go out.")
    system = Event(
        id=base.id,
        session_id=base.session_id,
        prompt_index=1,
        ordinal=1,
        role=Role.SYSTEM,
        slot=None,
        text=base.text,
        created_at=base.created_at,
    )
    window = render_window([system], session())
    assert window.text == "The lights go out."
    assert window.pieces[0].kind is PieceKind.SYSTEM


# --- properties -----------------------------------------------------------------------------------


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Event], Session]:
    events: list[Event] = []
    count = draw(st.integers(1, 9))
    for prompt in range(1, count + 1):
        events.append(event(prompt, draw(any_text)))
        for ordinal in range(1, draw(st.integers(0, 2)) + 1):
            events.append(event(prompt, draw(any_text), draw(st.sampled_from(list(Slot)[:3])), ordinal))
    return events, session(prompts=count, boundary=draw(st.integers(0, count)), names=NAMES)


def by_the_book(events: list[Event], mine: Session, limit: int) -> str | None:
    """The window by trying every suffix of the story; None when not even the newest event fits."""
    for first in range(len(events)):
        shown = events[first:]
        parts = [TRUNCATION_NOTICE] if first else []
        for number, one in enumerate(shown):
            parts.append(render_event(one, mine))
            is_last = number + 1 == len(shown) or shown[number + 1].prompt_index != one.prompt_index
            if is_last and one.prompt_index == mine.boundary > 0:
                parts.append(BOUNDARY_LINE)
        text = "\n\n".join(parts)
        if len(text) <= limit:
            return text
    return None


@given(stories(), st.integers(0, 400))
def test_the_window_is_the_longest_run_of_newest_events_that_fits(
    story: tuple[list[Event], Session], limit: int
) -> None:
    events, mine = story
    window = render_window(events, mine, limit)
    assert window == render_window(events, mine, limit)
    assert window.length == len(window.text) <= limit
    expected = by_the_book(events, mine, limit)
    if expected is not None:
        assert window.text == expected
    else:
        assert len([piece for piece in window.pieces if piece.event]) == (1 if limit else 0)


@given(stories(), st.integers(60, 400))
def test_chronological_newest_visible_and_at_most_one_line(
    story: tuple[list[Event], Session], limit: int
) -> None:
    events, mine = story
    window = render_window(events, mine, limit)
    shown = [piece.event for piece in window.pieces if piece.event]
    assert shown == events[len(events) - len(shown) :]
    assert shown[-1] == events[-1]
    lines = [n for n, piece in enumerate(window.pieces) if piece.kind is PieceKind.BOUNDARY]
    at_boundary = [one for one in shown if one.prompt_index == mine.boundary]
    assert len(lines) == (1 if at_boundary else 0)
    if lines:
        assert window.pieces[lines[0] - 1].event == at_boundary[-1]


@given(stories())
def test_the_whole_transcript_is_the_window_when_it_fits(story: tuple[list[Event], Session]) -> None:
    events, mine = story
    assert render_all(reversed(events), mine) == render_window(events, mine)


@given(stories(), st.integers(0, 300))
def test_incomplete_events_leave_room_for_the_notice(story: tuple[list[Event], Session], limit: int) -> None:
    events, mine = story
    window: Window = render_window(events, mine, limit, is_complete=False)
    assert window.length <= limit
    if limit > 100:  # Room for the notice, the line, a prefix and a word.
        assert window.pieces[0].kind is PieceKind.NOTICE


# --- cutting --------------------------------------------------------------------------------------


@given(st.data())
def test_no_cut_splits_what_a_reader_sees_as_one_character(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(GRAPHEMES), min_size=1, max_size=30))
    text = "".join(parts)
    ends = {0}
    for part in parts:
        ends.add(max(ends) + len(part))
    length = data.draw(st.integers(1, len(text)))
    cut = tail(text, length)
    assert text.endswith(cut)
    assert len(cut) <= length
    # One sequence longer than the room has no safe place; it is cut hard, since something must show.
    assert len(text) - len(cut) in ends or cut == text[-length:]
    assert len(text) - len(cut) in ends or length < len(parts[-1])
    begun = head(text, length)
    assert text.startswith(begun)
    assert len(begun) <= length
    assert len(begun) in ends or length < len(parts[0])


def test_known_sequences_stay_whole() -> None:
    family = "👩\u200d👩\u200d👧"
    assert tail("x" + family, 5) == family
    assert tail("🇩🇪🇫🇷", 3) == "🇫🇷"
    assert tail("e\u0301e\u0301", 3) == "e\u0301"
    assert head("ae\u0301", 2) == "a"
    assert head("👍🏽!", 1) == "👍"


def test_text_without_a_safe_place_is_still_cut() -> None:
    assert len(tail("a" + "\u0301" * 1_000, 100)) == 100


def test_events_of_another_session_are_never_rendered_as_those_of_this_one() -> None:
    foreign = replace(session(), id=SessionId(UUID(int=77)))
    for render in (render_window, render_all):
        assert render(play(1, 2), session()).session_id == session().id
        with pytest.raises(ValueError, match="one session"):
            render(play(1, 2), foreign)
