"""The one gate for the knowledge of agents (design 13): nothing else decides what an agent may know.

An input is built from a `Knowledge` alone, and only the functions here make one: `known_to` for a character,
`known_to_all_of` for witnesses of the same events, `known_to_gm` for the GM and the narrative agent, who know
everything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NewType, Self

from core.context.bank import NO_BANK, ChapterBank
from core.context.canon_locks import with_gm_locks
from core.context.carry_over import block_of, label_in
from core.context.lore import NO_LORE, ChapterLore
from core.domain.audience import Audience
from core.domain.bank.item import Item
from core.domain.session.carry_over import NOTHING_CARRIED, CarriedLine, CarryOver
from core.domain.session.cast import Character
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Reveal, Secret, label_of

_GATE: Final = object()

KnownEvents = NewType("KnownEvents", tuple[Event, ...])
KnownBlocks = NewType("KnownBlocks", tuple[MemoryBlock, ...])
KnownSecrets = NewType("KnownSecrets", tuple[str, ...])
KnownLore = NewType("KnownLore", ChapterLore)
KnownBank = NewType("KnownBank", ChapterBank)
KnownItems = NewType("KnownItems", tuple[Item, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The parts of a story that the author of an input knows.

    Raises TypeError unless it is made by the functions of this module.
    """

    session: Session
    blocks: KnownBlocks
    events: KnownEvents
    secrets: KnownSecrets
    """The texts of the secrets; for the GM each with the names of those who know it."""
    quotes: KnownItems = KnownItems(())
    """Quotes that the GM keeps, for the narrative."""
    gate: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.gate is not _GATE:
            raise TypeError("what an agent knows is decided by known_to and its like")

    def since(self, prompt_index: int) -> Self:
        """Return what is known with only those events that are summarised after a prompt or always sent."""
        recent = tuple(
            event for event in self.events if event.summarised_with > prompt_index or event.is_always_sent
        )
        return replace(self, events=KnownEvents(recent))


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterKnowledge(Knowledge):
    """Knowledge of a character: also its identity, the others on stage, and the lore and items for it."""

    character: Character
    on_stage: tuple[tuple[str, str], ...] = ()
    """The others in the scene, each with its name and its short description; none where no one has one."""
    lore: KnownLore
    bank: KnownBank
    """Its own sheet, and the items that it may know of those that were recalled."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of a chapter, and the reveals of them that are canon."""

    secrets: tuple[Secret, ...] = ()
    reveals: tuple[Reveal, ...] = ()

    def label_of(self, secret: Secret) -> Audience:
        """Return who may know a secret now."""
        return label_of(secret, self.reveals)


NO_SECRETS: Final = Secrets()


@dataclass(frozen=True, slots=True)
class Story:
    """The parts of a chapter of which an agent knows what its audience may: the same for every agent."""

    session: Session
    blocks: Sequence[MemoryBlock]
    events: Sequence[Event]
    secrets: Secrets = NO_SECRETS
    carried: CarryOver = NOTHING_CARRIED
    """Memory of earlier chapters."""
    quotes: Sequence[Item] = ()


def known_to(
    character: Character,
    story: Story,
    cast: Iterable[Character] = (),
    lore: ChapterLore = NO_LORE,
    bank: ChapterBank = NO_BANK,
) -> CharacterKnowledge:
    """Return what a character may know of a story, of the others of the cast, and of its lore and bank."""
    audience, session, secrets = Audience.of((character.slot,)), story.session, story.secrets
    known = _witnessed(story.events, audience)
    return CharacterKnowledge(
        character=character,
        on_stage=described(one for one in cast if one.slot in session.here and one.slot != character.slot),
        session=session,
        blocks=_memory(session, story.blocks, audience, story.carried),
        events=known,
        quotes=_quotes(items_known_to_all_of(audience, story.quotes), known),
        secrets=KnownSecrets(
            tuple(secret.text for secret in secrets.secrets if secrets.label_of(secret).includes(audience))
        ),
        lore=_lore(lore, audience),
        bank=_bank(bank, character.slot),
        gate=_GATE,
    )


