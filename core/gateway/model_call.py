"""One call of a model: what goes out, and what has come back so far."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from core.config.models.model_config import ModelConfig
from core.context.segments import Context
from core.domain.ids import ArtifactId, new_uuid
from core.domain.requests.request import Content, Request
from core.providers.base import Completion, ModelRequest, TextDelta
from core.text.cleaning import StreamCleaner


@dataclass(slots=True)
class ModelCall:
    """One call: its input, and its answer while it streams."""

    context: Context
    choice: ModelConfig
    request: Request
    number: int
    """Its number among the calls of one attempt of the request."""
    on_text: Callable[[str], None] = lambda _: None
    """Told each piece of the answer."""
    outgoing: ModelRequest = field(init=False)
    room: int = field(init=False)
    """Remaining characters that are accepted."""
    id: ArtifactId = field(default_factory=lambda: ArtifactId(new_uuid()), init=False)
    cleaner: StreamCleaner = field(default_factory=StreamCleaner, init=False)
    """Cleans all text from a model, here and nowhere else, before it is stored."""
    texts: list[str] = field(default_factory=list, init=False)
    """Text received so far, cleaned."""
    first_token_ms: int | None = field(default=None, init=False)
    completion: Completion | None = field(default=None, init=False)
    is_sent: bool = field(default=False, init=False)
    """Whether anything may have gone out."""
    is_with_provider: bool = field(default=False, init=False)
    """Whether the call had its place, and its provider was asked."""

    def __post_init__(self) -> None:
        self.outgoing = model_request(self.context, self.choice)
        self.room = self.choice.max_answer_characters

    def add(self, text: str) -> None:
        """Keep a cleaned piece and tell of it."""
        if text:
            self.texts.append(text)
            self.on_text(text)

    def within_room(self, item: TextDelta, elapsed_ms: int) -> str:
        """Return what there is room for of the next piece."""
        if self.first_token_ms is None:
            self.first_token_ms = elapsed_ms
        text = item.text[: self.room]
        self.room -= len(text)
        return text


def model_request(context: Context, choice: ModelConfig) -> ModelRequest:
    """Return what is sent for `context`."""
    return ModelRequest(
        messages=context.messages,
        model=choice.model,
        max_output_tokens=choice.max_output_tokens,
        timeout=choice.timeout,
        schema=context.schema,
        temperature=choice.temperature,
        stop=choice.stop if context.schema is None else (),
        sampling=choice.sampling,
    )


def input_hash(outgoing: ModelRequest) -> str:
    """Return the SHA-256 of the canonical JSON of the request (design 4)."""
    sampling = outgoing.sampling.sent()
    return Content.of(
        json.dumps(
            {
                "messages": [[message.role, message.content] for message in outgoing.messages],
                "model": outgoing.model,
                "max_output_tokens": outgoing.max_output_tokens,
                "schema": outgoing.schema and [outgoing.schema.name, outgoing.schema.schema],
                "temperature": outgoing.temperature,
                "stop": outgoing.stop,
                **({"sampling": sampling} if sampling else {}),
            },
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
    ).hash
