"""Edits of a lorebook by its entries, each named by its uid. The same object stays what was not edited."""

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
    numbers = (int(one) for one in _taken(book) if one.isascii() and one.isdecimal() and len(one) < 9)
    return str(max(numbers, default=-1) + 1)


def _taken(book: Lorebook) -> set[str]:
    places = () if book.source is None else book.source.places.values()
    return {*(entry.uid for entry in book.entries), *map(str, places)}


def with_known(book: Lorebook, known: Lorebook) -> Lorebook:
    """Return the book with the objects of `known` for entries that are equal: comparing is quick then."""
    before = {entry.uid: entry for entry in known.entries}
    entries = (before[one.uid] if before.get(one.uid) == one else one for one in book.entries)
    return replace(book, entries=tuple(entries))


def with_changes(book: Lorebook, before: Lorebook, after: Lorebook) -> Lorebook:
    """Return `book` with the changes between `before` and `after`: to entries, and to the book's own fields.

    An entry that has become another one in `book` is not replaced: the edited one is added behind all. One
    that was changed there is not deleted.
    """
    known = {entry.uid: entry for entry in before.entries}
    found = {entry.uid: entry for entry in book.entries}
    for entry in after.entries:
        began = known.get(entry.uid)
        if began is entry or began == entry:
            continue
        there = found.get(entry.uid)
        is_it = entry.uid not in _taken(book) if began is None else _is_same(there, began)
        book = with_entry(book, entry if is_it else replace(entry, uid=free_uid(book)))
    gone = known.keys() - {entry.uid for entry in after.entries}
    gone = {uid for uid in gone if found.get(uid) == known[uid]}
    book = replace(book, entries=tuple(one for one in book.entries if one.uid not in gone))
    fields = {
        name: getattr(after, name)
        for name in ("name", "description", "scan_depth", "token_budget", "is_recursive")
        if getattr(after, name) != getattr(before, name)
    }
    return replace(book, **fields)


def _is_same(there: LoreEntry | None, began: LoreEntry) -> bool:
    """Whether it is the same entry, though perhaps edited: by its name, its keys or its text."""
    if there is None or there == began:
        return there == began
    pairs = ((there.name, began.name), (there.keys, began.keys), (there.content, began.content))
    return any(now and now == then for now, then in pairs)
