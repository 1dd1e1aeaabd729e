"""The lorebooks of a chapter: copies, so that no edit in the library changes what is played (design 14)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.domain.audience import EVERYONE, Audience
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import MOST_GROUPS, Profiles, audience_of_groups
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.text.cleaning import clean_line, is_blank
from core.text.name_list import name_key

MOST_BOOKS: Final = 20
"""Lorebooks of one chapter."""
LONGEST_COPY: Final = 16 * 1024 * 1024
"""Characters of the copy of one lorebook."""
LONGEST_COPIES: Final = 32 * 1024 * 1024
"""Characters of the copies of all lorebooks of a chapter."""
MOST_ENTRIES: Final = 100_000
"""Entries that a chapter counts for one book."""
LONGEST_SEED: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterLorebook:
    """One lorebook of a chapter. Its text is a content of the session, found by `copy_hash`."""

    name: str
    """Its name in the library when it was attached; it names the book in the chapter."""
    groups: tuple[str, ...] = ()
    """The groups whose members may know it; none stands for General."""
    owner: Slot | None = None
    """The character on whose card the book is, and who alone may know it."""
    label: Audience = EVERYONE
    """Those who may know it: fixed at the lock, or when it is attached after that."""
    entry_count: int = 0
    file_hash: str
    """SHA-256 of the file that it was made from."""
    copy_hash: str
    """SHA-256 of the copy."""
    copy_length: int
    """Characters of the copy."""
    seed: str
    """Seed of the random activation of entries; the same in all lorebooks of the chapter."""

    @property
    def key(self) -> str:
        """The name without regard to capitals; two books of a chapter have different ones."""
        return name_key(self.name)


Lorebooks = tuple[ChapterLorebook, ...]


def label_of(book: ChapterLorebook, session: Session, profiles: Profiles) -> Audience:
    """Return who of the cast may know a lorebook: the owner of its card, or those who see its groups."""
    if book.owner is not None:
        return Audience.of((book.owner,))
    return audience_of_groups(book.groups, session.slots, profiles)


def label_now(book: ChapterLorebook, session: Session, profiles: Profiles) -> Audience:
    """Return who may know a lorebook: as it is settled, or before the lock as it would be now."""
    return book.label if session.tab1_locked else label_of(book, session, profiles)


def labelled(books: Lorebooks, session: Session, profiles: Profiles) -> Lorebooks:
    """Return the lorebooks with the labels that their groups give them now."""
    return tuple(replace(book, label=label_of(book, session, profiles)) for book in books)


def with_book(books: Lorebooks, book: ChapterLorebook) -> Lorebooks:
    """Return the lorebooks with one more, or with it in place of the one of its name."""
    if all(one.key != book.key for one in books):
        return (*books, book)
    return tuple(book if one.key == book.key else one for one in books)


def without_book(books: Lorebooks, name: str) -> Lorebooks:
    """Return the lorebooks without the one of this name."""
    return tuple(one for one in books if one.key != name_key(name))


def problems_of_chapter_lore(books: Sequence[ChapterLorebook]) -> Iterator[str]:
    """Yield, in sentences, what keeps lorebooks from being those of a chapter."""
    if len(books) > MOST_BOOKS:
        yield f"A chapter has at most {MOST_BOOKS} lorebooks."
    if len({book.key for book in books}) < len(books):
        yield "Two lorebooks of a chapter have the same name."
    if any(book.copy_length > LONGEST_COPY for book in books) or (
        sum(book.copy_length for book in books) > LONGEST_COPIES
    ):
        yield (
            f"The lorebooks of a chapter have at most {LONGEST_COPIES // 1024**2} million characters "
            f"together, and one of them {LONGEST_COPY // 1024**2} million."
        )
    if not all(map(_is_whole, books)):
        yield "A lorebook of the chapter is not valid."


def _is_whole(book: ChapterLorebook) -> bool:
    names = (book.name, *book.groups)
    return (
        all(not is_blank(name) and clean_line(name) == name and len(name) <= LONGEST_NAME for name in names)
        and len(book.groups) <= MOST_GROUPS
        and 0 <= book.entry_count <= MOST_ENTRIES
        and book.copy_length > 0
        and all(_is_hash(text) for text in (book.file_hash, book.copy_hash))
        and 0 < len(book.seed) <= LONGEST_SEED
        and book.seed.isalnum()
    )


def _is_hash(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
