"""Reports what an import does with a card: the place of each field, and texts too long for their place.

Nothing is cut: the GM chooses which part of a long text goes into the chapter.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.domain.session.limits import Limits
from core.domain.session.prompt_block import LONGEST_PROMPT_BLOCK
from core.library.cards.card import Card
from core.library.cards.card_file import CardFile
from core.text.numbers import counted

LONG: Final = 5_000
"""Characters that a field of a chapter holds; the report names a text that is longer."""
OFFERED: Final = "The card has more, which a chapter is offered once it takes the character; you choose:"


class CardTarget(StrEnum):
    """Target of a card's text; the value is the GM's word for it. Those that are offered come last."""

    NAME = "the name"
    IDENTITY = "the identity"
    KEPT = "the card, unused"
    CHAPTER = "the chapter"
    GREETINGS = "openings of the chapter to choose from"
    RULES = "a prompt block of its own, with the rules"
    MATERIAL = "a prompt block of its own, with the material"
    LORE = "a lorebook that this character alone knows"

    @property
    def is_offered(self) -> bool:
        """Whether a text goes there only once the GM chooses it, for a chapter that took the character."""
        return self not in (CardTarget.NAME, CardTarget.IDENTITY, CardTarget.KEPT)

    @property
    def room(self) -> int:
        """Maximum characters of one text."""
        return LONGEST_PROMPT_BLOCK if self in (CardTarget.RULES, CardTarget.MATERIAL) else LONG


_PLACES: Final = (
    ("name", "Name", CardTarget.NAME),
    ("nickname", "Nickname", CardTarget.NAME),
    ("description", "Description", CardTarget.IDENTITY),
    ("personality", "Personality", CardTarget.IDENTITY),
    ("scenario", "Scenario", CardTarget.CHAPTER),
    ("first_mes", "First message", CardTarget.GREETINGS),
    ("mes_example", "Examples", CardTarget.MATERIAL),
    ("system_prompt", "System prompt", CardTarget.RULES),
    ("post_history_instructions", "Post-history instructions", CardTarget.RULES),
    ("creator_notes", "Creator's notes", CardTarget.KEPT),
    ("creator", "Creator", CardTarget.KEPT),
    ("character_version", "Version of the character", CardTarget.KEPT),
)
_LISTS: Final = (
    ("alternate_greetings", "Other greetings", CardTarget.GREETINGS),
    ("group_only_greetings", "Greetings for groups", CardTarget.GREETINGS),
    ("tags", "Tags", CardTarget.KEPT),
)


@dataclass(frozen=True, slots=True)
class Placement:
    """One field of a card that has a text, and where it goes."""

    field: str
    title: str
    place: CardTarget
    text: str

    @property
    def room(self) -> int:
        """Maximum characters of the text in a chapter."""
        return Limits().name if self.field == "name" else self.place.room

    @property
    def is_long(self) -> bool:
        """Whether the text is longer than its place in a chapter holds."""
        return len(self.text) > self.room


def placements(card: Card) -> tuple[Placement, ...]:
    """Return where each field of the card goes; fields without text are left out."""
    found = [Placement(field, title, place, card.text(field)) for field, title, place in _PLACES]
    for field, title, place in _LISTS:
        texts = card.texts(field)
        found += [
            Placement(field, f"{title} {number}" if len(texts) > 1 else title, place, text)
            for number, text in enumerate(texts, start=1)
            if place is not CardTarget.KEPT
        ]
        if place is CardTarget.KEPT:
            found.append(Placement(field, title, place, ", ".join(texts)))
    found.append(Placement("depth_prompt", "Depth prompt", CardTarget.RULES, card.depth_prompt))
    return tuple(placement for placement in found if placement.text.strip())


def report(file: CardFile) -> tuple[str, ...]:
    """Return the report of an import in short sentences: what is taken over, and what is offered later."""
    placed = placements(file.card)
    taken: list[str] = []
    offered: list[str] = []
    for place in CardTarget:
        titles = list(dict.fromkeys(one.title for one in placed if one.place is place))
        if titles:
            (offered if place.is_offered else taken).append(f"{_joined(titles)} → {place}.")
    entries = _lore_entries(file.card)
    if entries is not None:
        offered.append(f"Lore, {counted(entries, 'entry', 'entries')} → {CardTarget.LORE}.")
    sentences = [*file.notes, *taken, *([OFFERED, *offered] if offered else [])]
    sentences += [
        f"{one.title} has {len(one.text):,} characters, and {one.room:,} fit; "
        "nothing was cut, choose what goes."
        for one in placed
        if one.is_long and one.place is not CardTarget.KEPT
    ]
    return tuple(sentences)


def _lore_entries(card: Card) -> int | None:
    path = card.book_path
    if path is None:
        return None
    entries = card.document.get(*path, "entries")
    return len(entries) if isinstance(entries, list | dict) else 0


def _joined(titles: list[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
