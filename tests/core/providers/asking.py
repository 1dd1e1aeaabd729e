"""Asks a provider, and collects what comes."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from core.domain.errors import ErrorCode
from core.providers.base import (
    ChatMessage,
    Completion,
    ModelRequest,
    OutputSchema,
    Provider,
    ProviderError,
    TextDelta,
)

KEY = "sk-proj-0123456789abcdefSECRET"
GENEROUS = 60.0
"""Seconds: longer than anything takes that is meant to succeed."""

_PATIENCE = 100.0

TINY_SCHEMA = OutputSchema(
    "turn_delta",
    {
        "type": "object",
        "properties": {"memory_type": {"const": "turn_delta"}, "what": {"type": "string", "maxLength": 30}},
        "required": ["memory_type", "what"],
        "additionalProperties": False,
    },
)


def request(text: str = "The door opens.", **changes: Any) -> ModelRequest:
    """A request of a character, with what a test changes."""
    fields: dict[str, Any] = {
        "messages": (ChatMessage("system", "You are Mira."), ChatMessage("user", text)),
        "model": "test-model",
        "max_output_tokens": 100,
        "timeout": GENEROUS,
    }
    return ModelRequest(**{**fields, **changes})


async def ask(provider: Provider, asked: ModelRequest | None = None) -> tuple[str, Completion]:
    """Return the whole text and the completion, which must come last."""
    texts: list[str] = []
    completion: Completion | None = None
    async with asyncio.timeout(_PATIENCE), aclosing(provider.stream(asked or request())) as items:
        async for item in items:
            assert completion is None, "nothing may follow the completion"
            if isinstance(item, TextDelta):
                texts.append(item.text)
            else:
                completion = item
    assert completion is not None
    return "".join(texts), completion


async def fail(provider: Provider, code: ErrorCode, asked: ModelRequest | None = None) -> ProviderError:
    """Ask, and return the error, which must have `code`, a sentence and no trace of the key."""
    with pytest.raises(ProviderError) as caught:
        await ask(provider, asked)
    error = caught.value
    assert error.code is code, f"{error.code}: {error.message}"
    assert error.message.rstrip("”").endswith((".", "…")) or "said" in error.message
    assert error.__cause__ is None or KEY not in str(error.__cause__)
    for part in (str(error), error.message, error.hint):
        assert KEY not in part
        assert "SECRET" not in part
    return error
