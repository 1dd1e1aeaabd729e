"""Messages for services that take those of user and assistant only by turns (design 8)."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from core.providers.base import ChatMessage

OPENING: Final = "Begin."
"""Text of a user message put before a first message of the assistant."""

_STRICT_HOSTS: Final = frozenset(
    {
        # Refuses with "user and assistant roles should be alternating".
        "api.perplexity.ai",
        # Its compatible endpoint hoists every system message to the beginning, which changes the order.
        "api.anthropic.com",
    }
)
# The chat templates that come with these models raise "conversation roles must alternate user/assistant";
# a server that renders them (vLLM, llama.cpp, text-generation-webui) answers with that error.
_STRICT_MODELS: Final = re.compile(
    r"(?<![a-z])(?:gemma|mistral|mixtral|ministral|codestral|llama-?2(?![\d.]))"
)


def must_alternate(setting: bool | None, base_url: str, model: str) -> bool:
    """Whether `model` at `base_url` takes roles only by turns: as it is set, else what is known of it."""
    if setting is not None:
        return setting
    return urlsplit(base_url).hostname in _STRICT_HOSTS or bool(_STRICT_MODELS.search(model.lower()))


def bridged(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return `messages` with one system message at most, then user and assistant by turns, the user first.

    Neighbours with the same role become one, in their order; a system message after the first other one is
    the user's. Messages that are so already come back as they are.
    """
    joined: list[ChatMessage] = []
    for message in messages:
        is_late = message.role == "system" and joined and joined[-1].role != "system"
        role = "user" if is_late else message.role
        if joined and joined[-1].role == role:
            joined[-1] = ChatMessage(role, f"{joined[-1].content}\n\n{message.content}")
            continue
        if role == "assistant" and not any(one.role == "user" for one in joined):
            joined.append(ChatMessage("user", OPENING))
        joined.append(ChatMessage(role, message.content))
    return tuple(joined)
