"""The prompt blocks that a GM may begin with."""

from dataclasses import replace

import pytest

from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings, ProviderName
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlock, PromptBlocks, problems_of_blocks
from core.exchange.library.starting_set import starting_set, with_starting_set
from tests.core.values.sessions import TAB1, session


def test_there_are_sixteen_roles_in_the_orders_of_the_design() -> None:
    blocks = starting_set()
    assert [block.order for block in blocks] == [
        *(100, 200, 300, 400, 500, 600, 600, 700),
        *(900, 1_000, 1_100, 1_200, 1_300, 1_400, 1_500, 1_600),
    ]
    assert len({block.name.casefold() for block in blocks}) == 16
    assert not list(problems_of_blocks(PromptBlocks(blocks=blocks)))


def test_no_text_holds_speech_that_a_small_model_would_repeat() -> None:
    for block in starting_set():
        assert not set(block.text) & set('"“”'), block.name
        assert " I " not in f" {block.text} "


@pytest.mark.parametrize("provider", ["local", "openai"])
def test_all_of_it_may_be_switched_on_with_every_default_model(provider: ProviderName) -> None:
    build = ContextBuilder(choose_models(ProfileSettings(provider=provider)))
    made = build.with_prompt_blocks(PromptBlocks(blocks=starting_set()))
    made.require_room_for_prompt_blocks(session(), TAB1, ())


def test_it_is_added_once_beside_what_is_there_and_switched_off() -> None:
    own = PromptBlock(id=3, name="feelings", text="Mine.")
    made = with_starting_set(NO_PROMPT_BLOCKS.with_block(own))
    assert made.find(3) == own
    others = [replace(block, id=0, is_on=True) for block in made.blocks if block.id != 3]
    wanted = [replace(block, id=0) for block in starting_set() if block.name != "Feelings"]
    assert others == wanted
    assert not [block for block in made.blocks if block.is_on and block != own]
    assert with_starting_set(made) == made
    assert not list(problems_of_blocks(made))
