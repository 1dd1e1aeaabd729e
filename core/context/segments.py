"""Named segments of an input, and the context that they make up (design 7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal

from core.config.models.model_config import PromptStyle
from core.context.lore import LoreNote
from core.context.tokens import TOKENS_PER_MESSAGE, characters_for, estimate_tokens
from core.domain.agent_role import AgentRole
from core.domain.ids import ItemId
from core.providers.base import ChatMessage, OutputSchema
from core.text.delimiters import SegmentName, delimit, escape_delimiters
from core.text.graphemes import head

MessageRole = Literal["system", "user", "assistant"]

_FENCED_KEPT = 64
"""Size of the cache of fenced segments: identity and memory are the same from prompt to prompt."""

_BAD_OUTPUT_LIMIT = 6_000
"""Characters of a failed output that its author sees again."""


class SegmentKind(StrEnum):
    """Kind of a part of an input; the words are those of design 16."""

    SYSTEM = "system"
    """Rules and tasks."""
    MEMORY = "memory"
    """Summaries of the story."""
    HISTORY = "history"
    """The story word for word, the GM's prompt included."""
    KNOWLEDGE = "knowledge"
    """Material beside the story: world, identity, secrets, lore."""
    TOOL = "tool"
    """A failed answer, and its problems."""


class CompressionMethod(StrEnum):
    """Method by which a part was shortened; the words are those of design 16."""

    SUMMARY = "summary"
    """A model told it in fewer words."""
    EXTRACTION = "extraction"
    """Some of it was taken, word for word."""


@dataclass(frozen=True, slots=True)
class Compression:
    """Method by which a part was shortened, and its estimated tokens before."""

    method: CompressionMethod
    original_tokens: int


_S, _M, _H, _K, _T = SegmentKind
_KINDS: Final = {
    SegmentName.SYSTEM_PROMPT: _S,
    SegmentName.EXAMPLE_INPUT: _S,
    SegmentName.EXAMPLE_OUTPUT: _S,
    SegmentName.WORLD_TEXT: _K,
    SegmentName.CHAPTER_TEXT: _K,
    SegmentName.AGENT_ROSTER: _K,
    SegmentName.AGENT_IDENTITY: _K,
    SegmentName.CHARACTER_SHEET: _M,
    SegmentName.SECRETS: _K,
    SegmentName.STRUCTURED_MEMORY: _M,
    SegmentName.RECENT_CONTEXT: _H,
    SegmentName.LORE: _K,
    SegmentName.RECALLED: _M,
    SegmentName.USER_PROMPT: _H,
    SegmentName.STRUCTURED_MEMORY_SO_FAR: _M,
    SegmentName.RECENT_CONTEXT_CHUNK: _H,
    SegmentName.NARRATIVE_AGENT_DEFINITION: _S,
    SegmentName.LENGTH_TARGET: _S,
    SegmentName.PART: _S,
    SegmentName.STORY_SO_FAR: _H,
    SegmentName.WORDS_TO_KEEP: _M,
    SegmentName.FULL_TRANSCRIPT: _H,
    SegmentName.GM_TEXT: _K,
    SegmentName.NOTE: _K,
    SegmentName.TASK: _S,
    SegmentName.CUE: _S,
    SegmentName.PROMPT_BLOCK: _S,
    SegmentName.FAILED_OUTPUT: _T,
    SegmentName.PROBLEMS: _T,
}
KEPT_WHOLE: Final = 5
"""Priority of segments that no budget reduces."""
_PRIORITIES: Final = {
    SegmentName.STRUCTURED_MEMORY: 1,
    SegmentName.STRUCTURED_MEMORY_SO_FAR: 1,
    SegmentName.RECENT_CONTEXT: 2,
    SegmentName.RECENT_CONTEXT_CHUNK: 2,
    SegmentName.RECALLED: 3,
    SegmentName.LORE: 4,
}


def kind_of(name: SegmentName) -> SegmentKind:
    """Return what a part with this name is made of."""
    return _KINDS[name]


