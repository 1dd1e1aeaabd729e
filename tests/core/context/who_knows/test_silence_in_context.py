"""What a character's input says of silence and of those who are away, and that it says nothing else."""

from dataclasses import replace

import pytest

from core.agents.context_builder import Context, ContextBuilder
from core.agents.role.prompt_file import in_place_of_text
from core.agents.sections import silence
from core.config.models.model_config import PromptStyle
from core.domain.audience import EVERYONE, Audience
from core.domain.session.prompt_block import PromptBlock, PromptBlocks
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.silence import read_spoken
from core.text.delimiters import SegmentName
from tests.core.values.sessions import choices, event, known, memory, play, session

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


def built(mine: Session, style: PromptStyle = PromptStyle.FULL, *, needs_words: bool = False) -> Context:
    told = known(mine, memory(1, words=4), play(8, 9, words=4))
    return ContextBuilder(choices(8_000, style)).character(told, "Well?", needs_words=needs_words)


def text_of(context: Context) -> str:
    return "\n".join(message.content for message in context.messages)


@pytest.mark.parametrize("style", PromptStyle)
def test_a_character_that_may_not_be_silent_has_the_input_that_it_always_had(style: PromptStyle) -> None:
    mine = session(prompts=9, boundary=7)
    others = replace(mine, may_be_silent=Audience.of([ORANGE, YELLOW]), hint_after=9)
    assert built(others, style) == built(mine, style)


@pytest.mark.parametrize("style", PromptStyle)
def test_the_rule_stands_behind_the_system_prompt_and_its_version_is_named(style: PromptStyle) -> None:
    mine = session(prompts=9, boundary=7)
    plain, allowed = built(mine, style), built(replace(mine, may_be_silent=EVERYONE), style)
    rule = silence.load_rule(style)
    names = [segment.name for segment in allowed.segments]
    assert names == [SegmentName.SYSTEM_PROMPT, *[segment.name for segment in plain.segments]]
    assert allowed.segments[1].text == rule.text
    assert allowed.prompt_version == f"{plain.prompt_version}+silence@{rule.version}"
    assert in_place_of_text(allowed.prompt_version, rule.text).startswith(allowed.prompt_version)
    assert silence.is_allowed_by(allowed.prompt_version)
    assert not silence.is_allowed_by(plain.prompt_version)
    for mark in ("[action]", "[silent]", "[why]"):
        assert mark in rule.text


def test_a_request_that_needs_words_has_no_rule_of_silence() -> None:
    mine = session(prompts=9, boundary=7)
    assert built(replace(mine, may_be_silent=EVERYONE), needs_words=True) == built(mine)


def test_prompt_blocks_stay_behind_the_rule_and_before_the_material() -> None:
    mine = replace(session(prompts=9, boundary=7), may_be_silent=EVERYONE)
    blocks = PromptBlocks(blocks=(PromptBlock(id=1, name="Weather", text="It always rains."),))
    build = ContextBuilder(choices(8_000)).with_prompt_blocks(blocks)
    made = build.character(known(mine, memory(1, words=4), play(8, 9, words=4)), "Well?")
    assert [segment.name for segment in made.segments][:4] == [
        SegmentName.SYSTEM_PROMPT,
        SegmentName.SYSTEM_PROMPT,
        SegmentName.PROMPT_BLOCK,
        SegmentName.AGENT_IDENTITY,
    ]


def test_no_mark_of_the_rule_itself_is_taken_for_a_reply() -> None:
    """A small model may repeat its prompt: then the marks hide it, and the GM re-rolls."""
    for style in PromptStyle:
        assert read_spoken(silence.load_rule(style).text).text != silence.load_rule(style).text


@pytest.mark.parametrize("style", PromptStyle)
def test_the_others_are_told_who_is_away_just_before_the_prompt(style: PromptStyle) -> None:
    mine = session(prompts=9, boundary=7, names={ORANGE: "Joss"})
    away = built(replace(mine, away={ORANGE: 0, YELLOW: 10}), style)
    names = [segment.name for segment in away.segments]
    assert names[names.index(SegmentName.USER_PROMPT) - 1] is SegmentName.AGENT_ROSTER
    roster = next(segment.text for segment in away.segments if segment.name is SegmentName.AGENT_ROSTER)
    assert "Joss is away" in roster
    assert "Agent Yellow" not in roster  # back at prompt 10, which is this one
    assert [one for one in away.segments if one.name is not SegmentName.AGENT_ROSTER] == list(
        built(mine, style).segments
    )


def test_an_input_is_as_it_was_when_nobody_else_is_away() -> None:
    mine = session(prompts=9, boundary=7)
    assert built(replace(mine, away={RED: 0})) == built(mine)
    assert built(replace(mine, away={ORANGE: 5})) == built(mine)


def test_others_read_that_a_character_said_nothing_and_never_why() -> None:
    mine = session(prompts=1, names={ORANGE: "Joss"})
    spoken = read_spoken("[silent]\n[why] CANARY of fear")
    events = [event(1, "Who was it?"), replace(event(1, spoken.text, ORANGE), metadata=spoken.metadata)]
    build = ContextBuilder(choices(8_000))
    text = text_of(build.character(known(mine, memory(0), events), "And you?"))
    assert "Joss says nothing." in text
    assert "CANARY" not in text
