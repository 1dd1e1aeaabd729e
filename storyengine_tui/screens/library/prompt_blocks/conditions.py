"""Conditions of a prompt block as a GM reads and writes them: names and commas; an empty one is all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeVar

from core.domain.agent_role import AgentRole
from core.domain.session.prompt_block import (
    GREATEST_ORDER,
    LEAST_ORDER,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
)
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from core.text.numbers import read_count

NAMES_IN_CONDITIONS: Final[Mapping[AgentRole, str]] = {
    AgentRole.CHARACTER: "characters",
    AgentRole.NARRATIVE: "narrative",
    AgentRole.CONTEXT_SUMMARY: "summary",
    AgentRole.WORLD_LOCK: "lock",
}
"""Names of the agents, as a condition has them."""

_COMMA: Final = re.compile("[,，、،]")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedBlock:
    """The fields of a prompt block as they were typed."""

    name: str
    order: str
    place: BlockPlace
    variants: str
    characters: str
    agents: str
    text: str

    @classmethod
    def of(cls, block: PromptBlock, session: Session) -> "TypedBlock":
        """Return the fields that show a block."""
        return cls(
            name=block.name,
            order=str(block.order),
            place=block.place,
            variants=", ".join(block.variants),
            characters=", ".join(called(session).get(slot, str(slot.value)) for slot in block.slots),
            agents=", ".join(NAMES_IN_CONDITIONS[role] for role in block.roles),
            text=block.text,
        )

    def put_into(
        self,
        block: PromptBlock,
        blocks: PromptBlocks,
        session: Session,
        other_names: Mapping[str, Slot] = MappingProxyType({}),
    ) -> tuple[PromptBlock, str]:
        """Return the block with every field that can be stored, and what is wrong with the first other.

        A character is named as the block shows it, by one of its other names, or by its number.
        """
        problems: list[str] = []
        name = clean_line(self.name)
        if not name:
            problems.append("A block needs a name.")
        order = read_count(self.order)
        if order is None or not LEAST_ORDER <= order <= GREATEST_ORDER:
            problems.append(f"An order is {LEAST_ORDER} to {GREATEST_ORDER:,}.")
            order = None
        variants = _listed(self.variants, {one: one for one in blocks.all_variants}, "variant", problems)
        cast = {name: slot for slot, name in called(session).items()}
        others = {name: slot for name, slot in other_names.items() if name not in cast}
        numbers = {**others, **{str(slot.value): slot for slot in Slot}}
        slots = _listed(self.characters, cast, "character", problems, numbers)
        known_roles = {name: role for role, name in NAMES_IN_CONDITIONS.items()}
        roles = _listed(self.agents, known_roles, "agent", problems)
        made = replace(
            block,
            name=name or block.name,
            order=block.order if order is None else order,
            place=self.place,
            variants=block.variants if variants is None else variants,
            slots=block.slots if slots is None else tuple(sorted(slots)),
            roles=block.roles if roles is None else tuple(one for one in AgentRole if one in roles),
            text=self.text,
        )
        return made, next(iter(problems), "")


def called(session: Session) -> dict[Slot, str]:
    """Return what a condition calls each character: its name, or its number where that would be misread."""
    names = {slot: clean_line(name) for slot, name in session.roster}
    taken = [name.casefold() for name in names.values()]
    return {
        slot: str(slot.value)
        if _COMMA.search(name) or name.isdecimal() or taken.count(name.casefold()) > 1
        else name
        for slot, name in names.items()
    }


def _listed(
    text: str, known: Mapping[str, T], what: str, problems: list[str], numbers: Mapping[str, T] | None = None
) -> tuple[T, ...] | None:
    """Return the values named in `text`; None, with a problem noted, where a part has no value."""
    by_name = {name.casefold(): value for name, value in {**known, **(numbers or {})}.items()}
    found: dict[T, None] = {}
    for part in _COMMA.split(text):
        name = clean_line(part).casefold()
        if name and name not in by_name:
            problems.append(f"“{clean_line(part)[:30]}” is no {what}; there are {', '.join(known)}.")
            return None
        if name:
            found[by_name[name]] = None
    return tuple(found)


def used_for(block: PromptBlock, session: Session) -> str:
    """Return when a block is used, in few words."""
    conditions: Sequence[str] = (
        ", ".join(session.name_of(slot) for slot in block.slots),
        ", ".join(NAMES_IN_CONDITIONS[role] for role in block.roles),
        ", ".join(block.variants),
    )
    return " · ".join(condition for condition in conditions if condition) or "always"
