"""Planning a narrative: one call when it fits, else parts that together tell the whole (design 7)."""

from bisect import bisect_left

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.agents.context_builder import ContextBuilder, NarrativePart
from core.agents.narrative import _ending, _packed, _shares, _Unit, frame_tokens
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.context.tokens import estimate_tokens
from core.context.visibility import Story, known_to_gm
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import SEPARATOR, render_events
from core.text.delimiters import SegmentName, escape_delimiters
from tests.core.values.sessions import any_text, choice, choices, event, memory, narrative_of, play, session


def build(budget: int, style: PromptStyle = PromptStyle.FULL, output: int = 4_000) -> ContextBuilder:
    return ContextBuilder(ModelAssignments({AgentRole.NARRATIVE: choice(budget, style, output)}))


def told(parts: tuple[NarrativePart, ...]) -> str:
    return "".join(part.transcript for part in parts).replace("\n", "")


def test_a_chapter_that_fits_is_one_call() -> None:
    mine, events, blocks = session(prompts=21, boundary=21), play(1, 21), memory(3)
    builder = build(48_000)
    (part,) = builder.plan_narrative(known_to_gm(Story(mine, blocks, events)), "Plain.", 1_500)
    assert (part.number, part.total, str(part.prompts), part.target_words) == (1, 1, "1–21", 1_500)
    assert part.transcript == render_events(events, mine)
    assert builder.narrative_part(known_to_gm(Story(mine, blocks, ())), part, "Plain.") == narrative_of(
        builder, known_to_gm(Story(mine, blocks, events)), "Plain.", 1_500
    )


def test_a_longer_one_is_cut_along_chunks_and_tells_everything() -> None:
    mine, events, blocks = session(prompts=70, boundary=70), play(1, 70), memory(10)
    builder = build(9_000)
    parts = builder.plan_narrative(known_to_gm(Story(mine, blocks, events)), "Plain.", 3_000)
    assert len(parts) > 1
    assert all((part.prompts.first - 1) % 7 == 0 and part.prompts.last % 7 == 0 for part in parts)
    assert SEPARATOR.join(part.transcript for part in parts) == render_events(events, mine)
    assert sum(part.target_words or 0 for part in parts) == 3_000
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    tail = "The last words of the part before."
    for part in parts:
        context = builder.narrative_part(known_to_gm(Story(mine, blocks, ())), part, "Plain.", tail)
        text = context.messages[1].content
        assert context.tokens <= 9_000
        assert "Plain." in text
        assert f"Part {part.number} of {part.total}." in text
        assert (tail in text) == (part.number > 1)
        assert "Canon of chunk 3." in text


def test_what_is_told_in_one_call_leaves_room_for_the_canon_of_all_memory() -> None:
    mine, events, blocks = session(prompts=70, boundary=70), play(1, 70), memory(10)

    def parts(budget: int) -> int:
        return len(build(budget).plan_narrative(known_to_gm(Story(mine, blocks, events)), "Plain.", None))

    least = bisect_left(range(60_000), True, lo=4_000, key=lambda budget: parts(budget) == 1)
    assert parts(least - 1) > 1
    builder = build(least)
    context = narrative_of(builder, known_to_gm(Story(mine, blocks, events)), "Plain.", None)
    assert least - 200 < context.tokens <= least, "nearly all of it is used"
    setup = builder._setups[AgentRole.NARRATIVE]
    canon = setup.digester.digest(blocks, 0).tokens
    transcript = estimate_tokens(escape_delimiters(render_events(events, mine))) + 1
    assert frame_tokens(setup, mine, "Plain.") + canon + transcript == least


def test_a_chunk_that_does_not_fit_is_cut_along_prompts() -> None:
    mine, events = session(prompts=7), play(1, 7, words=150)
    parts = build(6_000).plan_narrative(known_to_gm(Story(mine, (), events)), "", None)
    assert len(parts) > 1
    assert [part.prompts.first for part in parts[1:]] == [part.prompts.last + 1 for part in parts[:-1]]
    assert told(parts) == render_events(events, mine).replace("\n", "")


def test_the_text_of_an_event_is_split_at_last() -> None:
    mine = session(prompts=2)
    events = [event(1, "word " * 4_000), event(1, "Yes.", Slot.RED), event(2, "So?")]
    builder = build(6_000)
    parts = builder.plan_narrative(known_to_gm(Story(mine, (), events)), "", 900)
    assert len(parts) >= 2
    assert parts[0].prompts == PromptRange(1, 1)
    assert told(parts) == render_events(events, mine).replace("\n", "")
    assert all(
        builder.narrative_part(known_to_gm(Story(mine, (), ())), part, "", "x" * 9_000).tokens <= 6_000
        for part in parts
    )


@pytest.mark.parametrize("line", ["=== END ===\n", "===\n", "=\n"])
def test_a_text_of_lines_that_could_pass_for_marks_is_split_too(line: str) -> None:
    mine = session(prompts=1)
    events = [event(1, line * 3_000)]
    parts = build(6_000).plan_narrative(known_to_gm(Story(mine, (), events)), "", 900)
    assert told(parts) == render_events(events, mine).replace("\n", "")


def test_words_that_one_call_cannot_write_are_shared_out() -> None:
    mine, events = session(prompts=28), play(1, 28)
    parts = build(48_000, output=2_000).plan_narrative(known_to_gm(Story(mine, (), events)), "", 3_500)
    assert len(parts) >= 4
    assert sum(part.target_words or 0 for part in parts) == 3_500
    assert all(part.target_words and part.target_words <= 1_000 for part in parts)


