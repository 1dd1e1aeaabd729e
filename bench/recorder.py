"""A scripted model that keeps what it is asked: for benchmarks and tests that look at inputs."""

import re
from collections.abc import AsyncGenerator

from core.domain.slot import Slot
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Script

_SLOT = re.compile(r"^Slot: (\d) ", re.MULTILINE)


class Recorder(ScriptedProvider):
    """The scripted provider, with every request in `calls`."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script)
        self.calls: list[ModelRequest] = []

    @property
    def sent(self) -> list[tuple[Slot, str]]:
        """The inputs of characters as texts, each with its slot."""
        texts = ("\n".join(message.content for message in request.messages) for request in self.calls)
        return [(Slot(int(found[1])), text) for text in texts if (found := _SLOT.search(text)) is not None]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Answer as the script does."""
        self.calls.append(request)
        async for item in super().stream(request):
            yield item
