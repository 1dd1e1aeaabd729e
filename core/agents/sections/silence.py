"""The rule by which a character may act without words or say nothing, in its input (design 17).

A character that may not has the input that it always had.
"""

from dataclasses import replace
from typing import Final

from core.agents.role.prompt_file import SystemPrompt, load_prompt
from core.agents.role.setup import AgentSetup
from core.config.models.model_config import PromptStyle
from core.context.segments import plain
from core.domain.agent_role import AgentRole
from core.text.delimiters import SegmentName

_LABEL: Final = "+silence@"


def load_rule(style: PromptStyle) -> SystemPrompt:
    """Read the rule in `style`."""
    return load_prompt("silence", style, role=AgentRole.CHARACTER)


def with_rule(setup: AgentSetup) -> AgentSetup:
    """Return a character's setup with the rule behind its system prompt."""
    rule = load_rule(setup.style)
    system, *others = setup.beginning
    added = plain(SegmentName.SYSTEM_PROMPT, rule.text, setup.style, "system")
    version = f"{setup.prompt.version}{_LABEL}{rule.version}"
    cue = f"{setup.prompt.cue} {rule.cue}".strip()
    return replace(
        setup, prompt=replace(setup.prompt, version=version, cue=cue), beginning=(system, added, *others)
    )


def is_allowed_by(prompt_version: str) -> bool:
    """Whether the input of a call had the rule; `prompt_version` is that of its artifact."""
    return _LABEL in prompt_version
