"""Asks whether something new is what the bank has already, and what it changes about that (design 15).

Both questions have many numbers in one call; what has no room waits for the next call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_lowercase
from typing import Final

from core.agents.answers.json_output import InvalidMemoryError, read_object
from core.agents.answers.schema import one_of, record, text_of
from core.agents.bank.scan_answer import LONGEST_TEXT, line
from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.segments import Context
from core.context.visibility import KnownItems
from core.domain.bank.item import Item
from core.providers.base import OutputSchema
from core.text.cleaning import clean_line, is_blank
from core.text.delimiters import SegmentName
from core.text.graphemes import head

MATCH: Final = "bank_match"
UPDATE: Final = "bank_update"
"""The names of the prompt files, and of the schemas."""
MOST_ASKED: Final = 20
"""Questions of one call."""
_NONE: Final = "none"
_SHOWN: Final = 500
"""Characters of an item's text that are shown."""


class Effect(StrEnum):
    """Effect of a finding on the items of the bank."""

    NONE = "none"
    """It says nothing that is not there."""
    ADDS = "adds"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Something new, and what is or may be the same, the nearest first."""

    new: Item
    known: KnownItems


@dataclass(frozen=True, slots=True)
class Update:
    """Effect of a finding on the item that it matches, and a text that says what is true now."""

    change: Effect
    text: str = ""


def match_context(setup: AgentSetup, questions: Sequence[Comparison]) -> Context:
    """Return the input that asks which item each new one is the same as."""
    listed = [_choices(number, one) for number, one in enumerate(questions, start=1)]
    answers = {f"n{number}": one_of(*_letters(one), _NONE) for number, one in enumerate(questions, start=1)}
    return _context(setup, listed, OutputSchema(MATCH, record(**answers)))


def update_context(setup: AgentSetup, questions: Sequence[Comparison]) -> Context:
    """Return the input that asks what each new item changes about the first of those that are known."""
    listed = [_pair(number, one) for number, one in enumerate(questions, start=1)]
    text = {} if setup.style is PromptStyle.SMALL else {"text": text_of(LONGEST_TEXT)}
    answers = {
        f"n{number}": record(change=one_of(*Effect), **text) for number in range(1, len(questions) + 1)
    }
    return _context(setup, listed, OutputSchema(UPDATE, record(**answers)))


def as_many_as_fit(setup: AgentSetup, questions: Sequence[Comparison]) -> int:
    """Return how many questions one call can ask; at least one."""
    room = setup.budget - total((*setup.beginning, *setup.cue()))
    listed = [_choices(number, one) for number, one in enumerate(questions[:MOST_ASKED], start=1)]
    for count in range(len(listed), 1, -1):
        if setup.fenced(SegmentName.TASK, "\n".join(listed[:count])).tokens <= room:
            return count
    return 1


def read_match(text: str, questions: Sequence[Comparison]) -> list[Item | None]:
    """Return the item that each new one is the same as; raise InvalidMemoryError without any answer."""
    answer = read_object(text, _numbers(questions)).value
    chosen = [_letter(answer, number) for number in _numbers(questions)]
    if not any(chosen):
        raise InvalidMemoryError(["The object has no key n1, n2, …, one for each number."])
    return [
        dict(zip(_letters(one), one.known, strict=True)).get(letter)
        for one, letter in zip(questions, chosen, strict=True)
    ]


def read_update(text: str, questions: Sequence[Comparison]) -> list[Update]:
    """Return what each new item changes; raise InvalidMemoryError without any answer.

    Where the answer has no text, the new item's own counts.
    """
    answer = read_object(text, _numbers(questions)).value
    entries = [answer.get(number) for number in _numbers(questions)]
    if not any(isinstance(entry, Mapping) for entry in entries):
        raise InvalidMemoryError(["The object has no key n1, n2, …, with an object for each number."])
    return [_update(entry, one.new) for entry, one in zip(entries, questions, strict=True)]


def _update(entry: object, new: Item) -> Update:
    if not isinstance(entry, Mapping):
        return Update(Effect.NONE)
    change = line(entry, "change", 20).lower()
    kept = Effect(change) if change in set(Effect) else Effect.NONE
    text = line(entry, "text", LONGEST_TEXT)
    return Update(kept, new.text if is_blank(text) else text)


def _context(setup: AgentSetup, listed: Sequence[str], schema: OutputSchema) -> Context:
    task = setup.fenced(SegmentName.TASK, "\n".join(listed))
    return setup.context((task, *setup.cue()), schema=schema)


def _choices(number: int, one: Comparison) -> str:
    options = (f"   {letter}. {_text(item)}" for letter, item in zip(_letters(one), one.known, strict=True))
    return "\n".join((f"{number}. NEW {_text(one.new)}", *options))


def _pair(number: int, one: Comparison) -> str:
    return f"{number}. OLD {_text(one.known[0])}\n   NEW {_text(one.new)}"


def _numbers(questions: Sequence[Comparison]) -> list[str]:
    """Return the keys of an answer."""
    return [f"n{number}" for number in range(1, len(questions) + 1)]


def _letter(answer: Mapping[str, object], number: str) -> str:
    """Return the letter that an answer has for a number, or another word; null is its word for none."""
    if number in answer and answer[number] is None:
        return _NONE
    return line(answer, number, LONGEST_TEXT).lower().partition(".")[0].strip("()[] ")


def _letters(one: Comparison) -> str:
    return ascii_lowercase[: len(one.known)]


def _text(item: Item) -> str:
    return f"[{item.kind}] {clean_line(item.name)}: {head(clean_line(item.text), _SHOWN)}"
