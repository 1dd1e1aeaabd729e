"""Writes a long chapter in which facts are planted, with its memory and its bank as play leaves them."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from bench.canon.facts import Fact, FactMaker
from bench.canon.frames import FactKind
from bench.canon.items import make_item
from bench.synthetic_sessions import BEGAN, delta_block, lock_block, sentences, session, tab1, whole
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.item import Item
from core.domain.ids import BlockId, EventId, SessionId, new_uuid
from core.domain.slot import Slot, first_slots
from core.domain.story.event import Event, Role
from core.domain.story.memory import MemoryBlock
from core.storage.changes import Changes

CHUNK: Final = 7
DISTANCES: Final = (7, 70, 700, 7_000)
"""Number of prompts between a fact and its question."""
KNOWS: Final = Slot.RED
"""The character that hears every secret, and is asked."""
DOES_NOT: Final = Slot.ORANGE
"""One that heard none of them."""
_SECRET: Final = Audience.of((KNOWS,))
_KEPT_EVERY: Final = 5
"""One planted fact of so many is pinned, and one confirmed."""
MOST_IN_A_PROMPT: Final = 3
_TOLD_BEFORE: Final = (0, 1, 0, 2)
"""Earlier, other tellings of each of four changes of state: the item of each later telling
takes the place of that of the one before."""
_NEXT_PROMPTS: Final = 21
"""Prompts of the next chapter of the book."""
_CHANGED_WITHIN: Final = 3
"""Pairs of prompts, at the beginning of the next chapter, in which states are changed once more: long before
its recent context."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact of the story, the prompt in which it was said, and how far the question is away."""

    fact: Fact
    prompt_index: int
    distance: int
    is_kept: bool
    """The GM pinned or confirmed it."""
    outdated: tuple[str, ...] = ()
    """The sentences that said it before and are true no more, the oldest first."""


