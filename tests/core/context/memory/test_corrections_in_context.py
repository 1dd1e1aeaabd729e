"""How corrections of canon stand in an input, and how long they are."""

from dataclasses import replace

import pytest

from core.config.models.model_config import PromptStyle
from core.context.memory_digest import MemoryDigester
from core.domain.story.memory import BlockType, correction_payload, corrections_length
from tests.core.values.sessions import delta_block, lock_block


def test_corrections_are_as_long_as_their_texts_together_and_other_memory_counts_nothing() -> None:
    correction = replace(
        delta_block(1), type=BlockType.CANON_CORRECTION, payload=correction_payload("Iron is soft.", 7)
    )
    delta = delta_block(2)
    other = replace(delta, payload={**delta.payload, "correction": "A key that a model added."})
    assert corrections_length([lock_block(), other]) == 0
    assert corrections_length([lock_block(), correction, other, correction]) == 26


@pytest.mark.parametrize(
    ("style", "line"),
    [
        (PromptStyle.FULL, '"correction":"Iron is soft."'),
        (PromptStyle.SMALL, "GM correction: Iron is soft. This GM correction replaces what memory"),
    ],
)
def test_a_correction_is_json_for_a_large_model_and_a_sentence_for_a_small_one(
    style: PromptStyle, line: str
) -> None:
    correction = replace(
        delta_block(1), type=BlockType.CANON_CORRECTION, payload=correction_payload("Iron is soft.", 7)
    )
    assert line in MemoryDigester(style).digest([lock_block(), correction], 4_000).text
