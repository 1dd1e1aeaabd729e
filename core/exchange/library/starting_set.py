"""The prompt blocks that a GM may begin with: sixteen roles, in a file beside this module (design 16)."""

import tomllib
from dataclasses import replace
from importlib.resources import files

from core.domain.session.prompt_block import PromptBlock, PromptBlocks
from core.exchange.scripts.blocks import read_prompt_blocks
from core.exchange.scripts.fields import FieldReader


def starting_set() -> tuple[PromptBlock, ...]:
    """Return the blocks in their order; raise ValueError where the file is not well formed."""
    source = files("core.exchange.library").joinpath("starting_set.toml").read_text(encoding="utf-8")
    reader = FieldReader(tomllib.loads(source))
    made = read_prompt_blocks(reader)
    if reader.problems:
        raise ValueError(f"the starting set: {reader.problems[0]}")
    return made.blocks


def with_starting_set(prompt_blocks: PromptBlocks) -> PromptBlocks:
    """Return a copy with those blocks of the set whose names are not there yet, switched off."""
    there = {block.name.casefold() for block in prompt_blocks.blocks}
    for block in starting_set():
        if block.name.casefold() not in there:
            new = replace(block, id=prompt_blocks.next_id, is_on=False)
            prompt_blocks = prompt_blocks.with_block(new)
    return prompt_blocks
