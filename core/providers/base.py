"""The seam between the engine and any model: messages in, text deltas and one result out (design 8)."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, Protocol

from core.config.models.model_config import NO_SAMPLING, Sampling
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Usage

LONGEST_WAIT = 86_400.0
"""Seconds; a service that asks for a longer wait is asked again after a day."""
MAX_TOKENS = 1_000_000_000
"""A count beyond this is no count of tokens, and is taken as not given."""
MAX_NAME_LENGTH = 200
"""Characters of a model's name or of an id that a service gives; what is longer is cut, with an ellipsis."""


def bounded_wait(seconds: float) -> float:
    """Return how long a service may make us wait, whatever number it named."""
    return min(max(0.0, seconds), LONGEST_WAIT)  # max() first: it turns what is not a number into zero


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """A JSON schema that the answer must follow; `name` is a short identifier."""

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call: everything that is sent, and what bounds it.

    `timeout` is in seconds: until the first token, and again between two of them; `max_output_tokens`
    caps the answer, reasoning included. `temperature` is left out where None.
    """

    messages: tuple[ChatMessage, ...]
    model: str
    max_output_tokens: int
    timeout: float
    schema: OutputSchema | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    sampling: Sampling = NO_SAMPLING


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


FinishReason = Literal["stop", "length", "content_filter", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The end of a call that went well; the text is the deltas joined."""

    finish_reason: FinishReason
    model: str
    usage: Usage = field(default_factory=Usage)
    billed: Decimal | None = None
    """Cost of the call by the service, in US dollars; None where it says nothing."""
    refused_fields: tuple[str, ...] = ()
    """Requested fields that were not sent, as the service does not accept them: `temperature`, `stop`, …"""


class ProviderError(StoryEngineError):
    """A call that failed. `retry_after` is in seconds, at most LONGEST_WAIT, where the service named a time.

    Text that had arrived before the failure was already yielded as deltas.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str = "",
        *,
        hint: str = "",
        retry_after: float | None = None,
        usage: Usage | None = None,
        billed: Decimal | None = None,
        is_blank: bool = False,
        is_begun: bool = False,
    ) -> None:
        super().__init__(code, message, hint)
        self.retry_after = None if retry_after is None else bounded_wait(retry_after)
        self.usage = usage
        self.billed = billed
        self.is_blank = is_blank
        """Whether the call ended well, but for an answer without a word."""
        self.is_begun = is_begun
        """Whether the model had begun, if only to think: a service may bill that."""


class Provider(Protocol):
    """Something that answers."""

    @property
    def name(self) -> str:
        """`openai`, `local` or `scripted`: what an artifact names."""

    @property
    def base_url(self) -> str | None:
        """The address that text is sent to; None when it does not leave this process or machine."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield deltas, then exactly one `Completion`; raise ProviderError when the call fails.

        Cancelling the task that iterates, or closing the iterator, ends the call at once.
        """

    async def aclose(self) -> None:
        """Release connections and processes."""
