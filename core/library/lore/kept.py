"""A lorebook of the library: the file byte for byte, under a name, with the groups that may know it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from core.domain.ids import LorebookId
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import MOST_GROUPS
from core.text.cleaning import clean_line, is_blank


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLorebook:
    """One lorebook. `version` counts its changes, as that of a character does."""

    id: LorebookId
    name: str
    groups: tuple[str, ...] = ()
    """The groups whose members may know it; none means `General` (design 14)."""
    entry_count: int = 0
    format: str = ""
    """The format of its file, as a GM calls it."""
    file_hash: str = ""
    archived_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The name under which it is found."""
        return (self.name,)


def cleaned_lorebook(book: KeptLorebook) -> KeptLorebook:
    """Return the same with its names on one line each, and each group once."""
    groups = tuple(dict.fromkeys(filter(None, map(clean_line, book.groups))))
    return replace(book, name=clean_line(book.name), groups=groups)


def problems_of_lorebook(book: KeptLorebook) -> Iterator[str]:
    """Yield, in sentences, what keeps a lorebook from being stored."""
    if is_blank(book.name) or len(book.name) > LONGEST_NAME:
        yield f"A lorebook has a name of 1 to {LONGEST_NAME} characters."
    if len(book.groups) > MOST_GROUPS or any(len(group) > LONGEST_NAME for group in book.groups):
        yield f"A lorebook is for at most {MOST_GROUPS} groups, each of at most {LONGEST_NAME} characters."
