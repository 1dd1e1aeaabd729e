"""Outcomes of requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.audience import EVERYONE, Audience
from core.domain.errors import StoryEngineError
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.story.memory import MemoryBlock
from core.engine.changes.canon import Origin


@dataclass(frozen=True, slots=True)
class LockMade:
    """Validated memory of agent 0; the fields are those of `MemoryBlock`."""

    payload: Mapping[str, object]
    json_text: str = ""


@dataclass(frozen=True, slots=True)
class ReplyMade:
    """A character answered."""

    text: str
    origin: Origin | None = None
    """Its origin, if it is not the model's whole answer."""
    repeats: str = ""
    """The text that it only repeats, in words; empty for a reply with text of its own."""
    said: Mapping[str, object] = field(default_factory=dict)
    """Metadata of its event about a reply without words."""
    lore: Mapping[str, object] = field(default_factory=dict)
    """Metadata of its event about active lore and recalled items."""


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """A validated delta of agent 8; the fields are those of `MemoryBlock`.

    `prompts` are those that it covers; None for all that were requested. `parts` are the deltas for wider
    audiences, which are stored already and become canon with it.
    """

    payload: Mapping[str, object]
    json_text: str = ""
    prompts: PromptRange | None = None
    audience: Audience = EVERYONE
    parts: tuple[MemoryBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class NarrativeMade:
    """The chapter's complete prose and its definition."""

    text: str
    model: str
    definition: str
    target_words: int | None
    block_ids: tuple[BlockId, ...] = ()


@dataclass(frozen=True, slots=True)
class AfterthoughtMade:
    """A character's afterthought; empty where it says nothing."""

    text: str = ""
    lore: Mapping[str, object] = field(default_factory=dict)
    """Metadata of its event about active lore."""


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer; `retry_after` is the wait that the service requested, in seconds."""

    error: StoryEngineError
    retry_after: float | None = None
    is_on_record: bool = False
    """Whether earlier calls of the attempt are stored already."""


@dataclass(frozen=True, slots=True)
class PutBack:
    """The call of a background request had to make room, or the program ends: it waits for its turn again."""

    is_on_record: bool
    """Whether a call was sent, which may have been paid for; else the attempt has not been."""
    is_try: bool
    """Whether the attempt counts: an answer had begun."""


Outcome = LockMade | ReplyMade | SummaryMade | NarrativeMade | AfterthoughtMade | Failed | PutBack