def priority_of(name: str) -> int:
    """Return the place of a part with this name in the order in which a budget reduces an input."""
    return _PRIORITIES.get(SegmentName(name), KEPT_WHOLE) if name in list(SegmentName) else KEPT_WHOLE


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of an input. `text` is what is sent, delimiters included; `tokens` is an estimate."""

    name: SegmentName
    role: MessageRole
    text: str
    tokens: int
    relevance: float | None = None
    """Share of it that was chosen for this prompt, 0 to 1; None for a segment of every input of its agent."""
    recency: int | None = None
    """Age of its newest line in prompts; None for a segment that is not part of the story."""
    compression: Compression | None = None
    """The way it was shortened; None if it is whole."""

    @property
    def kind(self) -> SegmentKind:
        """The kind of its content."""
        return kind_of(self.name)

    @property
    def priority(self) -> int:
        """The place in the order in which a budget reduces an input: 1 is reduced first."""
        return _PRIORITIES.get(self.name, KEPT_WHOLE)

    def shortened(
        self, original_tokens: int, method: CompressionMethod = CompressionMethod.EXTRACTION
    ) -> "Segment":
        """Return it as the shortened form of a text of so many tokens, for which there was no room."""
        if original_tokens <= self.tokens:
            return self
        return replace(self, compression=Compression(method, original_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything that one call sends, in order.

    `left_out` says in words what the budget left out; `max_input_tokens` is that budget.
    """

    agent_id: int
    role: AgentRole
    style: PromptStyle
    prompt_version: str
    segments: tuple[Segment, ...]
    max_input_tokens: int
    schema: OutputSchema | None = None
    left_out: tuple[str, ...] = ()
    is_shortened: bool = False
    """Story text that is not in memory yet was shortened: a summary of it would make room."""
    lore: tuple[LoreNote, ...] = ()
    """The entries of lorebooks and items of the bank that the scene concerned; no model is sent this."""
    lore_uses: tuple[tuple[str, str, str, int], ...] = ()
    """The active entries on which later inputs depend: book, uid, digest, count of messages."""
    recalled: tuple[tuple[ItemId, int], ...] = ()
    """The items of the memory bank that are recalled, and how often each was before."""

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The chat: neighbouring segments of one role are one message."""
        return tuple(
            ChatMessage(role, "\n\n".join(segment.text for segment in group))
            for role, group in groupby(self.segments, key=lambda segment: segment.role)
        )

    @property
    def tokens(self) -> int:
        """The estimated length of the input."""
        return sum(segment.tokens for segment in self.segments)


@lru_cache(maxsize=_FENCED_KEPT)
def fenced(name: SegmentName, text: str, style: PromptStyle) -> Segment:
    """Return a segment of material for the user message, between its marks."""
    return plain(name, delimit(name, text), style, "user")


def plain(name: SegmentName, text: str, style: PromptStyle, role: MessageRole) -> Segment:
    """Return a segment whose text is sent as it is."""
    return Segment(name, role, text, estimate_tokens(text, style) + TOKENS_PER_MESSAGE)


def repair_context(context: Context, bad_output: str, problems: Sequence[str]) -> Context:
    """Return `context` with the failed output and what is wrong with it: the one more try.

    The output is shown as far as the budget reaches, and at most its first 6,000 characters.
    """
    listed = "\n".join(f"- {problem}" for problem in problems)
    request = (
        "That answer could not be stored:\n"
        f"{delimit(SegmentName.PROBLEMS, listed)}\n"
        "Answer again with the whole JSON object, corrected. Return that one object and nothing else."
    )
    asked = plain(SegmentName.PROBLEMS, request, context.style, "user")
    room = context.max_input_tokens - context.tokens - asked.tokens - TOKENS_PER_MESSAGE
    shown = head(bad_output, min(_BAD_OUTPUT_LIMIT, characters_for(room, bad_output, context.style)))
    # Its own words, but it may repeat what the texts in its input asked for: no marks here either.
    failed = plain(SegmentName.FAILED_OUTPUT, escape_delimiters(shown) or "{}", context.style, "assistant")
    return replace(context, segments=(*context.segments, failed, asked))
