"""The numbers of an item as the GM types them, in the form and on the command line; pure (design 15)."""

from math import nan
from typing import Final

from core.domain.bank.checks import LAST_PROMPT
from core.domain.errors import IllegalCommandError

NO_SHARE: Final = "Importance, confidence, fading, strength and exposure are 0 to 1, a sentiment is -1 to 1."
NO_PROMPT: Final = f"An item is recalled up to a prompt from 0 to {LAST_PROMPT:,}; without a number, always."
NEVER: Final = "never"


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
