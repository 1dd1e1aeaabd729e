"""Asks for each reply of a character again, with the beginning of the reply given to the model.

The beginning is a last assistant message that the model goes on with. Both replies are to the same input: the
chapter goes on with the first, and the others are compared with it.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from core.agents.character import strip_speaker_name, trim_small_reply
from core.providers.base import Completion, Message, ModelRequest, Provider, TextDelta

PREFILLS: Final = {"name": "{name}:", "quote": '"', "i": "I"}
"""What a reply begins with, by the name of the option; `{name}` stands for the character's name."""
_IDENTITY: Final = re.compile(r"^=== AGENT_IDENTITY ===\nName: (?P<name>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote, with the beginning that it was given."""

    text: str
    is_unfinished: bool

    def as_reply(self, name: str, others: Sequence[str]) -> str:
        """Return what a small model's reply is reduced to, as it would be stored."""
        text, _ = trim_small_reply(self.text, others, own=name, is_unfinished=self.is_unfinished)
        return strip_speaker_name(text, name)


class ComparingProvider:
    """Answers as `provider` does, and has characters answer with each of `prefills` as well."""

    def __init__(self, provider: Provider, prefills: Sequence[str]) -> None:
        self._provider = provider
        self.answers: dict[str, list[Answer]] = {name: [] for name in prefills}
        """The answers to the calls of characters, in order, by the name of the prefill."""

    @property
    def name(self) -> str:
        """The name of the provider that answers."""
        return self._provider.name

    @property
    def base_url(self) -> str | None:
        """The address of the provider that answers."""
        return self._provider.base_url

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the answer without a prefill, after those with one were noted; see `Provider.stream`."""
        identity = _IDENTITY.search(request.messages[-1].content)
        for name, answers in self.answers.items():
            if identity is not None:
                beginning = PREFILLS[name].replace("{name}", identity["name"])
                answers.append(await self._answer(request, beginning))
        async with aclosing(self._provider.stream(request)) as items:
            async for item in items:
                yield item

    async def _answer(self, request: ModelRequest, beginning: str) -> Answer:
        text, is_unfinished = beginning, False
        prefilled = replace(request, messages=(*request.messages, Message("assistant", beginning)))
        async with aclosing(self._provider.stream(prefilled)) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    text += item.text
                else:
                    is_unfinished = item.finish_reason == "length"
        return Answer(text, is_unfinished)

    async def aclose(self) -> None:
        """Close the provider that answers."""
        await self._provider.aclose()
