"""The prompts of a chapter script: the tables `[[prompt]]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.domain.audience import EVERYONE, Audience
from core.domain.session.limits import LONGEST_TITLE, Limits
from core.domain.slot import Slot, first_slots
from core.exchange.scripts.fields import FieldReader
from core.exchange.scripts.scene import (
    NOBODY_AWAY,
    PROMPT_KEYS,
    Away,
    ScriptLine,
    absent_at,
    read_absences,
    read_hearers,
    read_lines,
    refuse_absent,
    speaker_after,
)
from core.text.cleaning import clean_line

MOST_TAKES: Final = 20
MOST_BRANCHES: Final = 20
"""Each is a session of its own, with the prompts before it."""
_KEYS: Final = ("to", "then", "text", "takes", "undo", "branch_at", "branch_title", "away", *PROMPT_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptPrompt:
    """A prompt and its character, with the rotation already applied.

    `index` is the number that it has when it is played.
    """

    slot: Slot
    text: str
    index: int
    then: tuple[Slot, ...] = ()
    """Those who answer it after that character, in this order."""
    takes: int = 1
    """It is re-rolled until it has as many takes; the last one counts."""
    is_undone: bool = False
    """It is undone when it was played, and the next prompt takes its number."""
    branch_at: int = 0
    """Before it is played, the chapter is branched at this prompt and goes on in the branch. 0: it is not."""
    branch_title: str = ""
    """The title of that branch; if empty, it is named after the chapter."""
    present: Audience | None = None
    """Those present from here on, as the script said last; None if it never did."""
    away: Away | None = None
    """Those away from here on, as the script said last; None if it never did."""
    audience: Audience | None = None
    """Those who hear it; None if the script does not say who is present."""
    lines: tuple[ScriptLine, ...] = ()
    """Everything that the script puts between it and the prompt before it in the chapter, in order.

    Lines of a prompt that was undone remain, as they follow the prompt before it; a branch has them too.
    """

    @property
    def last(self) -> Slot:
        """The character that answers last."""
        return (self.slot, *self.then)[-1]


def lines_of(prompts: Sequence[ScriptPrompt]) -> tuple[tuple[ScriptPrompt, ...], ...]:
    """Return the prompts of the chapter up to the first branch, then those of each branch, from prompt 1 on.

    What a branch begins with is played already: takes and undone prompts stay in the session before it.
    """
    lines: list[list[ScriptPrompt]] = [[]]
    for prompt in prompts:
        if prompt.branch_at:
            kept = (one for one in lines[-1] if one.index <= prompt.branch_at and not one.is_undone)
            lines.append([replace(one, takes=1, branch_at=0, branch_title="") for one in kept])
        lines[-1].append(prompt)
    return tuple(map(tuple, lines))


def read_prompts(
    reader: FieldReader, tables: Sequence[Mapping[str, object]], cast: Mapping[Slot, str]
) -> tuple[ScriptPrompt, ...]:
    """Return the prompts of a script; what is wrong with them is reported to `reader`."""
    slots = tuple(cast) or first_slots(1)
    next_slot = slots[0]
    prompts: list[ScriptPrompt] = []
    line: list[ScriptPrompt] = []
    """The prompts that the chapter, or the branch in which it goes on, has so far."""
    before: dict[int, tuple[ScriptLine, ...]] = {}
    """The lines before each prompt, by the number of the prompt."""
    present: Audience | None = None
    away: Away | None = None
    branches = 0
    for number, table in enumerate(tables, start=1):
        owner = f"prompt {number}: "
        reader.refuse_unknown(table, _KEYS, owner)
        branch_at = _branch_at(reader, table, len(line), owner)
        if branch_at:
            branches += 1
            line = line[:branch_at]
            away = None if away is None else line[-1].away or NOBODY_AWAY
            next_slot = speaker_after(line[-1].last, slots, away, branch_at + 1)
            before = {index: lines for index, lines in before.items() if index <= branch_at + 1}
            present = present and (line[-1].present or EVERYONE)
        index = len(line) + 1
        absences = read_absences(reader, table, cast, owner, index)
        if absences is not None:
            away = absences
            next_slot = speaker_after(line[-1].last, slots, away, index) if line else _first(slots, away)
        slot = reader.slot_of(table["to"], cast, f"{owner}to") if "to" in table else next_slot
        slot = slot or next_slot
        refuse_absent(reader, away, index, slot, cast, owner)
        named = reader.characters(table, "present", cast, owner)
        present = present if named is None else named
        then = _then(reader, table, cast, owner, slot)
        for other in then:
            refuse_absent(reader, away, index, other, cast, owner)
        here, absent = present, absent_at(away, index)
        if present is not None and absent:
            here = Audience.of(one for one in slots if one in present and one not in absent)
        audience = read_hearers(reader, table, cast, owner, (slot, *then), here)
        before[index] = (*before.get(index, ()), *read_lines(reader, table, owner, audience))
        prompt = ScriptPrompt(
            slot=slot,
            text=reader.text(table, "text", f"{owner}text", Limits().prompt, is_required=True),
            index=index,
            then=then,
            takes=reader.number(table, "takes", f"{owner}takes", (1, MOST_TAKES), 1),
            is_undone=reader.switch(table, "undo", f"{owner}undo", is_on=False),
            branch_at=branch_at,
            branch_title=_branch_title(reader, table, owner),
            present=present,
            away=away,
            audience=audience,
            lines=before[index],
        )
        prompts.append(prompt)
        if not prompt.is_undone:
            line.append(prompt)
            next_slot = speaker_after(prompt.last, slots, away, index + 1)
    if branches > MOST_BRANCHES:
        reader.report(
            "branch_at", f"occurs {branches} times; a script branches {MOST_BRANCHES} times at most."
        )
    return tuple(prompts)


def _first(slots: tuple[Slot, ...], away: Away) -> Slot:
    return next((slot for slot in slots if slot not in away), slots[0])


def _then(
    reader: FieldReader, table: Mapping[str, object], cast: Mapping[Slot, str], owner: str, to: Slot
) -> tuple[Slot, ...]:
    """Return who answers after the character in `to`."""
    named = [reader.slot_of(one, cast, f"{owner}then") for one in reader.listed(table, "then", owner)]
    then = tuple(slot for slot in named if slot is not None)
    if len({to, *then}) <= len(then):
        reader.report(f"{owner}then", "names a character twice, or the one that answers first.")
        return ()
    return then


def _branch_at(reader: FieldReader, table: Mapping[str, object], played: int, owner: str) -> int:
    if "branch_at" not in table:
        return 0
    if not played:
        reader.report(f"{owner}branch_at", "needs a prompt before it to branch at.")
        return 0
    return reader.number(table, "branch_at", f"{owner}branch_at", (1, played), 0)


def _branch_title(reader: FieldReader, table: Mapping[str, object], owner: str) -> str:
    title = clean_line(reader.text(table, "branch_title", f"{owner}branch_title", LONGEST_TITLE))
    if title and "branch_at" not in table:
        reader.report(f"{owner}branch_title", "needs branch_at beside it.")
    return title
