"""The GM's prompt blocks in the input of an agent, and what room they may take of it (design 16)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.agents.role.setup import ROOM_TO_PLAY, AgentSetup, total
from core.context.segments import Segment, plain
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.prompt_block import BlockPlace, PromptBlock, PromptBlocks
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.text.delimiters import SegmentName, escape_delimiters

LEAD: Final = (
    "The Game Master adds what follows for this table. It adds to the rules above and replaces none of them."
)
"""The sentence before the first prompt block behind the rules."""
_SHARE: Final = 0.25
"""Maximum share of an input for prompt blocks, so that canon has room to grow for a whole chapter."""


def with_blocks(setup: AgentSetup, prompt_blocks: PromptBlocks, slot: Slot | None = None) -> AgentSetup:
    """Return the role with the prompt blocks that apply to it; itself, byte for byte, where none does."""
    applied = prompt_blocks.applying(setup.role, slot)
    if not applied:
        return setup
    system, *example = setup.beginning
    beginning = (system, *_rules(setup, applied), *example, *_material(setup, applied))
    version = f"{setup.prompt.version}+{prompt_blocks.used(applied)}"
    return replace(setup, prompt=replace(setup.prompt, version=version), beginning=beginning)


def require_room_for_blocks(setup: AgentSetup, fixed: int, memory: Sequence[MemoryBlock]) -> None:
    """Raise StoryEngineError (`LIMIT_EXCEEDED`) where the prompt blocks of `setup` leave it too little room.

    `fixed` are the tokens that all inputs share, the prompt blocks included. These may take a
    quarter of an input, and no more than leaves `ROOM_TO_PLAY` beside canon.
    """
    needed = block_tokens(setup)
    others = fixed - needed + setup.digester.digest(memory, 0).tokens
    most = max(0, min(int(setup.budget * _SHARE), setup.budget - others - ROOM_TO_PLAY))
    if needed > most:
        raise StoryEngineError(
            ErrorCode.LIMIT_EXCEEDED,
            f"The prompt blocks that are on would take about {needed:,} tokens of an input, and "
            f"{setup.choice.model} has room for {most:,}; nothing was changed.",
            "Shorten one, switch one off, or choose a model with a larger context.",
        )


def _rules(setup: AgentSetup, applied: Sequence[PromptBlock]) -> tuple[Segment, ...]:
    rules = [block for block in applied if block.place is BlockPlace.RULES]
    texts = [f"# {block.name}\n\n{escape_delimiters(block.text.strip())}" for block in rules]
    texts[:1] = [f"{LEAD}\n\n{text}" for text in texts[:1]]
    return tuple(plain(SegmentName.PROMPT_BLOCK, text, setup.style, "system") for text in texts)


def _material(setup: AgentSetup, applied: Sequence[PromptBlock]) -> tuple[Segment, ...]:
    material = (block for block in applied if block.place is BlockPlace.MATERIAL)
    return tuple(
        setup.fenced(SegmentName.PROMPT_BLOCK, f"{block.name}\n\n{block.text.strip()}") for block in material
    )


@dataclass(frozen=True, slots=True)
class OutlinePart:
    """One part of the beginning that all inputs of an agent share; `block` is None for a built-in part."""

    name: str
    tokens: int
    block: PromptBlock | None = None


@dataclass(frozen=True, slots=True)
class PromptOutline:
    """The beginning that all inputs of an agent share, part by part, and the token budget of an input."""

    parts: tuple[OutlinePart, ...]
    budget: int

    @property
    def tokens(self) -> int:
        """The tokens of all parts."""
        return sum(part.tokens for part in self.parts)


def outline_of(setup: AgentSetup, prompt_blocks: PromptBlocks, slot: Slot | None = None) -> PromptOutline:
    """Return the outline of an agent's input with these prompt blocks; `setup` has none of them yet."""
    applied = prompt_blocks.applying(setup.role, slot)
    in_turn = (
        *(block for block in applied if block.place is BlockPlace.RULES),
        *(block for block in applied if block.place is BlockPlace.MATERIAL),
    )
    parts: list[OutlinePart] = []
    blocks = iter(in_turn)
    for segment in with_blocks(setup, prompt_blocks, slot).beginning:
        if segment.name is SegmentName.PROMPT_BLOCK:
            block = next(blocks)
            parts.append(OutlinePart(block.name, segment.tokens, block))
        elif segment.name is SegmentName.SYSTEM_PROMPT:
            parts.append(OutlinePart(setup.prompt.label, segment.tokens))
        else:
            parts.append(OutlinePart(segment.name.replace("_", " ").capitalize(), segment.tokens))
    return PromptOutline(tuple(parts), setup.budget)


def block_tokens(setup: AgentSetup) -> int:
    """Return the tokens of the prompt blocks in an input of `setup`."""
    return total([segment for segment in setup.beginning if segment.name is SegmentName.PROMPT_BLOCK])
