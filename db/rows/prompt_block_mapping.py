"""The row of a chapter's prompt blocks and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.domain.agent_role import AgentRole
from core.domain.ids import SessionId
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, BlockPlace, PromptBlock, PromptBlocks
from core.domain.slot import Slot
from db.rows.mapping import Values


def prompt_blocks_values(session_id: SessionId, prompt_blocks: PromptBlocks) -> Values:
    """Return the row of the prompt blocks of a chapter."""
    return {
        "session_id": session_id,
        "variant": prompt_blocks.variant,
        "variants": list(prompt_blocks.variants),
        "blocks": [asdict(block) for block in prompt_blocks.blocks],
    }


def to_prompt_blocks(row: Any) -> PromptBlocks:
    """Return the prompt blocks of a row; raise ValueError where it holds what this program does not write."""
    if row.variant is None:
        return NO_PROMPT_BLOCKS
    try:
        blocks = tuple(map(_to_prompt_block, row.blocks))
    except (KeyError, TypeError) as error:
        raise ValueError("a prompt block has other fields than this program writes") from error
    return PromptBlocks(variant=row.variant, variants=tuple(row.variants), blocks=blocks)


def _to_prompt_block(block: Mapping[str, Any]) -> PromptBlock:
    return PromptBlock(
        id=block["id"],
        name=block["name"],
        text=block["text"],
        order=block["order"],
        place=BlockPlace(block["place"]),
        is_on=block["is_on"],
        variants=_listed(block, "variants"),
        slots=tuple(map(Slot, _listed(block, "slots"))),
        roles=tuple(map(AgentRole, _listed(block, "roles"))),
    )


def _listed(block: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """Return the entries of a list; raise TypeError for a string, which would become its letters."""
    if not isinstance(block[name], list):
        raise TypeError(f"{name} is not a list")
    return tuple(block[name])
