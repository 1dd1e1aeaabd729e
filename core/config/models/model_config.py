"""Configuration of the calls of one role: model, account, limits and sampling (design 8)."""

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final

from core.config.models.accounts import OWN, labelled
from core.config.sections import DEFAULT_RECALL_ITEMS, DEFAULT_RECALL_PERCENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters besides the temperature. A parameter that is None is not sent.

    `top_p` and `presence_penalty` are OpenAI's; the rest is llama.cpp's, and other servers may refuse it.
    """

    top_p: float | None = None
    presence_penalty: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_allowed_length: int | None = None
    dry_penalty_last_n: int | None = None

    def sent(self) -> dict[str, float]:
        """Return the fields that are set, by their names in a call."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


NO_SAMPLING: Final = Sampling()
"""Whatever the service does by itself."""
OPENAI_SAMPLING: Final = frozenset({"top_p", "presence_penalty"})
"""The fields of `Sampling` that every service knows."""

SMALL_SAMPLING: Final = Sampling(
    min_p=0.05, repeat_penalty=1.05, dry_multiplier=0.8, dry_allowed_length=3, dry_penalty_last_n=1024
)
"""Keeps a small model from repeating itself within a text."""


CHARACTERS_PER_TOKEN: Final = 10
"""Characters that a token of output has at most on average: prose has about 4.5, indented JSON up to 8."""
LEAST_ANSWER: Final = 4_000
"""Characters that an answer may always have, however small its cap."""


class PromptStyle(StrEnum):
    """Whether a model gets the full system prompt or, being small, a short one with an example."""

    FULL = "full"
    SMALL = "small"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Configuration of one role's calls. Tokens are the service's; before a call they are estimated."""

    model: str
    """The model, as its service knows it."""
    account: str = OWN
    """Name of the account that answers."""
    profile: str = field(default="local", compare=False)
    """Name of the profile whose settings these are."""
    context_window: int
    max_input_tokens: int
    max_output_tokens: int
    timeout: float
    temperature: float | None = None
    requests_per_minute: int | None = None
    max_memory_tokens: int | None = None
    """Cap for structured memory within the input, so that it stays small where the window is large."""
    style: PromptStyle = PromptStyle.FULL
    stop: tuple[str, ...] = ()
    sampling: Sampling = NO_SAMPLING
    recall_percent: int = DEFAULT_RECALL_PERCENT
    """Maximum share of a character's input for recalled items, in percent."""
    recall_items: int = DEFAULT_RECALL_ITEMS
    """Maximum number of items that a character's input recalls."""
    avoids_repeats: bool = False
    """Whether a reply that only repeats something is asked for once more, with other sampling."""

    @property
    def another_try(self) -> "ModelConfig":
        """The same call with sampling that moves further away from earlier answers."""
        if self.style is PromptStyle.SMALL:
            warmer = min(1.0, (self.temperature or 0.0) + 0.5)
            sampling = replace(
                self.sampling, repeat_penalty=1.15, dry_multiplier=1.6, dry_penalty_last_n=4096
            )
            return replace(self, temperature=warmer, sampling=sampling)
        return replace(self, sampling=replace(self.sampling, presence_penalty=0.6))

    @property
    def label(self) -> str:
        """The name of the model beside those of other accounts."""
        return labelled(self.account, self.model)

    @property
    def max_answer_characters(self) -> int:
        """Maximum characters of an answer; a longer one was not written under `max_output_tokens`."""
        return max(LEAST_ANSWER, self.max_output_tokens * CHARACTERS_PER_TOKEN)
