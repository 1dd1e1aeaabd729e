"""Estimates the tokens of a text before a call; afterwards the provider's count is known.

Estimates err on the high side of common vocabularies: English prose takes about four characters a token,
JSON fewer, other scripts are counted by their UTF-8 bytes. A very small model has a small vocabulary
that was made for English, so it spends far more on other scripts.
"""

from core.config.models.model_config import PromptStyle

_ASCII_PER_TOKEN = {PromptStyle.FULL: 3.5, PromptStyle.SMALL: 2.8}
_BYTES_PER_TOKEN = {PromptStyle.FULL: 2.0, PromptStyle.SMALL: 1.4}

TOKENS_PER_MESSAGE = 6
"""Maximum tokens that a chat template adds around a message."""


def estimate_tokens(text: str, style: PromptStyle = PromptStyle.FULL) -> int:
    """Return how many tokens `text` takes, at a guess that is rather too high than too low."""
    ascii_count = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_count
    tokens = ascii_count / _ASCII_PER_TOKEN[style] + other_bytes / _BYTES_PER_TOKEN[style]
    return int(tokens) + 1 if text else 0


def characters_for(tokens: int, text: str, style: PromptStyle = PromptStyle.FULL) -> int:
    """Return how many characters of `text` take about `tokens`, by its average; at least one."""
    if not text:
        return 1
    return max(1, tokens * len(text) // estimate_tokens(text, style))
