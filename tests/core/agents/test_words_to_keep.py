"""Words to keep in a narrative: quotes that the GM keeps, few, in their part, none of a line never sent."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from core.agents.context_builder import ContextBuilder
from core.agents.sections.words_to_keep import LEAD
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.context.segments import Context
from core.context.visibility import Story, known_to, known_to_gm
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import QuoteDetails
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.errors import StoryEngineError
from core.domain.ids import ItemId
from core.domain.session.cast import Cast
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus, EventStatus, marked
from core.domain.story.event import Event
from core.text.delimiters import SegmentName
from tests.core.values.bank import fact
from tests.core.values.sessions import choice, event, memory, narrative_of, play, session

RED = Audience.of((Slot.RED,))


def proof(prompt: int, ordinal: int = 1, start: int = 0) -> Evidence:
    return Evidence(prompt_index=prompt, ordinal=ordinal, words="So be it", start=start, end=start + 8)


def quote(
    number: int, prompt: int, *, label: Audience = EVERYONE, is_pinned: bool = False, start: int = 0
) -> Item:
    made = fact(number, name="Mira", text=f"Line {number} of the oath", prompt_index=prompt, label=label)
    details = QuoteDetails(speaker="Mira")
    return replace(made, details=details, is_pinned=is_pinned, evidence=(proof(prompt, start=start),))


def build(budget: int = 48_000, style: PromptStyle = PromptStyle.FULL) -> ContextBuilder:
    return ContextBuilder(ModelAssignments({AgentRole.NARRATIVE: choice(budget, style, 4_000)}))


def words_in(made: Context) -> str:
    return "".join(one.text for one in made.segments if one.name is SegmentName.WORDS_TO_KEEP)


def narrated(
    quotes: Sequence[Item], events: Sequence[Event], prompts: int = 7, style: PromptStyle = PromptStyle.FULL
) -> Context:
    mine, blocks = session(prompts=prompts, boundary=prompts), memory(prompts // 7)
    knowledge = known_to_gm(Story(mine, blocks, events, quotes=quotes))
    return narrative_of(build(style=style), knowledge, "Plain.", 800)


@pytest.mark.parametrize("style", PromptStyle)
def test_without_such_a_quote_an_input_has_the_bytes_it_always_had(style: PromptStyle) -> None:
    events = play(1, 7)
    unproved = replace(quote(1, 2), evidence=())
    plain, empty = narrated((), events, style=style), narrated((unproved,), events, style=style)
    assert plain == empty
    assert not words_in(plain)
    assert plain.left_out == empty.left_out == ()


@pytest.mark.parametrize("style", PromptStyle)
def test_a_quote_is_named_with_its_speaker_and_its_prompt_before_the_transcript(style: PromptStyle) -> None:
    made = narrated((quote(2, 5), quote(1, 3)), play(1, 7), style=style)
    assert words_in(made).endswith(
        f"{LEAD}\n- Mira (prompt 3): “Line 1 of the oath”\n- Mira (prompt 5): “Line 2 of the oath”\n"
        "=== END WORDS_TO_KEEP ==="
    )
    names = [one.name for one in made.segments]
    assert names.index(SegmentName.WORDS_TO_KEEP) == names.index(SegmentName.FULL_TRANSCRIPT) - 1
    without = [one for one in made.segments if one.name is not SegmentName.WORDS_TO_KEEP]
    assert tuple(without) == narrated((), play(1, 7), style=style).segments


def test_a_quote_of_a_line_that_is_never_sent_does_not_go_and_one_proved_elsewhere_too_does() -> None:
    never = (EventStatus(3, 1, 1, ContextStatus.NEVER),)
    events = marked(play(1, 7), never)
    both = replace(quote(2, 3), evidence=(proof(3), proof(6)))
    made = narrated((quote(1, 3), both), events)
    assert "Line 1" not in words_in(made)
    assert "- Mira (prompt 6): “Line 2 of the oath”" in words_in(made)
    assert "Line 1" in words_in(narrated((quote(1, 3),), play(1, 7)))


def test_from_a_viewpoint_only_what_that_character_heard_is_to_be_kept() -> None:
    mine = session(prompts=7, boundary=7)
    whispered = [replace(one, audience=RED) if one.prompt_index == 2 else one for one in play(1, 7)]
    quotes = (quote(1, 2, label=RED), quote(2, 4))

    def told(slot: Slot) -> str:
        own = Cast(mine, Tab1Inputs())[slot]
        knowledge = known_to(own, Story(mine, memory(1), whispered, quotes=quotes))
        return words_in(narrative_of(build(), knowledge, "Plain.", 800))

    assert "Line 1" in told(Slot.RED)
    assert "Line 2" in told(Slot.RED)
    assert "Line 1" not in told(Slot.ORANGE)
    assert "Line 2" in told(Slot.ORANGE)
    # A label that is wider than the line is heard is not enough.
    quotes = (quote(1, 2), quote(2, 4))
    assert "Line 1" not in told(Slot.ORANGE)
    # Nor is one that everyone heard, where the label is narrower.
    quotes = (quote(1, 2), quote(2, 4, label=RED))
    assert "Line 2" in told(Slot.RED)
    assert "Line 2" not in told(Slot.ORANGE)


def test_of_a_chunk_the_ten_newest_are_kept_and_the_others_are_counted() -> None:
    quotes = [quote(number, 3, start=number) for number in range(1, 13)] + [quote(20, 9)]
    made = narrated(quotes, play(1, 14), prompts=14)
    told = words_in(made)
    assert [number for number in range(1, 13) if f"Line {number} of" in told] == list(range(3, 13))
    assert "Line 20 of" in told
    assert "2 of the words to keep (no room)" in made.left_out


@pytest.mark.parametrize(("style", "most"), [(PromptStyle.FULL, 1_920), (PromptStyle.SMALL, 160)])
def test_the_section_is_bounded_and_its_pinned_and_newest_quotes_stay(style: PromptStyle, most: int) -> None:
    prompts = 210
    quotes = [quote(prompt, prompt, is_pinned=prompt == 8) for prompt in range(1, prompts + 1)]
    made = narrated(quotes, play(1, prompts, words=4), prompts=prompts, style=style)
    told = words_in(made)
    [segment] = [one for one in made.segments if one.name is SegmentName.WORDS_TO_KEEP]
    assert segment.tokens <= most
    assert "Line 8 of" in told
    assert f"Line {prompts} of" in told
    assert "Line 7 of" not in told
    assert f"{prompts - told.count('Line ')} of the words to keep (no room)" in made.left_out


def test_each_part_has_the_words_of_its_own_prompts_and_fits() -> None:
    mine, events, blocks = session(prompts=70, boundary=70), play(1, 70), memory(10)
    quotes = [quote(prompt, prompt) for prompt in range(1, 71)]
    quotes[0] = replace(quotes[0], evidence=(proof(0, ordinal=2),))
    events = [*events, replace(event(0, "So be it."), ordinal=2)]
    knowledge = known_to_gm(Story(mine, blocks, events, quotes=quotes))
    builder = build(9_000)
    parts = builder.plan_narrative(knowledge, "Plain.", 3_000)
    assert len(parts) > 1
    told: list[int] = []
    for part in parts:
        made = builder.narrative_part(knowledge, part, "Plain.", "x " * 900)
        assert made.tokens <= 9_000
        own = [one for one in range(1, 71) if f"“Line {one} of the oath”" in words_in(made)]
        assert own
        assert all(one in part.prompts for one in own)
        told += own
    assert 1 in told
    assert told == sorted(set(told))


@pytest.mark.parametrize("style", PromptStyle)
def test_quotes_never_make_a_chapter_too_long_to_be_told(style: PromptStyle) -> None:
    mine, events, blocks = session(prompts=14, boundary=14), play(1, 14), memory(2)
    quotes = [replace(quote(one, one), id=ItemId(UUID(int=one))) for one in range(1, 15)]
    with_quotes = known_to_gm(Story(mine, blocks, events, quotes=quotes))
    tried = 0
    for budget in range(600, 6_000, 90):
        builder = build(budget, style)
        try:
            builder.plan_narrative(known_to_gm(Story(mine, blocks, events)), "Plain.", 400)
        except StoryEngineError:
            continue
        tried += 1
        for part in builder.plan_narrative(with_quotes, "Plain.", 400):
            assert builder.narrative_part(with_quotes, part, "Plain.", "x " * 900).tokens <= budget
    assert tried
