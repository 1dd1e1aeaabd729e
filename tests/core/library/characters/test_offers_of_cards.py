"""What a card has besides name and identity is offered to a chapter, each text at its place."""

from core.domain.agent_role import AgentRole
from core.domain.ids import CharacterId, new_uuid
from core.domain.session.prompt_block import BlockPlace, PromptBlock, PromptBlocks, problems_of_blocks
from core.domain.slot import Slot
from core.library.cards.card_file import read_card
from core.library.characters.offers import (
    Offer,
    block_of,
    offers_of,
    with_offer,
    with_text,
    without_text,
)
from tests.core.library.cards.card_samples import V3, text_of

KARA = CharacterId(new_uuid())


def offers(**fields: object) -> dict[str, Offer]:
    card = {**V3, "data": {**V3["data"], **fields}}
    return {one.word: one for one in offers_of(read_card(text_of(card), "").card, KARA, "Kara")}


def test_each_text_is_offered_by_a_word_with_its_macros_expanded() -> None:
    found = offers(scenario="{{char}} waits for {{user}}.")
    assert {word: one.text for word, one in found.items()} == {
        "scenario": "Kara waits for {{user}}.",
        "greeting": "Who is there?",
        "examples": "<START>\n{{user}}: Hi",
        "system": "Be brief.",
        "post-history": "Stay dry.",
        "greeting-2": "Come in.",
        "greeting-3": "Go away.",
        "greeting-4": "Ahoy, all.",
        "depth": "Rain.",
    }


def test_a_text_of_nothing_but_macros_for_rules_of_the_program_is_no_offer() -> None:
    assert "system" not in offers(system_prompt=" {{original}} ")


def test_prompt_blocks_are_for_the_character_alone_and_stand_where_the_card_has_them() -> None:
    blocks = PromptBlocks(blocks=(PromptBlock(id=1, name="Mine", text="Mine.", order=800),))
    for one in offers().values():
        if one.is_block:
            blocks = with_offer(blocks, one, Slot.ORANGE, "Kara")
    assert not list(problems_of_blocks(blocks))
    told = blocks.applying(AgentRole.CHARACTER, Slot.ORANGE)
    rules = [one.text for one in told if one.place is BlockPlace.RULES]
    assert rules == ["Be brief.", "Mine.", "Rain.", "Stay dry."]
    assert [one.text for one in told if one.place is BlockPlace.MATERIAL] == ["<START>\n{{user}}: Hi"]
    for other in (Slot.RED, None):
        assert [one.name for one in blocks.applying(AgentRole.CHARACTER, other)] == ["Mine"]


def test_an_offer_that_is_taken_again_is_one_block() -> None:
    system = offers()["system"]
    blocks = with_offer(PromptBlocks(), system, Slot.RED, "K" * 100, "Short.")
    made = block_of(system, blocks, Slot.RED, "K" * 100)
    assert made is not None
    assert made.text == "Short."
    again = with_offer(blocks, system, Slot.RED, "K" * 100)
    assert [one.text for one in again.blocks] == ["Be brief."]
    assert block_of(system, again, Slot.ORANGE, "K" * 100) is None
    assert not list(problems_of_blocks(again))


def test_a_text_of_the_chapter_comes_out_again_as_it_went_in() -> None:
    assert with_text(" ", "A storm.") == "A storm."
    chapter = with_text("It begins.\n", "A storm.")
    assert chapter == "It begins.\n\nA storm."
    assert without_text(chapter, "A storm.") == "It begins."
    assert without_text(with_text(chapter, "Then."), "A storm.") == "It begins.\n\nThen."


def test_a_text_that_comes_out_of_the_chapter_takes_none_of_the_words_of_the_gm_along() -> None:
    for own in ("The storm. It never ends.", "It begins.\n\nThe storm. It never ends.", "See: The storm."):
        assert without_text(with_text(own, "The storm."), "The storm.") == own
    chapter = "It begins.\n\nThe storm. It never ends."
    assert without_text(chapter, "The storm.") == "It begins. It never ends."
    assert without_text("  See: The storm.", "The storm.") == "  See: The storm."
