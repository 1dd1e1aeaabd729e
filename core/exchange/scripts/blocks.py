"""The prompt blocks of a chapter script: `variant` and the tables `[[block]]`."""

from dataclasses import replace
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
from core.exchange.scripts.fields import FieldReader, kind_of, quoted
from core.text.cleaning import clean_line

Named = TypeVar("Named", bound=StrEnum)

BLOCK_KEYS: Final = ("name", "text", "order", "place", "on", "variants", "characters", "agents")


def read_prompt_blocks(script: FieldReader) -> PromptBlocks:
    """Return the prompt blocks of a script; what is wrong with them is reported.

    Its variants are those that it names anywhere.
    """
    tables = script.tables("block") or []
    if len(tables) > MOST_PROMPT_BLOCKS:
        script.report("[[block]]", f"occurs {len(tables)} times; a chapter has at most {MOST_PROMPT_BLOCKS}.")
        return PromptBlocks()
    before = len(script.problems)
    blocks = tuple(_block(reader, number) for number, reader in enumerate(tables, start=1))
    active = clean_line(script.text("variant", LONGEST_VARIANT)) or DEFAULT_VARIANT
    named = dict.fromkeys([active, *(name for block in blocks for name in block.variants)])
    variants = tuple(name for name in named if name != DEFAULT_VARIANT)
    made = PromptBlocks(variant=active, variants=variants, blocks=blocks)
    if len(script.problems) == before:
        for problem in problems_of_blocks(made):
            script.report("[[block]]:", problem)
    return made


def _block(reader: FieldReader, number: int) -> PromptBlock:
    reader.refuse_unknown(BLOCK_KEYS)
    name = clean_line(reader.text("name", LONGEST_BLOCK_NAME, is_required=True))
    text = reader.text("text", LONGEST_PROMPT_BLOCK, is_required=True)
    variants = (
        clean_line(replace(reader, table={"variants": one}).text("variants", LONGEST_VARIANT))
        for one in reader.listed("variants")
    )
    slots = reader.slots("characters")
    roles = (_one_of(reader, "agents", one, AgentRole) for one in reader.listed("agents"))
    place = _one_of(reader, "place", reader.table.get("place", BlockPlace.RULES.value), BlockPlace)
    return PromptBlock(
        id=number,
        name=name,
        text=text,
        order=reader.number("order", (LEAST_ORDER, GREATEST_ORDER), LEAST_ORDER),
        place=place or BlockPlace.RULES,
        is_on=reader.switch("on", is_on=True),
        variants=tuple(dict.fromkeys(variants)),
        slots=tuple(sorted({*slots})),
        roles=tuple(sorted({role for role in roles if role is not None}, key=list(AgentRole).index)),
    )


def _one_of(reader: FieldReader, key: str, value: object, kind: type[Named]) -> Named | None:
    known = {member.value: member for member in kind}
    if isinstance(value, str) and value in known:
        return known[value]
    shown = quoted(value) if isinstance(value, str) else kind_of(value)
    reader.report(key, f"= {shown} is not one of {', '.join(known)}.")
    return None
