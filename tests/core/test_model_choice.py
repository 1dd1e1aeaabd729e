"""Which model serves whom: weights of the GM's own are not treated as the very small model."""

from pathlib import Path

import pytest

from core.model_choice import LOCAL_MODEL, AgentRole, PromptStyle, choose_model
from core.settings import AgentSettings, ProfileSettings


@pytest.mark.parametrize("role", AgentRole)
def test_other_weights_get_whole_prompts_room_to_answer_and_their_own_name(role: AgentRole) -> None:
    bundled = choose_model(ProfileSettings(provider="local"), role)
    own = choose_model(ProfileSettings(provider="local", model_path=Path("/models/llama-8b.gguf")), role)
    assert (bundled.model, bundled.style) == (LOCAL_MODEL, PromptStyle.SMALL)
    assert (own.model, own.style, own.stop) == ("llama-8b", PromptStyle.FULL, ())
    assert own.max_output_tokens > bundled.max_output_tokens
    assert own.max_input_tokens + own.max_output_tokens == own.context_window


def test_caps_that_are_set_hold_for_other_weights_too() -> None:
    profile = ProfileSettings(
        provider="local",
        model_path=Path("/models/llama-8b.gguf"),
        character=AgentSettings(context_window=32_768, max_output_tokens=600),
    )
    choice = choose_model(profile, AgentRole.CHARACTER)
    assert (choice.context_window, choice.max_output_tokens) == (32_768, 600)
