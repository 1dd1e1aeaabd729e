"""Edits of a lorebook by its entries, each named by its uid. The same object stays what was not edited."""

from collections.abc import Iterable
from dataclasses import replace

from core.library.lore.book import MOST_ENTRIES, Lorebook, LoreEntry
from core.library.refusal import FileRefusedError


def find_entry(book: Lorebook, uid: str) -> LoreEntry | None:
    """Return the entry with this uid, if the book has it."""
    return next((entry for entry in book.entries if entry.uid == uid), None)


def with_entry(book: Lorebook, entry: LoreEntry) -> Lorebook:
    """Return the book with an entry in place of the one with its uid, else behind all others.

    Raises FileRefusedError for a book that is full.
    """
    entries = tuple(entry if one.uid == entry.uid else one for one in book.entries)
    if find_entry(book, entry.uid) is None:
        if len(entries) >= MOST_ENTRIES:
            raise FileRefusedError(f"A lorebook has at most {MOST_ENTRIES:,} entries.")
        entries = (*entries, entry)
    return replace(book, entries=entries)


def without_entry(book: Lorebook, uid: str) -> Lorebook:
    """Return the book without an entry."""
    return replace(book, entries=tuple(one for one in book.entries if one.uid != uid))


def free_uid(book: Lorebook) -> str:
    """Return the number behind the greatest that is taken, as an entry's uid or as its place in the file."""
    taken: Iterable[str] = (entry.uid for entry in book.entries)
    if book.source is not None:
        taken = (*taken, *map(str, book.source.places.values()))
    numbers = (int(one) for one in taken if one.isascii() and one.isdecimal() and len(one) < 9)
    return str(max(numbers, default=-1) + 1)


def with_changes(book: Lorebook, before: Lorebook, after: Lorebook) -> Lorebook:
    """Return `book` with what was edited between `before` and `after`: entries, and the book's own fields."""
    known = {entry.uid: entry for entry in before.entries}
    kept = {entry.uid for entry in after.entries}
    for entry in after.entries:
        if known.get(entry.uid) != entry:
            is_new_here = entry.uid not in known and find_entry(book, entry.uid) is not None
            book = with_entry(book, replace(entry, uid=free_uid(book)) if is_new_here else entry)
    gone = known.keys() - kept
    book = replace(book, entries=tuple(one for one in book.entries if one.uid not in gone))
    fields = {
        name: getattr(after, name)
        for name in ("name", "description", "scan_depth", "token_budget", "is_recursive")
        if getattr(after, name) != getattr(before, name)
    }
    return replace(book, **fields)
