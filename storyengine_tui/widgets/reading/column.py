"""A column of a `RowList`, without Textual: the command line uses what describes rows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of so many cells; `is_number` puts its text at the right."""

    title: str
    width: int
    is_number: bool = False
