"""Questions of the program to a character: whether it adds something, its addition, and whether it speaks.

Each input is the one that the character has for a prompt, with a text of the program in the place of the
prompt (design 17).
"""

from dataclasses import dataclass, replace
from typing import Final

from core.agents.answers.json_output import InvalidMemoryError, is_true, read_object
from core.agents.answers.schema import record, text_of
from core.agents.role.prompt_file import load_prompt
from core.config.models.model_config import PromptStyle
from core.context.segments import Context
from core.domain.agent_role import AgentRole
from core.providers.base import OutputSchema
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.numbers import counted

LONGEST_REASON: Final = 300
_DECISION: Final = record(reason=text_of(LONGEST_REASON), speaks={"type": "boolean"})
_KEYS: Final = ("reason", "speaks")
AFTERTHOUGHT: Final = OutputSchema("afterthought", _DECISION)
HEARTBEAT: Final = OutputSchema("heartbeat", _DECISION)


@dataclass(frozen=True, slots=True)
class SpeakingQuestion:
    """A text of the program that asks a character, and the version of its file."""

    name: str
    version: str
    text: str

    def marked(self, context: Context) -> Context:
        """Return the input with this file in its version."""
        return replace(context, prompt_version=f"{context.prompt_version}+{self.name}@{self.version}")


def decision(style: PromptStyle, seconds: int) -> SpeakingQuestion:
    """Return the question whether a character adds something after that many seconds."""
    return _asked("afterthought", style, time=in_words(seconds))


def addition(style: PromptStyle, seconds: int) -> SpeakingQuestion:
    """Return the question that asks a character for its addition."""
    return _asked("addition", style, time=in_words(seconds))


def heartbeat(style: PromptStyle, prompts: int) -> SpeakingQuestion:
    """Return the question whether a character that was silent for that many prompts asks for a word."""
    return _asked("heartbeat", style, prompts=counted(prompts, "prompt"))


def speaks(text: str) -> bool:
    """Whether the answer to a question says so; an answer that cannot be read does not."""
    try:
        return is_true(read_object(text, _KEYS).value.get("speaks"))
    except InvalidMemoryError:
        return False


def reason_of(text: str) -> str:
    """Return the reason in the answer to a question, as one line; empty where it cannot be read."""
    try:
        reason = read_object(text, _KEYS).value.get("reason")
    except InvalidMemoryError:
        return ""
    return head(clean_line(reason), LONGEST_REASON) if isinstance(reason, str) else ""


def in_words(seconds: int) -> str:
    """Return a length of time, such as `5 minutes`."""
    for unit, size in (("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            return counted(seconds // size, unit)
    return "a moment"


def _asked(name: str, style: PromptStyle, **values: str) -> SpeakingQuestion:
    prompt = load_prompt(name, style, role=AgentRole.CHARACTER)
    text = prompt.text
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return SpeakingQuestion(name, prompt.version, text)
