"""Sampling parameters of a model besides temperature; they go with the style of its prompts (design 8)."""

from dataclasses import dataclass, fields
from typing import Final


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
