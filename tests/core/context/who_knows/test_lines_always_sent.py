"""Lines that the GM marks as always or never sent, in the inputs of characters (design 16)."""

from dataclasses import replace

import pytest

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.context.segments import CompressionMethod, SegmentKind
from core.domain.audience import Audience
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus, Statuses
from core.domain.story.event import Event
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.delimiters import SegmentName
from tests.core.values.sessions import TAB1, choices, event, memory, play, session

RED, ORANGE = Slot.RED, Slot.ORANGE
ALWAYS, NEVER = ContextStatus.ALWAYS, ContextStatus.NEVER


def statuses(status: ContextStatus, *events: Event) -> Statuses:
    return tuple(EventStatus(*one.log_place, status) for one in events)


def chapter(said: Statuses = (), kept: tuple[Event, ...] = (), recent: tuple[Event, ...] = ()) -> Snapshot:
    """Thirty prompts, 28 of them in memory; the last chunk is recent."""
    return Snapshot(
        session=session(prompts=30, boundary=28),
        tab1=TAB1,
        blocks=memory(4),
        recent=recent or tuple(play(22, 30)),
        statuses=said,
        kept=kept,
    )


def given(snapshot: Snapshot, budget: int = 48_000, slot: Slot = RED) -> Context:
    return ContextBuilder(choices(budget)).character(snapshot.known_to(slot), "What now?")


def recent_of(context: Context) -> str:
    [text] = [one.text for one in context.segments if one.name is SegmentName.RECENT_CONTEXT]
    return text


def test_a_line_that_is_always_sent_comes_before_recent_context_with_its_number() -> None:
    old = tuple(play(3, 3))
    with_it, without = given(chapter(statuses(ALWAYS, *old), old)), given(chapter())
    text = recent_of(with_it)
    assert text.index("3) gm3w0") < text.index("reply3w0") < text.index("22) gm22w0")
    others = [
        [one for one in made.segments if one.name is not SegmentName.RECENT_CONTEXT]
        for made in (with_it, without)
    ]
    assert others[0] == others[1]
    assert with_it.left_out == ()


def test_a_line_that_is_always_sent_is_not_shown_to_those_who_did_not_witness_it() -> None:
    whisper = replace(event(3, "The passphrase."), audience=Audience.of([ORANGE]))
    snapshot = chapter(statuses(ALWAYS, whisper), (whisper,))
    assert "The passphrase." not in recent_of(given(snapshot))
    assert "The passphrase." in recent_of(given(snapshot, slot=ORANGE))


def test_with_exact_recent_context_too_what_is_always_sent_stays() -> None:
    old = tuple(play(3, 3))
    exact = ContextBuilder(ModelAssignments(dict(choices().items()), recent_context="exact"))
    made = exact.character(chapter(statuses(ALWAYS, *old), old).known_to(RED), "What now?")
    assert "3) gm3w0" in recent_of(made)
    assert "22) gm22w0" not in recent_of(made)


def test_a_line_that_is_never_sent_is_in_no_input() -> None:
    hidden = play(30, 30)[1]
    snapshot = chapter(statuses(NEVER, hidden))
    assert hidden.text not in recent_of(given(snapshot))
    whole = snapshot.chapter_known_to(None, snapshot.blocks, snapshot.recent)
    assert hidden.id not in {one.id for one in whole.events}
    group = snapshot.known_to_all_of(Audience.of([RED]), snapshot.blocks, snapshot.recent)
    assert hidden.id not in {one.id for one in group.events}


def test_what_is_always_sent_stays_when_the_prompts_around_it_go() -> None:
    marked = play(24, 24, words=60)[0]
    recent = tuple(play(22, 30, words=60))
    seen = set()
    for budget in range(8_000, 3_000, -100):
        made = given(chapter(statuses(ALWAYS, marked), recent=recent), budget)
        dropped = [line for line in made.left_out if line.startswith("Recent context")]
        if dropped and not made.is_shortened:
            assert "24) gm24w0" in recent_of(made)
            assert made.tokens <= budget
            seen.add(dropped[0])
    assert "Recent context of prompts 22–25 (they are in memory)" in seen