def known_to_all_of(audience: Audience, story: Story) -> Knowledge:
    """Return what each of `audience` may know: what a summary for them is made from."""
    return Knowledge(
        session=story.session,
        blocks=_memory(story.session, story.blocks, audience, story.carried),
        events=_witnessed(story.events, audience),
        secrets=KnownSecrets(()),
        gate=_GATE,
    )


def items_known_to_all_of(audience: Audience, items: Iterable[Item]) -> KnownItems:
    """Return the items of a chapter that each of `audience` may know."""
    return KnownItems(tuple(item for item in items if item.label.includes(audience)))


def known_to_gm(story: Story) -> Knowledge:
    """Return everything, for the GM and for the narrative agent."""
    session, secrets, known = story.session, story.secrets, _known(story.events)
    lines = [
        line if (label := label_in(session, line)).is_everyone else _with_knowers(line, label, session)
        for line in story.carried.lines
    ]
    return Knowledge(
        session=session,
        blocks=KnownBlocks((*block_of(session, lines), *with_gm_locks(session, story.blocks))),
        events=known,
        quotes=_quotes(story.quotes, known),
        secrets=KnownSecrets(
            tuple(
                f"{secret.text} (known to: {names_of(secrets.label_of(secret), session)})"
                for secret in secrets.secrets
            )
        ),
        gate=_GATE,
    )


def described(others: Iterable[Character]) -> tuple[tuple[str, str], ...]:
    """Return the name and the short description of others; nothing where none of them has one."""
    lines = tuple((one.name, one.profile.short_description) for one in others)
    return lines if any(short for _, short in lines) else ()


def names_of(audience: Audience, session: Session) -> str:
    """Return the names of the characters in `audience`, in slot order."""
    if session.audience_of(audience).is_everyone:
        return "everyone"
    return ", ".join(name for slot, name in session.roster if slot in audience) or "no one"


def _witnessed(events: Iterable[Event], audience: Audience) -> KnownEvents:
    return _known(event for event in events if event.audience.includes(audience))


def _known(events: Iterable[Event]) -> KnownEvents:
    return KnownEvents(tuple(event for event in events if not event.is_never_sent))


def _quotes(quotes: Sequence[Item], events: KnownEvents) -> KnownItems:
    """Return those of the quotes whose words are in one of the events, with their proof in these alone.

    So none has the words of a line that is never sent.
    """
    if not quotes:
        return KnownItems(())
    places = {event.log_place for event in events}
    proved = ((one, tuple(proof for proof in one.evidence if proof.place in places)) for one in quotes)
    return KnownItems(tuple(replace(one, evidence=proofs) for one, proofs in proved if proofs))


def _memory(
    session: Session, blocks: Iterable[MemoryBlock], audience: Audience, carried: CarryOver
) -> KnownBlocks:
    known = [block for block in blocks if block.audience.includes(audience)]
    lines = [line for line in carried.lines if label_in(session, line).includes(audience)]
    return KnownBlocks((*block_of(session, lines), *with_gm_locks(session, known, audience)))


def _lore(lore: ChapterLore, audience: Audience) -> KnownLore:
    """Return the books for all of an audience, and what was active for each of it."""
    if not lore:
        return KnownLore(NO_LORE)
    books = tuple((about, book) for about, book in lore.books if about.label.includes(audience))
    return KnownLore(ChapterLore(books, tuple(use for use in lore.uses if use.slot in audience)))


def _bank(bank: ChapterBank, own: Slot) -> KnownBank:
    """Return the sheet of a character, as far as it may know it, and what it may know of the rest."""
    sheet = (line for line in bank.sheet if line.about is own and own in line.label)
    recalled = (one for one in bank.recalled if own in one.found.label)
    return KnownBank(replace(bank, sheet=tuple(sheet), recalled=tuple(recalled)))


def _with_knowers(line: CarriedLine, label: Audience, session: Session) -> CarriedLine:
    return replace(line, text=f"{line.text} (known to: {names_of(label, session)})")
