"""The lorebook within a card, lorebooks in files of any kind, and copies of them as a text.

A copy is the JSON of a file in base 64, in characters that every store and every export keeps: exports count
the values that they hold, and a book in one is a single value.

A book of a card is known to its character alone; the caller sees to that (design 13).
"""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Any

from core.library.cards.card import Card, is_card
from core.library.cards.card_file import read_card
from core.library.cards.charx import is_archive
from core.library.cards.png import SIGNATURE
from core.library.cards.writing import rewritten_card
from core.library.json_document import JsonDocument, encoded_within, parse_json
from core.library.lore.book import Lorebook, LoreEntry, LoreFormat
from core.library.lore.decorators import strip_decorators
from core.library.lore.fields import text_of
from core.library.lore.readers import book_at, read_lorebook
from core.library.lore.writers import WRITTEN, changed_in, write_lorebook
from core.library.refusal import LARGEST_FILE, FileRefusedError
from core.text.cleaning import clean_line


@dataclass(frozen=True, slots=True)
class LoreFile:
    """A lorebook that came from a file. `card` is the card that it was in, if it was in one."""

    name: str
    book: Lorebook
    card: Card | None = None


def read_lore_file(content: bytes, name: str, document: JsonDocument | None = None) -> LoreFile:
    """Return the lorebook in a file: a book of its own, or the one of a card; raise FileRefusedError.

    `document` is the JSON of the file, where the caller has parsed it.
    """
    what = clean_line(name) or "The lorebook"
    if len(content) > LARGEST_FILE:
        raise FileRefusedError(f"{what} is larger than {LARGEST_FILE // 1024**2} MB.")
    if content.startswith(SIGNATURE) or is_archive(content):
        return _of_card(read_card(content, name).card, what)
    document = document or parse_json(content, what)
    if is_card(document.value):
        return _of_card(read_card(content, name, document).card, what)
    return LoreFile(what, read_lorebook(document, what))


def _of_card(card: Card, what: str) -> LoreFile:
    book = book_of(card, what)
    if book is None:
        raise FileRefusedError(f"{what} is a card without a lorebook.")
    return LoreFile(what, book, card)


def book_of(card: Card, what: str = "The card") -> Lorebook | None:
    """Return the lorebook of a card, under the name of the card where it has none; None without one."""
    path = card.book_path
    if path is None:
        return None
    is_world = isinstance(card.document.get(*path, "entries"), dict)
    format_ = LoreFormat.WORLD_INFO if is_world else LoreFormat.CHARACTER_BOOK
    book = book_at(card.document, format_, path, what)
    return book if book.name else replace(book, name=card.name)


def with_book(card: Card, book: Lorebook) -> Card:
    """Return the card with this book in place of its own; only what is different changes in its text.

    The copy for version 2 that a picture holds gets the same changes, without decorators.
    """
    before = book_of(card)
    is_renamed = before is None or before.name != book.name
    # A name that the card gave to the book is no change of it.
    named = book if is_renamed else replace(book, name=_own_name(card))
    path = card.book_path or ("data", "character_book")
    if before is not None and before.source is not None:
        document = changed_in(before.source, named)
    else:
        document = card.document.with_value(path, _built(named))
    if document == card.document:
        return card
    twin = card.twin
    if twin is not None:
        own = named if is_renamed else replace(named, name=_own_name(Card(twin)))
        twin = _changed_twin(twin, before, own)
    return Card(document, twin)


def _changed_twin(twin: JsonDocument, before: Lorebook | None, book: Lorebook) -> JsonDocument:
    """Return the copy for version 2 with the changes in `book`; with all of it where the copies differ."""
    inside = book_of(Card(twin))
    plain = replace(book, entries=tuple(map(_plain, book.entries)))
    if before is None or inside is None or inside.source is None or not _are_alike(before, inside):
        return twin.with_value(Card(twin).book_path or ("data", "character_book"), _built(plain))
    known = {entry.uid: entry for entry in before.entries}
    kept = {entry.uid: entry for entry in inside.entries}
    entries = (kept[one.uid] if known.get(one.uid) == one else _plain(one) for one in book.entries)
    return changed_in(inside.source, replace(plain, entries=tuple(entries)))


def _are_alike(one: Lorebook, other: Lorebook) -> bool:
    """Whether two copies say the same of the book itself, and have the same entries by their names."""
    entries = [entry.uid for entry in one.entries] == [entry.uid for entry in other.entries]
    return entries and replace(one, entries=(), name="") == replace(other, entries=(), name="")


def _plain(entry: LoreEntry) -> LoreEntry:
    return replace(entry, content=strip_decorators(entry.content))


def rewritten(content: bytes, file: LoreFile, book: Lorebook) -> bytes:
    """Return the file `content` with this book in place of the one that was read from it.

    All else stays byte for byte. Raises FileRefusedError for a format that is not written.
    """
    source = file.book.source
    if source is None or source.format not in WRITTEN:
        raise FileRefusedError(f"{file.name} is in a format that is read and not written.")
    try:
        if file.card is None:
            return encoded_within(content, source.document, changed_in(source, book))
        return rewritten_card(read_card(content, file.name), with_book(file.card, book))
    except KeyError as error:
        raise FileRefusedError(f"{file.name} has something else where this would have to go.") from error


def _own_name(card: Card) -> str:
    return clean_line(text_of(card.document.get(*(card.book_path or ()), "name")) or "")


def _built(book: Lorebook) -> object:
    document: JsonDocument = write_lorebook(replace(book, source=None), LoreFormat.CHARACTER_BOOK)
    return document.value


def as_copy(document: Any) -> str:
    """Return the copy of a lorebook, given what the JSON of its file says."""
    return b64encode(json.dumps(document, separators=(",", ":")).encode("ascii")).decode("ascii")


def read_copy(copy: str) -> Lorebook:
    """Return the lorebook of a copy; raise FileRefusedError for a text that is not one."""
    try:
        content = b64decode(copy, validate=True)
    except ValueError as error:
        raise FileRefusedError("The lorebook is no copy of one.") from error
    return read_lore_file(content, "The lorebook").book
