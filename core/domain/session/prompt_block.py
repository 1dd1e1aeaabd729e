"""Prompt blocks: texts of the GM's own behind the system prompt of an input, and their variants (design 16).

They add to the rules of the program, which no prompt block removes. They may be edited at any time.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from core.domain.agent_role import AgentRole
from core.domain.slot import Slot
from core.text.canonical_json import canonical
from core.text.cleaning import clean, clean_line, is_blank
from core.text.letters import MARKS

LEAST_ORDER: Final = 100
GREATEST_ORDER: Final = 1_600
MOST_PROMPT_BLOCKS: Final = 40
MOST_VARIANTS: Final = 8
"""Variants of a chapter besides the default one."""
LONGEST_BLOCK_NAME: Final = 60
LONGEST_VARIANT: Final = 30
LONGEST_PROMPT_BLOCK: Final = 4_000
"""Characters of one prompt block."""
LONGEST_PROMPT_BLOCKS: Final = 24_000
"""Characters of all prompt blocks of a chapter together."""
DEFAULT_VARIANT: Final = "default"
"""The variant of a chapter that names none; it cannot be removed."""
_MARKS_OF_VARIANTS: Final = " -_"
_DIGITS_OF_HASH: Final = 8


class BlockPlace(StrEnum):
    """Place of a prompt block in an input; both places come before the identity of a character."""

    RULES = "rules"
    """With the system prompt, behind its rules."""
    MATERIAL = "material"
    """As the first section of the material, which is no rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    """One text of the GM's own. An empty condition holds always; those that are set hold together."""

    id: int
    """Its number in the chapter, from 1; it stays the same when name or order change."""
    name: str
    text: str = ""
    order: int = LEAST_ORDER
    """Lower comes first; of equals the one with the lower id."""
    place: BlockPlace = BlockPlace.RULES
    is_on: bool = True
    variants: tuple[str, ...] = ()
    """Used in these variants alone."""
    slots: tuple[Slot, ...] = ()
    """Used for these characters only, and never for another agent."""
    roles: tuple[AgentRole, ...] = ()
    """Used for agents of these roles alone."""

    def applies(self, variant: str, role: AgentRole, slot: Slot | None) -> bool:
        """Whether an input has the block: of an agent of `role`, which for a character is in `slot`."""
        return (
            self.is_on
            and not is_blank(self.text)
            and (not self.variants or variant in self.variants)
            and (not self.slots or slot in self.slots)
            and (not self.roles or role in self.roles)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlocks:
    """The prompt blocks of a chapter, its variants, and the one that is active."""

    variant: str = DEFAULT_VARIANT
    variants: tuple[str, ...] = ()
    """The GM's variants besides the default one."""
    blocks: tuple[PromptBlock, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything of the GM's."""
        return self != NO_PROMPT_BLOCKS

    @property
    def all_variants(self) -> tuple[str, ...]:
        """Every variant that can be chosen, the default one first."""
        return (DEFAULT_VARIANT, *self.variants)

    @property
    def in_order(self) -> tuple[PromptBlock, ...]:
        """The blocks as an input has them."""
        return tuple(sorted(self.blocks, key=lambda block: (block.order, block.id)))

    def applying(self, role: AgentRole, slot: Slot | None = None) -> tuple[PromptBlock, ...]:
        """Return the blocks that an input of this agent has now, in order."""
        return tuple(block for block in self.in_order if block.applies(self.variant, role, slot))

    def used(self, applied: Sequence[PromptBlock]) -> str:
        """Return how an artifact names the variant and the blocks of an input, such as
        `noir(3 blocks, 1f3a5c7e)`; the same words for the same texts only."""
        texts = [[block.name, block.text, block.place.value] for block in applied]
        digits = hashlib.sha256(canonical(texts)).hexdigest()[:_DIGITS_OF_HASH]
        return f"{self.variant}({len(applied)} block{'s' if len(applied) > 1 else ''}, {digits})"

    @property
    def next_id(self) -> int:
        """The lowest number that no block has."""
        taken = {block.id for block in self.blocks}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)

    def find(self, block_id: int) -> PromptBlock | None:
        """Return the block with this number, if there is one."""
        return next((block for block in self.blocks if block.id == block_id), None)

    def with_block(self, block: PromptBlock) -> "PromptBlocks":
        """Return a copy with this block, in place of the one that had its number."""
        others = (other for other in self.blocks if other.id != block.id)
        return replace(self, blocks=tuple(sorted((*others, block), key=lambda one: one.id)))

    def without_block(self, block_id: int) -> "PromptBlocks":
        """Return a copy without the block of this number."""
        return replace(self, blocks=tuple(block for block in self.blocks if block.id != block_id))

    def with_variant(self, variant: str) -> "PromptBlocks":
        """Return a copy in which `variant` is active; it is added where it is not there yet."""
        is_new = variant not in self.all_variants
        return replace(self, variant=variant, variants=(*self.variants, *([variant] if is_new else [])))

    def without_variant(self, variant: str) -> "PromptBlocks":
        """Return a copy without a variant: blocks of this variant alone are switched off, and where it was
        active the default one is."""
        return PromptBlocks(
            variant=DEFAULT_VARIANT if self.variant == variant else self.variant,
            variants=tuple(other for other in self.variants if other != variant),
            blocks=tuple(_out_of(block, variant) for block in self.blocks),
        )


NO_PROMPT_BLOCKS: Final = PromptBlocks()
"""Those of a chapter that has none."""


def _out_of(block: PromptBlock, variant: str) -> PromptBlock:
    left = tuple(other for other in block.variants if other != variant)
    # Without a condition it would be used in all variants.
    return replace(block, variants=left, is_on=block.is_on and (bool(left) or not block.variants))


def cleaned_blocks(prompt_blocks: PromptBlocks) -> PromptBlocks:
    """Return the same with every text cleaned, and each list without repetitions."""
    return PromptBlocks(
        variant=clean_line(prompt_blocks.variant),
        variants=tuple(dict.fromkeys(map(clean_line, prompt_blocks.variants))),
        blocks=tuple(
            replace(
                block,
                name=clean_line(block.name),
                text=clean(block.text),
                variants=tuple(dict.fromkeys(map(clean_line, block.variants))),
                slots=tuple(sorted(set(block.slots))),
                roles=tuple(role for role in AgentRole if role in block.roles),
            )
            for block in prompt_blocks.blocks
        ),
    )


def problems_of_blocks(prompt_blocks: PromptBlocks) -> Iterator[str]:
    """Yield, in sentences, what keeps these prompt blocks from being stored."""
    yield from _problems_of_variants(prompt_blocks)
    blocks = prompt_blocks.blocks
    if len(blocks) > MOST_PROMPT_BLOCKS:
        yield f"A chapter has at most {MOST_PROMPT_BLOCKS} prompt blocks."
    ids = [block.id for block in blocks]
    if len(set(ids)) < len(ids) or not all(1 <= number <= MOST_PROMPT_BLOCKS for number in ids):
        yield "Two prompt blocks have the same number, or one has a number that cannot be."
    if (length := sum(len(block.text) for block in blocks)) > LONGEST_PROMPT_BLOCKS:
        yield (
            f"The prompt blocks of a chapter together have at most {LONGEST_PROMPT_BLOCKS:,} characters, "
            f"and these have {length:,}."
        )
    for block in blocks:
        yield from _problems_of_block(block, prompt_blocks)


def _problems_of_variants(prompt_blocks: PromptBlocks) -> Iterator[str]:
    names = prompt_blocks.all_variants
    if len(prompt_blocks.variants) > MOST_VARIANTS:
        yield f"A chapter has at most {MOST_VARIANTS} variants besides the default one."
    if len({name.casefold() for name in names}) < len(names):
        yield "Two variants have the same name."
    for name in prompt_blocks.variants:
        if (problem := problem_of_variant(name)) is not None:
            yield problem
    if prompt_blocks.variant not in names:
        yield "The active variant is not one of the chapter."


def problem_of_variant(name: str) -> str | None:
    """Return what is wrong with the name of a variant, else None."""
    is_plain = all(letter.isalnum() or letter in _MARKS_OF_VARIANTS or letter in MARKS for letter in name)
    if clean_line(name) == name and 1 <= len(name) <= LONGEST_VARIANT and is_plain:
        return None
    return f"A variant's name has 1 to {LONGEST_VARIANT} letters, digits, spaces, hyphens or underscores."


def _problems_of_block(block: PromptBlock, prompt_blocks: PromptBlocks) -> Iterator[str]:
    if is_blank(block.name) or clean_line(block.name) != block.name or len(block.name) > LONGEST_BLOCK_NAME:
        yield f"A prompt block's name is one line of 1 to {LONGEST_BLOCK_NAME} characters."
    if len(block.text) > LONGEST_PROMPT_BLOCK:
        yield (
            f"A prompt block has at most {LONGEST_PROMPT_BLOCK:,} characters, "
            f"and one of these has {len(block.text):,}."
        )
    if not LEAST_ORDER <= block.order <= GREATEST_ORDER:
        yield f"The order of a prompt block is {LEAST_ORDER:,} to {GREATEST_ORDER:,}."
    if not set(block.variants) <= set(prompt_blocks.all_variants):
        yield "A prompt block names a variant that the chapter does not have."