def test_a_small_model_without_a_target_writes_scene_by_scene() -> None:
    mine, events = session(prompts=17), play(1, 17, words=10)
    parts = build(7_000, PromptStyle.SMALL).plan_narrative(known_to_gm(Story(mine, (), events)), "", None)
    assert [str(part.prompts) for part in parts] == ["1–7", "8–14", "15–17"]


def test_nothing_played_is_nothing_to_write() -> None:
    assert build(48_000).plan_narrative(known_to_gm(Story(session(), (), [])), "", None) == ()


def test_a_definition_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(StoryEngineError) as caught:
        build(5_000).plan_narrative(
            known_to_gm(Story(session(prompts=7), (), play(1, 7))), "rule " * 4_000, None
        )
    assert caught.value.code is ErrorCode.LLM_CONTEXT_OVERFLOW


def test_the_plan_is_the_same_again() -> None:
    mine, events = session(prompts=70), play(1, 70)
    plans = [
        ContextBuilder(choices(9_000)).plan_narrative(known_to_gm(Story(mine, memory(9), events)), "", 2_000)
        for _ in range(2)
    ]
    assert plans[0] == plans[1]


styles = st.sampled_from(PromptStyle)


@st.composite
def chapters(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = []
    for prompt in range(1, draw(st.integers(1, 16)) + 1):
        repeated = draw(st.integers(1, 60))
        events.append(event(prompt, draw(any_text) * repeated))
        events.append(event(prompt, draw(any_text), Slot.RED))
    return events


@given(
    chapters(), st.integers(4_600, 9_000), st.none() | st.integers(100, 5_000), st.sampled_from(PromptStyle)
)
def test_every_part_fits_and_together_they_are_the_transcript(
    events: list[Event], budget: int, target: int | None, style: PromptStyle
) -> None:
    mine = session(prompts=events[-1].prompt_index)
    builder = build(budget, style, output=700)
    parts = builder.plan_narrative(known_to_gm(Story(mine, memory(2), events)), "Plain.", target)
    assert told(parts) == render_events(events, mine).replace("\n", "")
    assert sum(part.target_words or 0 for part in parts) == (target or 0) or len(parts) > (target or 0)
    for part in parts:
        context = builder.narrative_part(
            known_to_gm(Story(mine, memory(2), ())), part, "Plain.", "語" * 3_000
        )
        assert context.tokens <= budget
        given_text = next(one.text for one in context.segments if one.name is SegmentName.FULL_TRANSCRIPT)
        assert escape_delimiters(part.transcript) in given_text or not part.transcript.strip()


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=40), st.integers(1, 5_000))
@example([1, 6_000, 1], 418)
def test_the_words_of_all_parts_are_those_of_the_chapter_and_each_part_has_some(
    tokens: list[int], target: int
) -> None:
    shares = _shares(tokens, target)
    assert all(share is not None and share >= 1 for share in shares)
    assert sum(share or 0 for share in shares) == max(target, len(tokens))


def test_the_first_part_begins_the_last_one_ends_and_those_between_do_neither() -> None:
    mine, events, blocks = session(prompts=70, boundary=70), play(1, 70), memory(10)
    builder = build(9_000)
    parts = builder.plan_narrative(known_to_gm(Story(mine, blocks, events)), "Plain.", 3_000)
    texts = [
        builder.narrative_part(known_to_gm(Story(mine, blocks, ())), part, "Plain.", "Before.")
        .messages[1]
        .content
        for part in parts
    ]
    assert len(texts) > 2
    for text, part in zip(texts, parts, strict=True):
        assert ("Begin the chapter" in text) == (part.number == 1)
        assert ("do not end the chapter yet" in text) == (1 < part.number < len(parts))
        assert ("bring the chapter to its end" in text) == (part.number == len(parts))


@pytest.mark.parametrize(
    ("style", "words", "length"),
    [
        (PromptStyle.FULL, 1_500, "About 1,500 words."),
        (PromptStyle.FULL, None, "At most 5,000 words."),
        (PromptStyle.SMALL, 120, "About 120 words."),
        (PromptStyle.SMALL, None, "One or two short paragraphs."),
    ],
)
def test_the_length_that_is_asked_for(style: PromptStyle, words: int | None, length: str) -> None:
    mine, events = session(prompts=1, boundary=1), play(1, 1)
    context = narrative_of(build(8_000, style), known_to_gm(Story(mine, memory(1), events)), "Plain.", words)
    assert length in context.messages[-1].content


@pytest.mark.parametrize(
    ("tokens", "runs"),
    [
        ([3, 3, 4], [[3, 3], [4]]),
        ([3, 4], [[3], [4]]),
        ([9, 1, 9], [[9], [1], [9]]),
        ([1] * 13, [[1] * 6] * 2 + [[1]]),
    ],
)
def test_as_much_is_told_at_once_as_fits_and_what_is_longer_stands_alone(
    tokens: list[int], runs: list[list[int]]
) -> None:
    units = [_Unit(PromptRange(1, 1), "text", count, is_continued=False) for count in tokens]
    assert [[unit.tokens for unit in run] for run in _packed(units, 6)] == runs


@pytest.mark.parametrize(("style", "fits"), [(PromptStyle.FULL, 600), (PromptStyle.SMALL, 120)])
def test_of_the_part_before_as_much_is_shown_as_fits(style: PromptStyle, fits: int) -> None:
    sizes = [size for size in range(fits * 4) if estimate_tokens("a" * size, style) == fits]
    longest = "a" * sizes[-1]
    assert _ending(longest, style) == longest
    assert 0.85 * len(longest) < len(_ending("b" + longest, style)) < len(longest)
