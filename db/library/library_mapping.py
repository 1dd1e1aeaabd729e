"""Rows of the library and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from core.domain.ids import SessionId
from core.library.book import Book
from core.library.characters.character import Imported, KeptFile, LibraryCharacter, Topic, Trait
from core.library.lore.kept import KeptLorebook
from core.text.name_list import name_key
from db.rows.row_mapping import RowMapping, Values

_CHARACTERS: Final = RowMapping(
    LibraryCharacter, columns={"group": "group_name"}, beside=["traits", "topics", "imported"]
)
_TRAITS: Final = RowMapping(Trait)
_TOPICS: Final = RowMapping(Topic)
_LOREBOOKS: Final = RowMapping(KeptLorebook, beside=["file_hash"])
_BOOKS: Final = RowMapping(Book, beside=["chapters"])


def character_values(character: LibraryCharacter) -> Values:
    """Return the row of a character."""
    imported = character.imported
    return {
        **_CHARACTERS.values(character),
        "imported_name": imported.name if imported else None,
        "imported_identity": imported.identity if imported else None,
        "imported_rest": imported.rest if imported else None,
        "file_hash": imported.file_hash if imported else None,
    }


def name_values(character: LibraryCharacter) -> list[Values]:
    """Return the rows of the names under which a character is found: none for an archived one."""
    keys = dict.fromkeys(map(name_key, character.names)) if character.archived_at is None else ()
    return [{"key": key, "character_id": character.id} for key in keys]


def part_values(character: LibraryCharacter, parts: Iterable[Trait | Topic]) -> list[Values]:
    """Return the rows of the traits or the topics of a character."""
    return [
        {"character_id": character.id, "place": place, **asdict(part)}
        for place, part in enumerate(parts, start=1)
    ]


def to_character(row: Any, traits: Sequence[Any], topics: Sequence[Any]) -> LibraryCharacter:
    """Return the character of a row, with the rows of its traits and topics in their order."""
    imported = None
    if row.imported_name is not None:
        imported = Imported(row.imported_name, row.imported_identity, row.imported_rest, row.file_hash)
    return _CHARACTERS.record(
        row,
        traits=tuple(map(_TRAITS.record, traits)),
        topics=tuple(map(_TOPICS.record, topics)),
        imported=imported,
    )


def file_values(file: KeptFile) -> Values:
    """Return the columns of a file."""
    return {"file_name": file.name, "content": file.content, "file_hash": file.sha256}


def to_file(row: Any) -> KeptFile:
    """Return the file of a row."""
    return KeptFile(row.file_name, bytes(row.content))


def lorebook_values(book: KeptLorebook) -> Values:
    """Return the row of a lorebook but for its file."""
    return {**_LOREBOOKS.values(book), "name_key": _key(book.name, book)}


def to_lorebook(row: Any) -> KeptLorebook:
    """Return the lorebook of a row."""
    return _LOREBOOKS.record(row, file_hash=row.file_hash)


def book_values(book: Book) -> Values:
    """Return the row of a book but for its chapters."""
    return {**_BOOKS.values(book), "name_key": _key(book.title, book)}


def chapter_values(book: Book) -> list[Values]:
    """Return the rows of the chapters of a book."""
    return [
        {"session_id": chapter, "book_id": book.id, "place": place}
        for place, chapter in enumerate(book.chapters, start=1)
    ]


def to_book(row: Any, chapters: Mapping[Any, Sequence[SessionId]]) -> Book:
    """Return the book of a row, with its chapters out of those of all books."""
    return _BOOKS.record(row, chapters=tuple(chapters.get(row.id, ())))


def _key(name: str, one: KeptLorebook | Book) -> str | None:
    return None if one.archived_at is not None else name_key(name)