@dataclass(frozen=True, slots=True)
class Story:
    """A chapter to be stored, and what will be asked about it."""

    changes: Changes
    planted: tuple[Planted, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of its bank."""
        return self.changes.items


def write_story(
    seed: int, prompts: int, items: int, questions: int, most_in_a_prompt: int = MOST_IN_A_PROMPT
) -> Story:
    """Return a chapter of so many prompts, whose bank has so many items.

    Of each kind and each distance there are `questions` planted facts; the others are like them, and no
    question is about them. Half of the planted changes of state were told otherwise before. Raise ValueError
    where the prompts have no room for the items, with `most_in_a_prompt` in each.
    """
    draw, maker = random.Random(seed), FactMaker(seed)
    session_id = SessionId(new_uuid())
    facts = {kind: maker.facts(kind) for kind in FactKind}
    planted = list(_planted(facts, prompts, questions))
    others = islice(_by_turns(facts), max(0, items - len(planted)))
    said = _placed(planted, others, prompts, draw, most_in_a_prompt)
    before = dict(_told_before(planted, said, random.Random(f"before {seed}")))
    _make_room(said, len(before))
    for older in before.values():
        said[older.prompt_index].append(older)
    events = tuple(
        event
        for index in range(1, prompts + 1)
        for event in _prompt(session_id, index, [one.fact for one in said[index]], _heard_by(said[index]))
    )
    blocks = tuple(_blocks(session_id, prompts, said))
    stored: dict[str, Item] = {}
    for one in (one for index in sorted(said) for one in said[index]):
        reply, text = events[one.prompt_index * 2 - 1], one.fact.said
        replaced = stored[before[text].fact.said] if text in before else None
        stored[text] = make_item(session_id, one.fact, reply, is_kept=one.is_kept, replaced=replaced)
    made = Changes(
        session_id=session_id,
        session=replace(session(session_id, prompts, CHUNK), keeps_bank=True),
        tab1=tab1(),
        events=events,
        blocks=blocks,
        items=tuple(stored.values()),
    )
    return Story(made, tuple(replace(one, outdated=_outdated(one.fact.said, before)) for one in planted))


def write_next(story: Story) -> Story:
    """Return the next chapter of the book, in which some of the states that were planted change again.

    Its bank says so, each item in place of that of the first chapter; what is kept is never replaced. Its
    memory does not: there the digest left it out.
    """
    made = whole(_NEXT_PROMPTS)
    first = {item.text: item for item in story.items}
    loose = [one for one in story.planted if one.fact.other_values and not one.is_kept]
    changed = {one.fact.said: one for number, one in enumerate(loose) if number % len(_TOLD_BEFORE) < 3}
    told: dict[int, list[tuple[Fact, Item]]] = defaultdict(list)
    planted: list[Planted] = []
    for one in story.planted:
        if one.fact.said in changed:
            older = first[one.fact.said]
            # A whispered prompt has nothing that everyone hears.
            place = 2 * (len(planted) % _CHANGED_WITHIN) + (1 if older.label.is_everyone else 2)
            fact = replace(one.fact, said=one.fact.other_values[-1])
            told[place].append((fact, older))
            one = replace(one, fact=fact, outdated=(*one.outdated, one.fact.said))
        planted.append(one)
    events: list[Event] = []
    for index in range(1, _NEXT_PROMPTS + 1):
        if index in told:
            facts, audience = [fact for fact, _ in told[index]], told[index][0][1].label
            events += _prompt(made.session_id, index, facts, audience)
        else:
            events += (event for event in made.events if event.prompt_index == index)
    items = tuple(
        make_item(made.session_id, fact, events[index * 2 - 1], replaced=older)
        for index in sorted(told)
        for fact, older in told[index]
    )
    assert made.session is not None
    kept = replace(made.session, keeps_bank=True)
    return Story(replace(made, session=kept, events=tuple(events), items=items), tuple(planted))


def _told_before(
    planted: Sequence[Planted], said: Mapping[int, Sequence[Planted]], draw: random.Random
) -> Iterator[tuple[str, Planted]]:
    """Yield what was told of planted states before, each with the sentence that says it otherwise later.

    Those who heard the one heard the other: what only some know takes the place of nothing that all know.
    """
    states = [one for one in planted if one.fact.other_values]
    for number, one in enumerate(states):
        count, audience = _TOLD_BEFORE[number % len(_TOLD_BEFORE)], _heard_by(said[one.prompt_index])
        earlier = [
            index for index in sorted(said) if index < one.prompt_index and _heard_by(said[index]) == audience
        ]
        newer = one.fact
        places = sorted(draw.sample(earlier, count)) if len(earlier) >= count else []
        for index, value in zip(reversed(places), one.fact.other_values, strict=False):
            older = replace(one.fact, said=value, other_values=())
            yield newer.said, Planted(older, index, 0, is_kept=False)
            newer = older


def _make_room(said: Mapping[int, list[Planted]], count: int) -> None:
    """Take `count` facts out again that no question is about, so that a bank has as many items as asked for.

    No secret: who hears a prompt stays as it is.
    """
    others = ((listed, one) for listed in said.values() for one in listed if not one.distance)
    for listed, one in [pair for pair in others if pair[1].fact.kind is not FactKind.SECRET][:count]:
        listed.remove(one)


def _outdated(said: str, before: Mapping[str, Planted]) -> tuple[str, ...]:
    older = before.get(said)
    return (*_outdated(older.fact.said, before), older.fact.said) if older else ()


def _heard_by(said: Iterable[Planted]) -> Audience:
    """Return who hears a prompt: a secret is told to one character, so a prompt with one is whispered."""
    return _SECRET if any(one.fact.kind is FactKind.SECRET for one in said) else EVERYONE


def _placed(
    planted: Iterable[Planted], others: Iterable[Fact], prompts: int, draw: random.Random, most: int
) -> dict[int, list[Planted]]:
    """Return the facts by their prompts, those that no question is about wherever there is room.

    A prompt has `most` facts. Raise ValueError where there is no room.
    """
    said: dict[int, list[Planted]] = defaultdict(list)
    for one in planted:
        said[one.prompt_index].append(one)
    last = max(1, prompts - CHUNK)
    room = sum(max(0, most - len(said[index])) for index in range(1, last + 1))
    for number, fact in enumerate(others):
        if number == room:
            raise ValueError(f"{prompts} prompts have no room for so many facts")
        place = draw.randint(1, last)
        while len(said[place]) >= most:
            place = draw.randint(1, last)
        said[place].append(Planted(fact, place, 0, is_kept=False))
    return said


def _by_turns(facts: dict[FactKind, Iterator[Fact]]) -> Iterator[Fact]:
    """Yield facts of each kind by turns, while a kind has some."""
    left = list(facts.values())
    while left:
        for kind in tuple(left):
            fact = next(kind, None)
            if fact is None:
                left.remove(kind)
            else:
                yield fact


def _planted(facts: dict[FactKind, Iterator[Fact]], prompts: int, questions: int) -> Iterator[Planted]:
    """Yield the facts that are asked about; those of the greatest distance are at the beginning."""
    for distance in DISTANCES:
        if distance > prompts:
            continue
        for place, kind in enumerate(FactKind):
            for number, fact in enumerate(islice(facts[kind], questions)):
                # A few prompts beside the exact distance, so that they do not all stand in one.
                spread = (number * len(FactKind) + place) // MOST_IN_A_PROMPT
                index = min(
                    prompts, max(1, prompts - distance + (spread if distance > CHUNK else spread % 3))
                )
                yield Planted(fact, index, distance, number % _KEPT_EVERY in (0, 1))


def _prompt(session_id: SessionId, index: int, said: Sequence[Fact], audience: Audience) -> Iterator[Event]:
    """Yield the GM's text and the reply, in which the facts are said."""
    slot = first_slots(3)[index % 3] if audience.is_everyone else KNOWS
    told = " ".join([sentences(18, index * 2), *(one.said for one in said), sentences(12, index * 2 + 1)])
    for ordinal, role, text in ((0, Role.USER, sentences(20, index * 3)), (1, Role.AGENT, told)):
        yield Event(
            id=EventId(new_uuid()),
            session_id=session_id,
            prompt_index=index,
            ordinal=ordinal,
            role=role,
            slot=slot if ordinal else None,
            text=text,
            audience=audience,
            created_at=BEGAN,
        )


def _blocks(session_id: SessionId, prompts: int, said: dict[int, list[Planted]]) -> Iterator[MemoryBlock]:
    """Yield the lock, and of each chunk a delta for everyone and one for those who heard a secret."""
    yield lock_block(session_id)
    for number in range(prompts // CHUNK):
        delta = delta_block(session_id, number, CHUNK)
        chunk = [one for index in range(delta.first, delta.last + 1) for one in said[index]]
        private = [one for one in chunk if not _heard_by(said[one.prompt_index]).is_everyone]
        yield _told(delta, [one for one in chunk if one not in private])
        if private:
            secret = replace(delta, id=BlockId(new_uuid()), ordinal=1, audience=_SECRET)
            yield _told(secret, private)


def _told(delta: MemoryBlock, said: Sequence[Planted]) -> MemoryBlock:
    happened = [{"event": one.fact.said, "cause": "", "effect": "", "participants": ["Kara"]} for one in said]
    return replace(delta, payload={**delta.payload, "major_events": happened})
