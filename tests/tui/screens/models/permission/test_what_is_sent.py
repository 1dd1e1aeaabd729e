"""The question before text leaves this machine names all that an input may have of the GM and the story."""

from typing import Final

import pytest

from core.text.delimiters import SegmentName
from storyengine_tui.screens.models.permission.consent_modal import WHAT_IS_SENT

OF_THE_PROGRAM: Final = {
    SegmentName.SYSTEM_PROMPT,
    SegmentName.EXAMPLE_INPUT,
    SegmentName.EXAMPLE_OUTPUT,
    SegmentName.LENGTH_TARGET,
    SegmentName.PART,
    SegmentName.TASK,
    SegmentName.CUE,
    SegmentName.FAILED_OUTPUT,
    SegmentName.PROBLEMS,
}
"""Rules of the program, and what a model has answered."""
NAMED: Final = {
    SegmentName.WORLD_TEXT: "world",
    SegmentName.CHAPTER_TEXT: "chapter",
    SegmentName.AGENT_ROSTER: "cast",
    SegmentName.AGENT_IDENTITY: "cast",
    SegmentName.CHARACTER_SHEET: "memory bank",
    SegmentName.SECRETS: "secrets",
    SegmentName.STRUCTURED_MEMORY: "structured memory",
    SegmentName.RECENT_CONTEXT: "prompts, lines and replies",
    SegmentName.LORE: "lore",
    SegmentName.RECALLED: "memory bank",
    SegmentName.USER_PROMPT: "prompts, lines",
    SegmentName.STRUCTURED_MEMORY_SO_FAR: "structured memory",
    SegmentName.RECENT_CONTEXT_CHUNK: "prompts, lines and replies",
    SegmentName.NARRATIVE_AGENT_DEFINITION: "narrative definition",
    SegmentName.STORY_SO_FAR: "replies",
    SegmentName.WORDS_TO_KEEP: "memory bank",
    SegmentName.FULL_TRANSCRIPT: "replies",
    SegmentName.GM_TEXT: "texts you want help with",
    SegmentName.NOTE: "texts you want help with",
    SegmentName.PROMPT_BLOCK: "prompt blocks",
}


def test_each_section_of_an_input_is_of_the_program_or_named_in_the_question() -> None:
    assert OF_THE_PROGRAM | NAMED.keys() == set(SegmentName)


@pytest.mark.parametrize(("section", "words"), NAMED.items())
def test_the_question_names_what_a_section_has(section: SegmentName, words: str) -> None:
    assert words in WHAT_IS_SENT, section
