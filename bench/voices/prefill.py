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
from core.providers.base import ChatMessage, Completion, ModelRequest, Provider, TextDelta

PREFILLS: Final = {"name": "{name}:", "quote": '"', "i": "I"}
"""Beginnings of a reply, by the name of the option; `{name}` stands for the character's name."""
_IDENTITY: Final = re.compile(r"^=== AGENT_IDENTITY ===\nName: (?P<name>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """Text of a model, with the beginning that it was given."""

    text: str
    is_unfinished: bool

    def as_reply(self, name: str, others: Sequence[str]) -> str:
        """Return the reply as it would be stored, after the reduction for small models."""
        text, _ = trim_small_reply(self.text, others, own=name, is_unfinished=self.is_unfinished)
        return strip_speaker_name(text, name)


class ComparingProvider:
    """Answers as `provider` does, and has characters answer again: `rounds` times in all with each prefill.

    They answer as often without a prefill, the answer that is used included.
    """

    def __init__(self, provider: Provider, prefills: Sequence[str], rounds: int) -> None:
        self._provider = provider
        self.answers: dict[str, list[list[Answer]]] = {name: [[] for _ in range(rounds)] for name in prefills}
        """The answers that are not used, in order, by the name of the prefill and the round."""
        if prefills:
            self.answers[""] = [[] for _ in range(rounds - 1)]

    @property
    def name(self) -> str:
        """The name of the provider that answers."""
        return self._provider.name

    @property
    def base_url(self) -> str | None:
        """The address of the provider that answers."""
        return self._provider.base_url

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the answer that is used, after the others were noted; see `Provider.stream`."""
        identity = _IDENTITY.search(request.messages[-1].content)
        for name, rounds in self.answers.items() if identity else ():
            beginning = PREFILLS.get(name, "").replace("{name}", identity["name"] if identity else "")
            for answers in rounds:
                answers.append(await self._answer(request, beginning))
        async with aclosing(self._provider.stream(request)) as items:
            async for item in items:
                yield item

    async def _answer(self, request: ModelRequest, beginning: str) -> Answer:
        text, is_unfinished = beginning, False
        begun = (ChatMessage("assistant", beginning),) if beginning else ()
        prefilled = replace(request, messages=(*request.messages, *begun))
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
