"""Writes a long chapter in which facts are planted, with its memory and its bank as play leaves them."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from bench.canon.facts import Fact, FactMaker
from bench.canon.frames import FactKind
from bench.canon.items import make_item
from bench.synthetic_sessions import BEGAN, delta_block, lock_block, sentences, session, tab1
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
_MOST_IN_A_PROMPT: Final = 3


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact of the story, the prompt in which it was said, and how far the question is away."""

    fact: Fact
    prompt_index: int
    distance: int
    is_kept: bool
    """The GM pinned or confirmed it."""

    @property
    def label(self) -> Audience:
        """Those who heard it."""
        return _SECRET if self.fact.kind is FactKind.SECRET else EVERYONE


@dataclass(frozen=True, slots=True)
class Story:
    """A chapter to be stored, and what will be asked about it."""

    changes: Changes
    planted: tuple[Planted, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of its bank."""
        return self.changes.items


def write_story(seed: int, prompts: int, items: int, questions: int) -> Story:
    """Return a chapter of so many prompts, whose bank has so many items.

    Of each kind and each distance there are `questions` planted facts; the others are like them, and no
    question is about them.
    """
    draw, maker = random.Random(seed), FactMaker(seed)
    session_id = SessionId(new_uuid())
    facts = {kind: maker.facts(kind) for kind in FactKind}
    planted = list(_planted(facts, prompts, questions))
    said: dict[int, list[Planted]] = defaultdict(list)
    for one in planted:
        said[one.prompt_index].append(one)
    for fact in islice(_by_turns(facts), items - len(planted)):
        place = draw.randint(1, max(1, prompts - CHUNK))
        while len(said[place]) >= _MOST_IN_A_PROMPT:
            place = draw.randint(1, max(1, prompts - CHUNK))
        said[place].append(Planted(fact, place, 0, is_kept=False))
    events = tuple(
        event for index in range(1, prompts + 1) for event in _prompt(session_id, index, said[index])
    )
    blocks = tuple(_blocks(session_id, prompts, said))
    stored = tuple(
        make_item(session_id, one.fact, events[index * 2 - 1], is_kept=one.is_kept)
        for index in sorted(said)
        for one in said[index]
    )
    made = Changes(
        session_id=session_id,
        session=replace(session(session_id, prompts, CHUNK), keeps_bank=True),
        tab1=tab1(),
        events=events,
        blocks=blocks,
        items=stored,
    )
    return Story(made, tuple(planted))


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
                spread = (number * len(FactKind) + place) // _MOST_IN_A_PROMPT
                index = min(
                    prompts, max(1, prompts - distance + (spread if distance > CHUNK else spread % 3))
                )
                yield Planted(fact, index, distance, number % _KEPT_EVERY in (0, 1))


def _prompt(session_id: SessionId, index: int, said: Sequence[Planted]) -> Iterator[Event]:
    """Yield the GM's text and the reply, in which the facts are said.

    A secret is said in a prompt that one character alone hears, so a prompt with one is whispered as a whole.
    """
    slot = first_slots(3)[index % 3]
    is_secret = any(one.fact.kind is FactKind.SECRET for one in said)
    audience = _SECRET if is_secret else EVERYONE
    told = " ".join(
        [sentences(18, index * 2), *(one.fact.said for one in said), sentences(12, index * 2 + 1)]
    )
    for ordinal, role, text in ((0, Role.USER, sentences(20, index * 3)), (1, Role.AGENT, told)):
        yield Event(
            id=EventId(new_uuid()),
            session_id=session_id,
            prompt_index=index,
            ordinal=ordinal,
            role=role,
            slot=(KNOWS if is_secret else slot) if ordinal else None,
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
        secret_prompts = {one.prompt_index for one in chunk if one.fact.kind is FactKind.SECRET}
        private = [one for one in chunk if one.prompt_index in secret_prompts]
        yield _told(delta, [one for one in chunk if one not in private])
        if private:
            secret = replace(delta, id=BlockId(new_uuid()), ordinal=1, audience=_SECRET)
            yield _told(secret, private)


def _told(delta: MemoryBlock, said: Sequence[Planted]) -> MemoryBlock:
    happened = [{"event": one.fact.said, "cause": "", "effect": "", "participants": ["Kara"]} for one in said]
    return replace(delta, payload={**delta.payload, "major_events": happened})
