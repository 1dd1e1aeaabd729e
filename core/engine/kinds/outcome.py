"""What came of a request, before it is settled."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.domain.errors import StoryEngineError
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange


@dataclass(frozen=True, slots=True)
class LockMade:
    """Agent 0's memory validated; the fields are those of `MemoryBlock`."""

    payload: Mapping[str, object]
    json_text: str = ""


@dataclass(frozen=True, slots=True)
class ReplyMade:
    """A character answered."""

    text: str


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """Agent 8's delta validated; the fields are those of `MemoryBlock`.

    `prompts` are those that it covers, None for all that were asked for.
    """

    payload: Mapping[str, object]
    json_text: str = ""
    prompts: PromptRange | None = None


@dataclass(frozen=True, slots=True)
class NarrativeMade:
    """The chapter's prose, whole, and what shaped it."""

    text: str
    model: str
    definition: str
    target_words: int | None
    block_ids: tuple[BlockId, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer; `retry_after` is in seconds, where the service named a time."""

    error: StoryEngineError
    retry_after: float | None = None


Outcome = LockMade | ReplyMade | SummaryMade | NarrativeMade | Failed
