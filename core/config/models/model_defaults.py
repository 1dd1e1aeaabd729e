"""Default parameters of calls: length, window, sampling and limits (design 7)."""

from dataclasses import replace
from typing import Final

from core.config.models.model_config import SMALL_SAMPLING, ModelConfig, PromptStyle
from core.domain.agent_role import AgentRole

LOCAL_MODEL = "smollm2-135m-instruct"

WINDOWS: Final = {"o4-mini": 200_000, "gpt-5.2": 400_000}
"""Context windows of the default models; that of another one is unknown until `context_window` is set."""


def _remote(model: str, output: int, *, timeout: float, memory: int | None = None) -> ModelConfig:
    window = WINDOWS[model]
    return ModelConfig(
        model=model,
        context_window=window,
        max_input_tokens=window - output,
        max_output_tokens=output,
        timeout=timeout,
        max_memory_tokens=memory,
    )


REMOTE: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _remote("o4-mini", 12_000, timeout=120),
    AgentRole.CHARACTER: _remote("o4-mini", 8_000, timeout=120, memory=16_000),
    AgentRole.CONTEXT_SUMMARY: _remote("o4-mini", 12_000, timeout=180, memory=32_000),
    AgentRole.NARRATIVE: _remote("gpt-5.2", 32_000, timeout=300, memory=128_000),
}
CAUTIOUS_INPUT: Final = {
    AgentRole.WORLD_LOCK: 16_000,
    AgentRole.CHARACTER: 24_000,
    AgentRole.CONTEXT_SUMMARY: 48_000,
    AgentRole.NARRATIVE: 200_000,
}
"""Tokens of input for a model whose window is not known."""


def _local(
    output: int, *, temperature: float, stop: tuple[str, ...] = (), timeout: float = 120
) -> ModelConfig:
    return ModelConfig(
        model=LOCAL_MODEL,
        context_window=8_192,
        max_input_tokens=8_192 - output,
        max_output_tokens=output,
        timeout=timeout,
        temperature=temperature,
        style=PromptStyle.SMALL,
        stop=stop,
        sampling=SMALL_SAMPLING,
    )


LOCAL: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _local(1_600, temperature=0.2),
    AgentRole.CHARACTER: _local(80, temperature=0.3, stop=("GM:", "\n\n")),
    AgentRole.CONTEXT_SUMMARY: _local(1_600, temperature=0.2),
    AgentRole.NARRATIVE: _local(250, temperature=0.2),
}

SMALL: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _local(1_600, temperature=0.2, timeout=300),
    AgentRole.CHARACTER: _local(220, temperature=0.6, stop=("GM:", "\n\n"), timeout=300),
    AgentRole.CONTEXT_SUMMARY: _local(1_600, temperature=0.2, timeout=300),
    AgentRole.NARRATIVE: replace(
        _local(300, temperature=0.5, timeout=300),
        # Prose has to name what the transcript names, so only long runs of its words count as a loop.
        sampling=replace(SMALL_SAMPLING, dry_allowed_length=6, dry_penalty_last_n=2048),
    ),
}
"""Configuration of a small model of the GM's own or of a service; it writes more than the bundled one."""

OWN_WEIGHTS_OUTPUT = {
    AgentRole.WORLD_LOCK: 2_000,
    AgentRole.CHARACTER: 1_000,
    AgentRole.CONTEXT_SUMMARY: 2_000,
    AgentRole.NARRATIVE: 3_000,
}
"""Tokens of output for any other GGUF, within the context that the local server has by default."""

DEFAULT_LIMITS = {
    AgentRole.WORLD_LOCK: 30,
    AgentRole.CHARACTER: 240,
    AgentRole.CONTEXT_SUMMARY: 120,
    AgentRole.NARRATIVE: 120,
}
"""Calls a minute to a service, by role, where the settings say nothing else.

They stop a fault that would call without end, and disturb no play. The calls of a chapter follow each other.
The fastest service known writes a short reply in about a quarter of a second, network included: 240 in a
minute, for all characters together, with one summary for every seven of them, two calls each when its JSON
has to be asked for again. A lock is made once a chapter, and the parts of a narrative take more than a half
second each. A GM at the keyboard needs a tenth of that. Services with a lower limit of their own say so, and
their wait is kept; a limit in the settings that matches theirs saves the refused calls.
"""
