"""Sentences about a wrong value in memory that the GM edited; a model is shown the validator's own words."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args, get_origin

from pydantic import BaseModel

from core.text.cleaning import clean_line
from core.text.graphemes import head

_LONGEST_FOUND: Final = 40
_OF_A_VALUE: Final = {"missing", "literal_error", "greater_than_equal", "less_than_equal"}
"""Kinds of problems that say where another value belongs, beside those of a wrong type."""
_LIST, _OBJECT = "a list ([…])", "an object ({…})"


def in_plain_words(model: type[BaseModel], detail: Mapping[str, object]) -> str:
    """Return a sentence with the place of a problem, the value that belongs there, and the one that is there.

    `detail` is one of the `errors()` of a pydantic ValidationError of `model`.
    """
    found = detail.get("loc")
    place = found if isinstance(found, tuple) else ()
    named = ", ".join(_cut(step) if isinstance(step, str) else f"entry {step + 1:,}" for step in place)
    kind = str(detail.get("type"))
    if kind not in _OF_A_VALUE and not kind.endswith("_type"):
        return f"{named or 'Memory'}: {detail.get('msg')}."  # such as of a list that is too short
    there = "nothing" if kind == "missing" else _found(detail.get("input"))
    return f"{named or 'Memory'}: expected {_expected(model, place)}, found {there}."


def _expected(kind: object, place: Sequence[object], metadata: Sequence[object] = ()) -> str:
    """Return the kind of value that belongs at a place below a value of `kind`."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(place[0])) if place else None
        return _OBJECT if field is None else _expected(field.annotation, place[1:], field.metadata)
    if get_origin(kind) is list:
        return _expected(get_args(kind)[0], place[1:]) if place else _LIST
    if get_origin(kind) is Literal:
        return " or ".join(f"“{one}”" for one in get_args(kind))
    return f"a whole number{_bounds(metadata)}" if kind is int else "a text in quotation marks"


def _bounds(metadata: Sequence[object]) -> str:
    least, most = (
        next((limit for one in metadata if (limit := getattr(one, name, None)) is not None), None)
        for name in ("ge", "le")
    )
    if most is None:
        return "" if least is None else f" of {least} or more"
    return f" from {least} to {most}"


def _found(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"“{_cut(value)}”"
        case list():
            return f"a list of {len(value):,}" if value else "an empty list"
        case Mapping():
            return _OBJECT
    return f"the number {_cut(str(value))}"


def _cut(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST_FOUND else f"{head(line, _LONGEST_FOUND - 1)}…"
