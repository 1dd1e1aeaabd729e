"""The prompts of a chapter script: the tables `[[prompt]]`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
KEYS_OF_PROMPT: Final = (
    "to",
    "then",
    "text",
    "takes",
    "undo",
    "branch_at",
    "branch_title",
    "away",
    *PROMPT_KEYS,
)


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


def read_prompts(script: FieldReader) -> tuple[ScriptPrompt, ...]:
    """Return the prompts of a script; what is wrong with them is reported."""
    line = _Line(tuple(script.cast) or first_slots(1))
    prompts = tuple(map(line.read, script.tables("prompt") or []))
    branches = sum(prompt.branch_at > 0 for prompt in prompts)
    if branches > MOST_BRANCHES:
        script.report(
            "branch_at", f"occurs {branches} times; a script branches {MOST_BRANCHES} times at most."
        )
    return prompts


@dataclass(slots=True)
class _Line:
    """The chapter as far as it is read, or the branch in which it goes on, and its `prompts`."""

    slots: tuple[Slot, ...]
    prompts: list[ScriptPrompt] = field(default_factory=list)
    before: dict[int, tuple[ScriptLine, ...]] = field(default_factory=dict)
    """The lines before each prompt, by the number of the prompt."""
    present: Audience | None = None
    away: Away | None = None

    def read(self, reader: FieldReader) -> ScriptPrompt:
        """Return the next prompt of the script, and go on after it."""
        reader.refuse_unknown(KEYS_OF_PROMPT)
        branch_at = _branch_at(reader, len(self.prompts))
        if branch_at:
            self._branch(branch_at)
        index = len(self.prompts) + 1
        absences = read_absences(reader, index)
        self.away = self.away if absences is None else absences
        slot = reader.slot_of("to", reader.table["to"]) if "to" in reader.table else None
        slot = slot or self._next_speaker(index)
        refuse_absent(reader, self.away, index, slot)
        present = reader.characters("present")
        self.present = self.present if present is None else present
        then = _then(reader, slot)
        for other in then:
            refuse_absent(reader, self.away, index, other)
        audience = read_hearers(reader, (slot, *then), self._here(index))
        self.before[index] = (*self.before.get(index, ()), *read_lines(reader, audience))
        prompt = ScriptPrompt(
            slot=slot,
            text=reader.text("text", Limits().prompt, is_required=True),
            index=index,
            then=then,
            takes=reader.number("takes", (1, MOST_TAKES), 1),
            is_undone=reader.switch("undo", is_on=False),
            branch_at=branch_at,
            branch_title=_branch_title(reader),
            present=self.present,
            away=self.away,
            audience=audience,
            lines=self.before[index],
        )
        if not prompt.is_undone:
            self.prompts.append(prompt)
        return prompt

    def _branch(self, at: int) -> None:
        """Go on after prompt `at`, in a branch."""
        del self.prompts[at:]
        self.before = {index: lines for index, lines in self.before.items() if index <= at + 1}
        self.away = None if self.away is None else self.prompts[-1].away or NOBODY_AWAY
        self.present = self.present and (self.prompts[-1].present or EVERYONE)

    def _next_speaker(self, index: int) -> Slot:
        """Return whom the rotation calls at a prompt."""
        if self.prompts:
            return speaker_after(self.prompts[-1].last, self.slots, self.away, index)
        return next((slot for slot in self.slots if slot not in (self.away or ())), self.slots[0])

    def _here(self, index: int) -> Audience | None:
        """Return those who are in the scene; None if the script does not say who is present."""
        absent = absent_at(self.away, index)
        if self.present is None or not absent:
            return self.present
        return Audience.of(one for one in self.slots if one in self.present and one not in absent)


def _then(reader: FieldReader, to: Slot) -> tuple[Slot, ...]:
    """Return who answers after the character in `to`."""
    then = tuple(reader.slots("then"))
    if len({to, *then}) <= len(then):
        reader.report("then", "names a character twice, or the one that answers first.")
        return ()
    return then


def _branch_at(reader: FieldReader, played: int) -> int:
    if "branch_at" not in reader.table:
        return 0
    if not played:
        reader.report("branch_at", "needs a prompt before it to branch at.")
        return 0
    return reader.number("branch_at", (1, played), 0)


def _branch_title(reader: FieldReader) -> str:
    title = clean_line(reader.text("branch_title", LONGEST_TITLE))
    if title and "branch_at" not in reader.table:
        reader.report("branch_title", "needs branch_at beside it.")
    return title
