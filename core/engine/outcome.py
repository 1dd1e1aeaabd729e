"""What came of a request, before it is settled."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.errors import StoryEngineError
from core.ids import BlockId
from core.request import Artifact, Content


@dataclass(frozen=True, slots=True)
class LockMade:
    """Agent 0's memory block validated."""

    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReplyMade:
    """A character answered."""

    text: str


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """Agent 8's delta validated."""

    payload: Mapping[str, object]


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


@dataclass(frozen=True, slots=True)
class Trail:
    """The provenance of the calls that led to an outcome and are not stored yet."""

    artifacts: tuple[Artifact, ...] = ()
    contents: tuple[Content, ...] = field(default_factory=tuple)

    def __add__(self, other: "Trail") -> "Trail":
        return Trail(self.artifacts + other.artifacts, self.contents + other.contents)

    def marked(self, error: StoryEngineError, message: str = "") -> "Trail":
        """Return the trail with its last artifact marked as failed by what was found in the answer."""
        *before, last = self.artifacts
        failed = replace(last, error_code=error.code, error_message=message or error.message)
        return Trail((*before, failed), self.contents)