def test_what_is_always_sent_takes_a_quarter_of_an_input_at_most_and_the_newest_stays() -> None:
    old = tuple(one for prompt in range(1, 21) for one in play(prompt, prompt, words=60)[:1])
    made = given(chapter(statuses(ALWAYS, *old), old), 7_000)
    text = recent_of(made)
    shown = [prompt for prompt in range(1, 21) if f"{prompt}) gm{prompt}w0" in text]
    assert shown == list(range(shown[0], 21))
    assert 1 < len(shown) < 20
    gone = ", ".join(map(str, range(1, shown[0])))
    assert f"Lines that are always sent, of prompts {gone} (no room; they are in memory)" in made.left_out


def test_what_is_always_sent_goes_before_a_prompt_is_shortened_that_is_not_in_memory() -> None:
    old = tuple(play(3, 3))
    long = event(30, " ".join(f"long{n}" for n in range(9_000)), RED, 2)
    made = given(chapter(statuses(ALWAYS, *old), old, (*play(22, 30), long)), 5_000)
    assert made.is_shortened
    assert "Lines that are always sent, of prompts 3 (no room; they are in memory)" in made.left_out
    [recent] = [one for one in made.segments if one.name is SegmentName.RECENT_CONTEXT]
    assert recent.compression is not None
    assert recent.compression.original_tokens > 9_000 > recent.tokens


def test_every_part_of_an_input_says_what_it_is_made_of_and_how_it_was_made_shorter() -> None:
    made = given(chapter(), 4_000)
    by_name = {one.name: one for one in made.segments}
    stored, recent = by_name[SegmentName.STRUCTURED_MEMORY], by_name[SegmentName.RECENT_CONTEXT]
    prompt, rules = by_name[SegmentName.USER_PROMPT], by_name[SegmentName.SYSTEM_PROMPT]
    assert [one.kind for one in (rules, stored, recent, prompt)] == [
        SegmentKind.SYSTEM,
        SegmentKind.MEMORY,
        SegmentKind.HISTORY,
        SegmentKind.HISTORY,
    ]
    assert rules.priority == prompt.priority > recent.priority > stored.priority
    assert (stored.recency, recent.recency, prompt.recency, rules.recency) == (2, 0, 0, None)
    assert (prompt.relevance, rules.relevance) == (1.0, None)
    assert stored.compression is not None
    assert stored.compression.method is CompressionMethod.EXTRACTION
    assert stored.compression.original_tokens > stored.tokens
    whole = {one.name: one for one in given(chapter()).segments}[SegmentName.STRUCTURED_MEMORY]
    assert whole.compression is None
    assert stored.compression.original_tokens == pytest.approx(whole.tokens, abs=len(memory(4)))


@pytest.mark.parametrize("boundary", [21, 28])
def test_a_line_stays_with_the_snapshot_when_recent_context_moves_on(boundary: int) -> None:
    events = play(boundary - 6, boundary + 1)
    marked = events[1]
    before = Snapshot(
        session=session(prompts=boundary + 1, boundary=boundary - 7),
        tab1=TAB1,
        recent=tuple(events),
        statuses=statuses(ALWAYS, marked),
    )
    moved = before.after(
        Changes(session_id=before.session.id, session=replace(before.session, boundary=boundary))
    )
    assert moved.kept == ()
    further = moved.after(
        Changes(session_id=before.session.id, session=replace(before.session, boundary=boundary + 7))
    )
    assert further.kept == (marked,)
    released = further.after(
        Changes(session_id=before.session.id, statuses=statuses(ContextStatus.DEFAULT, marked))
    )
    assert released.kept == ()
    assert released.is_recent_known
    again = released.after(Changes(session_id=before.session.id, statuses=statuses(ALWAYS, marked)))
    assert not again.is_recent_known
