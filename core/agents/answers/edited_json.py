"""Refuses text of the GM's that is not the JSON of one object; the answer of a model is repaired instead."""

import json
from math import isinf

from core.domain.errors import IllegalCommandError
from core.text.cleaning import clean, clean_line
from core.text.graphemes import head

_NOT_VALID = "That is not valid memory:"
_LONGEST_NAME = 40


def require_object(text: str) -> None:
    """Raise IllegalCommandError with the place where a text stops being JSON, or where it is no object.

    A repair of the GM's text could leave out words without a sign.
    """
    try:
        value = json.loads(
            text, parse_float=_float, parse_int=_int, parse_constant=_refuse, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno:,}, column {error.colno:,}"
        raise IllegalCommandError(f"{_NOT_VALID} from {place} on it is not JSON ({error.msg}).") from error
    except RecursionError as error:
        raise IllegalCommandError(f"{_NOT_VALID} it has too many lists inside each other.") from error
    if not isinstance(value, dict):
        raise IllegalCommandError(f"{_NOT_VALID} all of it has to be one object ({{…}}).")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; one of two names that are stored as the same would be lost without a sign."""
    made = dict[str, object]()
    for written, value in pairs:
        name = clean(written)
        if name in made:
            shown = head(clean_line(name), _LONGEST_NAME)
            raise IllegalCommandError(f"{_NOT_VALID} one object has “{shown}” twice.")
        made[name] = value
    return made


def _float(digits: str) -> float:
    return _refuse("a number that is too large") if isinf(value := float(digits)) else value


def _int(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python converts some thousands of digits at most.
        return _refuse("a number that is too large")


def _refuse(what: str) -> int:
    raise IllegalCommandError(f"{_NOT_VALID} it has {what}, which cannot be stored.")
