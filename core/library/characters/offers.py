"""Offers a chapter the texts of a character's card besides name and identity (design 14).

None is taken automatically: the GM chooses. A scenario and a greeting go into the text of the chapter;
instructions for a model become prompt blocks of this character alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId
from core.domain.session.prompt_block import (
    GREATEST_ORDER,
    LEAST_ORDER,
    LONGEST_BLOCK_NAME,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
)
from core.domain.slot import Slot
from core.library.cards.card import Card
from core.library.cards.report import CardTarget, placements
from core.library.characters.in_chapter import expanded
from core.text.cleaning import is_blank
from core.text.graphemes import head

ALL: Final = "all"
GREETING: Final = "greeting"
LORE: Final = "lore"
"""The word for the lorebook of a card, which is offered beside these."""
_BETWEEN: Final = "\n\n"
_WORDS: Final = {
    "scenario": "scenario",
    "mes_example": "examples",
    "system_prompt": "system",
    "post_history_instructions": "post-history",
    "depth_prompt": "depth",
}
_ORDERS: Final = {"depth_prompt": GREATEST_ORDER - 100, "post_history_instructions": GREATEST_ORDER}
"""Order of the texts that a card puts near the end: behind all blocks of the GM."""
_NO_RULES: Final = {"original": ""}
"""A card's `{{original}}` stands for rules that its own replace; those of the program stay."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One text of a card that a chapter may take, with its macros expanded."""

    word: str
    """Its name on the command line, such as `greeting-2`."""
    field: str
    title: str
    place: CardTarget
    text: str

    @property
    def is_block(self) -> bool:
        """Whether it becomes a prompt block; otherwise it goes into the text of the chapter."""
        return self.place in (CardTarget.RULES, CardTarget.MATERIAL)


def offers_of(card: Card, character_id: CharacterId, name: str) -> tuple[Offer, ...]:
    """Return what else a card has, for a character that is called `name` in the chapter."""
    return tuple(_offers_of(card, character_id, name))


def _offers_of(card: Card, character_id: CharacterId, name: str) -> Iterator[Offer]:
    greetings = 0
    for one in placements(card):
        text = expanded(one.text, character_id, name, _NO_RULES).strip()
        if one.place is CardTarget.GREETINGS:
            greetings += 1
            word = GREETING if greetings == 1 else f"{GREETING}-{greetings}"
        else:
            word = _WORDS.get(one.field, "")
        if word and not is_blank(text):
            yield Offer(word, one.field, one.title, one.place, text)


def chosen_of(offers: Sequence[Offer], words: str, *, has_lore: bool) -> tuple[tuple[Offer, ...], bool]:
    """Return the offers that words with commas between them mean, and whether lore is among the words.

    Raises IllegalCommandError for a word that the card has nothing for.
    """
    wanted = [word.strip().casefold() for word in words.split(",") if word.strip()]
    there = [*(one.word for one in offers), *([LORE] if has_lore else [])]
    if wanted == [ALL]:
        wanted = [word for word in there if not word.startswith(f"{GREETING}-")]
    for word in wanted:
        if word not in there:
            raise IllegalCommandError(
                f"The card has nothing called “{word}”; it has {', '.join(there) or 'nothing more'}. "
                "Nothing was taken."
            )
    return tuple(one for one in offers if one.word in wanted), LORE in wanted


def with_text(chapter: str, text: str) -> str:
    """Return the text of a chapter with another one behind it."""
    return text if is_blank(chapter) else chapter.rstrip() + _BETWEEN + text


def without_text(chapter: str, text: str) -> str:
    """Return the text of a chapter without one that was put behind it, at its last place.

    Words of the GM behind it in its paragraph stay. A chapter that does not have it is not changed.
    """
    alone = rf"(?:\A|{_BETWEEN}){re.escape(text)}"
    places = [*re.finditer(rf"{alone}(?={_BETWEEN}|\s*\Z)", chapter)] or [*re.finditer(alone, chapter)]
    return (chapter[: places[-1].start()] + chapter[places[-1].end() :]).strip() if places else chapter


def block_of(offer: Offer, blocks: PromptBlocks, slot: Slot, name: str) -> PromptBlock | None:
    """Return the prompt block that was made of an offer for a character, if it is there."""
    called = _block_name(offer, name)
    return next((one for one in blocks.blocks if one.name == called and one.slots == (slot,)), None)


def with_offer(blocks: PromptBlocks, offer: Offer, slot: Slot, name: str, text: str = "") -> PromptBlocks:
    """Return the prompt blocks with an offer as one of a character alone; `text` is a shortened one.

    The block that was made of it before gets the text again.
    """
    before = block_of(offer, blocks, slot, name)
    block = PromptBlock(
        id=blocks.next_id if before is None else before.id,
        name=_block_name(offer, name),
        text=text or offer.text,
        order=_ORDERS.get(offer.field, LEAST_ORDER),
        place=BlockPlace.MATERIAL if offer.place is CardTarget.MATERIAL else BlockPlace.RULES,
        slots=(slot,),
    )
    return blocks.with_block(block)


def _block_name(offer: Offer, name: str) -> str:
    return f"{offer.title}: {head(name, LONGEST_BLOCK_NAME - len(offer.title) - 2)}".strip()
