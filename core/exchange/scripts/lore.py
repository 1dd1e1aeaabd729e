"""The lorebooks of a chapter script: `lore`, a list of their names in the library."""

from collections.abc import Mapping

from core.domain.session.carry_over import person_key
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.lore import MOST_BOOKS
from core.exchange.scripts.fields import FieldReader, kind_of
from core.text.cleaning import clean_line


def read_lore(reader: FieldReader, document: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names, each once; those that cannot be names are reported."""
    names: dict[str, str] = {}
    for value in reader.listed(document, "lore", ""):
        if not isinstance(value, str):
            reader.report("lore", f"must be a list of names in quotes, not of {kind_of(value)}.")
        elif not (name := clean_line(value)) or len(name) > LONGEST_NAME:
            reader.report("lore", f"must have names of 1 to {LONGEST_NAME} characters.")
        else:
            names.setdefault(person_key(name), name)
    if len(names) > MOST_BOOKS:
        reader.report("lore", f"names {len(names)} lorebooks; a chapter has at most {MOST_BOOKS}.")
    return tuple(names.values())
