"""The prompt blocks of a chapter script: `variant` and the tables `[[block]]`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from core.domain.agent_role import AgentRole
from core.domain.session.prompt_block import (
    DEFAULT_VARIANT,
    GREATEST_ORDER,
    LEAST_ORDER,
    LONGEST_BLOCK_NAME,
    LONGEST_PROMPT_BLOCK,
    LONGEST_VARIANT,
    MOST_PROMPT_BLOCKS,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
    problems_of_blocks,
)
from core.domain.slot import Slot
from core.exchange.scripts.fields import FieldReader, kind_of, quoted
from core.text.cleaning import clean_line

Named = TypeVar("Named", bound=StrEnum)

_KEYS: Final = ("name", "text", "order", "place", "on", "variants", "characters", "agents")


def read_prompt_blocks(
    reader: FieldReader, document: Mapping[str, object], cast: Mapping[Slot, str]
) -> PromptBlocks:
    """Return the prompt blocks of a script; what is wrong with them is reported to `reader`.

    Its variants are those that it names anywhere.
    """
    tables = reader.tables(document, "block") or []
    if len(tables) > MOST_PROMPT_BLOCKS:
        reader.report("[[block]]", f"occurs {len(tables)} times; a chapter has at most {MOST_PROMPT_BLOCKS}.")
        return PromptBlocks()
    before = len(reader.problems)
    blocks = tuple(_block(reader, table, number, cast) for number, table in enumerate(tables, start=1))
    active = clean_line(reader.text(document, "variant", "variant", LONGEST_VARIANT)) or DEFAULT_VARIANT
    named = dict.fromkeys([active, *(name for block in blocks for name in block.variants)])
    variants = tuple(name for name in named if name != DEFAULT_VARIANT)
    made = PromptBlocks(variant=active, variants=variants, blocks=blocks)
    if len(reader.problems) == before:
        for problem in problems_of_blocks(made):
            reader.report("[[block]]:", problem)
    return made


def _block(
    reader: FieldReader, table: Mapping[str, object], number: int, cast: Mapping[Slot, str]
) -> PromptBlock:
    owner = f"block {number}: "
    reader.refuse_unknown(table, _KEYS, owner)
    name = clean_line(reader.text(table, "name", f"{owner}name", LONGEST_BLOCK_NAME, is_required=True))
    text = reader.text(table, "text", f"{owner}text", LONGEST_PROMPT_BLOCK, is_required=True)
    variants = (
        clean_line(reader.text({"variants": one}, "variants", f"{owner}variants", LONGEST_VARIANT))
        for one in reader.listed(table, "variants", owner)
    )
    slots = (
        reader.slot_of(one, cast, f"{owner}characters") for one in reader.listed(table, "characters", owner)
    )
    roles = (
        _one_of(reader, one, AgentRole, f"{owner}agents") for one in reader.listed(table, "agents", owner)
    )
    place = _one_of(reader, table.get("place", BlockPlace.RULES.value), BlockPlace, f"{owner}place")
    return PromptBlock(
        id=number,
        name=name,
        text=text,
        order=reader.number(table, "order", f"{owner}order", (LEAST_ORDER, GREATEST_ORDER), LEAST_ORDER),
        place=place or BlockPlace.RULES,
        is_on=reader.switch(table, "on", f"{owner}on", is_on=True),
        variants=tuple(dict.fromkeys(variants)),
        slots=tuple(sorted({slot for slot in slots if slot is not None})),
        roles=tuple(sorted({role for role in roles if role is not None}, key=list(AgentRole).index)),
    )


def _one_of(reader: FieldReader, value: object, kind: type[Named], location: str) -> Named | None:
    known = {member.value: member for member in kind}
    if isinstance(value, str) and value in known:
        return known[value]
    shown = quoted(value) if isinstance(value, str) else kind_of(value)
    reader.report(location, f"= {shown} is not one of {', '.join(known)}.")
    return None
