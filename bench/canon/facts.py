"""Draws made-up facts, the questions that ask for them, and others that are easily mistaken for them."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.canon.concepts import DEEDS, FIRST, LAST, LOOKS, MIDDLE, PLACES, STATES, THINGS, TRADES, Concept
from bench.canon.frames import FRAMES, FactKind

_COMMON: Final = (
    "a about an and any are as at be been before by can did do does down for from get give goes got "
    "had has have he her him his how i in into is it its like made makes many me not now of off on "
    "one only or other out over own people past put she so some something someone that the their "
    "them then there they thing things this to two up very was way were what when where which who "
    "whom will with without works you "
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a character says in the story, and how it is asked about later.

    `said` is a whole sentence, which no other fact of the story has. `question` shares no word with it, but
    for those that every sentence has.
    """

    kind: FactKind
    about: str
    said: str
    question: str
    other_values: tuple[str, ...] = ()
    """Of a change of state, sentences that say another state of the same thing, each another one."""


COMMON: Final = frozenset(_COMMON.split())
"""Words that do not tell the subject of a sentence."""


def content_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, without their endings."""
    words = re.findall(r"[a-z]+", text.lower())
    return {re.sub(r"(?:ing|ed|es|s)$", "", word) for word in words if word not in COMMON}


_OTHER_STATES: Final = 3
"""Other states of a thing that the story may tell of before or later."""
_MOST_FAILURES: Final = 500
"""Facts in a row that were drawn before, after which a kind is used up."""


class FactMaker:
    """Draws facts that all differ, from a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        # Of their own, so that a seed has the same facts whatever else is drawn for them.
        self._draw_frame, self._draw_other = (random.Random(f"{part} {seed}") for part in ("frame", "other"))
        self._used: set[str] = set()
        self._names: set[str] = set()

    def facts(self, kind: FactKind) -> Iterator[Fact]:
        """Yield facts of one kind, until there are hardly any others."""
        make = {
            FactKind.NAME: self._name_fact,
            FactKind.NUMBER: self._number,
            FactKind.PROMISE: self._promise,
            FactKind.POSSESSION: self._possession,
            FactKind.STATE: self._state,
            FactKind.SECRET: self._secret,
        }[kind]
        failures = 0
        while failures < _MOST_FAILURES:
            fact = make()
            failures += 1
            key = f"{kind}/{fact.about}"
            if key not in self._used and not content_words(fact.said) & content_words(fact.question):
                self._used.add(key)
                failures = 0
                yield fact

    def _name_fact(self) -> Fact:
        trade, place = self._one(TRADES), self._one(PLACES)
        return Fact(
            FactKind.NAME,
            f"{trade.name}, {place.name}",
            f"The {trade.name} of {place.name} is called {self._name()}.",
            self._asked(FactKind.NAME, who=trade, where=place),
        )

    def _number(self) -> Fact:
        look, thing, place = self._one(LOOKS), self._one(THINGS), self._one(PLACES)
        count = self._draw.randrange(12, 998)
        return Fact(
            FactKind.NUMBER,
            f"{look.name} {thing.name}, {place.name}",
            f"Exactly {count} of the {look.name} {_plural(thing.name)} were counted in {place.name}.",
            self._asked(FactKind.NUMBER, look=look, what=thing, where=place),
        )

    def _promise(self) -> Fact:
        return self._intention(FactKind.PROMISE, "The {} from {} gave a promise to {}.")

    def _possession(self) -> Fact:
        look, thing, trade, place = self._one(LOOKS), self._one(THINGS), self._one(TRADES), self._one(PLACES)
        return Fact(
            FactKind.POSSESSION,
            f"{look.name} {thing.name}",
            f"The {look.name} {thing.name} belongs to the {trade.name} of {place.name} now.",
            self._asked(FactKind.POSSESSION, look=look, what=thing),
        )

    def _state(self) -> Fact:
        place, state = self._one(PLACES), self._one(STATES)
        who = self._one(TRADES)
        question = self._asked(FactKind.STATE, who=who, where=place)
        asked = content_words(question)
        others = [one for one in STATES if one != state and not content_words(one.name) & asked]
        values = (state, *self._draw_other.sample(others, _OTHER_STATES))
        said, *other_values = (
            f"The house of the {who.name} near {place.name} was {one.name}." for one in values
        )
        about = f"{who.name}'s house, {place.name}"
        return Fact(FactKind.STATE, about, said, question, tuple(other_values))

    def _secret(self) -> Fact:
        return self._intention(FactKind.SECRET, "In secret the {} of {} plans to {}.")

    def _intention(self, kind: FactKind, sentence: str) -> Fact:
        trade, place, deed = self._one(TRADES), self._one(PLACES), self._one(DEEDS)
        return Fact(
            kind,
            f"{trade.name}, {place.name}",
            sentence.format(trade.name, place.name, deed.name),
            self._asked(kind, who=trade, where=place),
        )

    def _asked(self, kind: FactKind, **subjects: Concept) -> str:
        """Return a question in one of the frames of its kind."""
        frame = self._draw_frame.choice(FRAMES[kind])
        question = frame.format(**{name: concept.described for name, concept in subjects.items()})
        return question[0].upper() + question[1:]

    def _one(self, concepts: tuple[Concept, ...]) -> Concept:
        return self._draw.choice(concepts)

    def _name(self) -> str:
        while True:
            parts = (self._draw.choice(FIRST), self._draw.choice(MIDDLE), self._draw.choice(LAST))
            family = (self._draw.choice(FIRST), self._draw.choice(MIDDLE), self._draw.choice(LAST))
            name = f"{''.join(parts)} {''.join(family)}"
            if name not in self._names:
                self._names.add(name)
                return name


def _plural(thing: str) -> str:
    return thing if thing.endswith("s") else f"{thing}s"
