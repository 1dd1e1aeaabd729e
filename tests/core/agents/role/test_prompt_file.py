"""What is shown in place of a system prompt: its version, its hash and how long it is, never its text."""

import pytest

from core.agents.role.prompt_file import EXPORTED, PRINTED, in_place_of_text, load_prompt
from core.config.models.model_config import PromptStyle
from core.context.tokens import estimate_tokens
from core.domain.agent_role import AgentRole
from core.domain.requests.request import Content


@pytest.mark.parametrize("style", PromptStyle)
@pytest.mark.parametrize("role", AgentRole)
def test_a_hidden_prompt_is_known_by_version_hash_and_length(role: AgentRole, style: PromptStyle) -> None:
    prompt = load_prompt(role, style)
    shown = in_place_of_text(prompt.label, prompt.text)
    assert prompt.label in shown
    assert Content.of(prompt.text).hash in shown
    assert f"about {estimate_tokens(prompt.text, style):,} tokens" in shown
    assert prompt.text not in shown
    assert shown.endswith(PRINTED)


def test_a_prompt_that_was_sent_is_looked_for_in_the_export() -> None:
    """The command for the next input of a character has no prompts of other agents or of earlier programs."""
    shown = in_place_of_text("world_lock/full@1", "You lock the world.", was_sent=True)
    assert shown.endswith(EXPORTED)
    assert PRINTED not in shown
