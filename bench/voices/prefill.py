"""Gives the beginning of a character's reply to a model, as a last assistant message to go on with."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from core.providers.base import Completion, Message, ModelRequest, Provider, TextDelta

PREFILLS: Final = {"none": "", "name": "{name}:", "quote": '"', "i": "I"}
"""What a reply begins with, by the name of the option; `{name}` stands for the character's name."""
_IDENTITY: Final = re.compile(r"^=== AGENT_IDENTITY ===\nName: (?P<name>.+)$", re.MULTILINE)


class PrefilledProvider:
    """Answers as `provider` does; replies of characters begin with `beginning`, which is part of them."""

    def __init__(self, provider: Provider, beginning: str) -> None:
        self._provider = provider
        self._beginning = beginning

    @property
    def name(self) -> str:
        """The name of the provider that answers."""
        return self._provider.name

    @property
    def base_url(self) -> str | None:
        """The address of the provider that answers."""
        return self._provider.base_url

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the beginning, then what the model wrote after it; see `Provider.stream`."""
        identity = _IDENTITY.search(request.messages[-1].content)
        if identity is not None and self._beginning:
            beginning = self._beginning.replace("{name}", identity["name"])
            request = replace(request, messages=(*request.messages, Message("assistant", beginning)))
            yield TextDelta(beginning)
        async with aclosing(self._provider.stream(request)) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close the provider that answers."""
        await self._provider.aclose()
