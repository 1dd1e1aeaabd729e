"""The numbers of an item, and of others, as the GM types them in the form and on the command line; pure."""

from collections.abc import Iterable, Sequence
from math import nan
from typing import Final

from core.domain.bank.checks import LAST_PROMPT, NO_SHARE
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.bank.matching import item_name_key
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from core.text.name_list import shown_names, typed_names

NO_PROMPT: Final = f"An item is recalled up to a prompt from 0 to {LAST_PROMPT:,}; without a number, always."
NEVER: Final = "never"
NO_ITEM: Final = (
    "No item of this chapter is called “{}” or has that id; quotes prove other items than quotes."
)
MANY_ITEMS: Final = "{:,} items are called “{}” or have that id: type the id of one, which Enter shows."
LENGTH: Final = 8
"""Characters of an id that are shown: its end, where ids differ."""
_FEWEST: Final = 4
"""Characters of an id that are typed, at least."""


def shown_share(share: float) -> str:
    """Return a number as a field has it."""
    return f"{share:g}"


def read_share(typed: str, before: float, least: float = 0) -> float:
    """Return a number from `least` to 1; one that was not edited is as exact as it was."""
    return before if typed == shown_share(before) else read_number(typed, least)


def read_number(typed: str, least: float = 0) -> float:
    """Return a number from `least` to 1; raise IllegalCommandError for anything else."""
    try:
        share = float(typed.strip().replace(",", ".")) if typed.isascii() else nan
    except ValueError:
        share = nan
    if not least <= share <= 1:
        raise IllegalCommandError(NO_SHARE)
    return share


def shown_decay(rate: float) -> str:
    """Return what of its importance a prompt takes of an item, as a field has it."""
    return shown_share(rate) if rate else NEVER


def read_decay(typed: str, before: float) -> float:
    """Return what of its importance a prompt takes; “never” is nothing."""
    return 0.0 if typed.strip().casefold() == NEVER else read_share(typed, before)


def shown_prompt(last: int | None) -> str:
    """Return the last prompt at which an item is recalled, as a field has it."""
    return "" if last is None else str(last)


def read_prompt(typed: str) -> int | None:
    """Return the last prompt at which an item is recalled; None without a number."""
    number = typed.strip()
    if not number or number.casefold() == NEVER:
        return None
    if not (number.isascii() and number.isdecimal()) or len(number) > len(str(LAST_PROMPT)):
        raise IllegalCommandError(NO_PROMPT)
    if int(number) > LAST_PROMPT:
        raise IllegalCommandError(NO_PROMPT)
    return int(number)


def shown_id(item_id: ItemId) -> str:
    """Return the id of an item as lists and forms have it."""
    return str(item_id)[-LENGTH:]


def has_id(item: Item, typed: str) -> bool:
    """Whether an item has an id that begins or ends so."""
    text = str(item.id)
    return len(typed) >= _FEWEST and (text.startswith(typed) or text.endswith(typed))


def shown_items(item_ids: Iterable[ItemId]) -> str:
    """Return the items that a quote proves, as a field has them."""
    return shown_names(map(shown_id, item_ids))


def read_items(typed: str, before: Sequence[ItemId], items: Sequence[Item]) -> tuple[ItemId, ...]:
    """Return the items that a quote proves, by their names or ids; raise IllegalCommandError for others.

    `items` are those of its chapter that count. One that was there `before` may stay whatever became of it.
    """
    known = {shown_id(one): one for one in before}
    others = [item for item in items if item.kind is not ItemKind.QUOTE]
    found: dict[ItemId, None] = {}
    for part in typed_names(typed, ()):
        if part in known:
            found[known[part]] = None
            continue
        meant = {
            one.id for one in others if item_name_key(one.name) == item_name_key(part) or has_id(one, part)
        }
        if len(meant) != 1:
            sentence = MANY_ITEMS.format(len(meant), part) if meant else NO_ITEM.format(part)
            raise IllegalCommandError(sentence)
        found |= dict.fromkeys(meant)
    return tuple(found)
