"""The two inputs of an afterthought: whether a character adds something, and what it adds (design 17).

Both are the input that the character has for a prompt, with a text of the program in the place of the prompt.
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from core.agents.json_output import InvalidMemoryError, read_object
from core.agents.prompt_file import SystemPrompt, parse_prompt
from core.agents.schema import record
from core.config.models import AgentRole, PromptStyle
from core.context.segments import Context
from core.providers.base import OutputSchema

SCHEMA: Final = OutputSchema(
    "afterthought", record(reason={"type": "string", "maxLength": 300}, speaks={"type": "boolean"})
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A text of the program that asks a character, and the version of its file."""

    name: str
    version: str
    text: str

    def marked(self, context: Context) -> Context:
        """Return the input with this file in its version."""
        return replace(context, prompt_version=f"{context.prompt_version}+{self.name}@{self.version}")


def decision(style: PromptStyle, seconds: int) -> Asked:
    """Return the question whether a character adds something after that many seconds."""
    return _asked("afterthought", style, seconds)


def addition(style: PromptStyle, seconds: int) -> Asked:
    """Return what asks a character for what it adds."""
    return _asked("addition", style, seconds)


def speaks(text: str) -> bool:
    """Whether the answer to the question says so; an answer that cannot be read does not."""
    try:
        return read_object(text).value.get("speaks") is True
    except InvalidMemoryError:
        return False


def in_words(seconds: int) -> str:
    """Return a length of time, such as `5 minutes`."""
    for unit, size in (("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            count = seconds // size
            return f"{count:,} {unit}" if count == 1 else f"{count:,} {unit}s"
    return "a moment"


def _asked(name: str, style: PromptStyle, seconds: int) -> Asked:
    prompt = _load(name, style)
    return Asked(name, prompt.version, prompt.text.replace("{time}", in_words(seconds)))


@cache
def _load(name: str, style: PromptStyle) -> SystemPrompt:
    file = f"{name}.md" if style is PromptStyle.FULL else f"{name}.{style}.md"
    source = files("core.agents").joinpath("prompts", file).read_text(encoding="utf-8")
    return parse_prompt(source, AgentRole.CHARACTER, style)
