"""Rows of the library and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from core.domain.ids import BookId, CharacterId, LorebookId, SessionId
from core.library.book import Book
from core.library.characters.character import Imported, KeptFile, LibraryCharacter, Topic, Trait
from core.library.lore.kept import KeptLorebook
from core.text.name_list import name_key
from db.rows.mapping import Values

_CHARACTER = (
    *("id", "name", "short_description", "identity", "model", "is_static", "is_paused", "paused_until"),
    *("archived_at", "created_at", "updated_at", "version"),
)
_LOREBOOK = ("id", "name", "entry_count", "format", "archived_at", "created_at", "updated_at", "version")
_BOOK = ("id", "title", "author", "description", "archived_at", "created_at", "updated_at", "version")


def character_values(character: LibraryCharacter) -> Values:
    """Return the row of a character."""
    imported = character.imported
    return {
        **{name: getattr(character, name) for name in _CHARACTER},
        "aliases": list(character.aliases),
        "group_name": character.group,
        "groups_visible": list(character.groups_visible),
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
    values = {name: getattr(row, name) for name in _CHARACTER} | {"id": CharacterId(row.id)}
    return LibraryCharacter(
        **values,
        aliases=tuple(row.aliases),
        group=row.group_name,
        groups_visible=tuple(row.groups_visible),
        traits=tuple(
            Trait(name=one.name, description=one.description, strength=one.strength, sentiment=one.sentiment)
            for one in traits
        ),
        topics=tuple(
            Topic(
                name=one.name,
                perspective=one.perspective,
                approach=one.approach,
                personal_stake=one.personal_stake,
                sentiment=one.sentiment,
                exposure_now=one.exposure_now,
                exposure_desired=one.exposure_desired,
            )
            for one in topics
        ),
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
    values = {name: getattr(book, name) for name in _LOREBOOK}
    return values | {"name_key": _key(book.name, book), "groups": list(book.groups)}


def to_lorebook(row: Any) -> KeptLorebook:
    """Return the lorebook of a row."""
    values = {name: getattr(row, name) for name in _LOREBOOK} | {"id": LorebookId(row.id)}
    return KeptLorebook(**values, groups=tuple(row.groups), file_hash=row.file_hash)


def book_values(book: Book) -> Values:
    """Return the row of a book but for its chapters."""
    return {name: getattr(book, name) for name in _BOOK} | {"name_key": _key(book.title, book)}


def chapter_values(book: Book) -> list[Values]:
    """Return the rows of the chapters of a book."""
    return [
        {"session_id": chapter, "book_id": book.id, "place": place}
        for place, chapter in enumerate(book.chapters, start=1)
    ]


def to_book(row: Any, chapters: Mapping[Any, Sequence[SessionId]]) -> Book:
    """Return the book of a row, with its chapters out of those of all books."""
    values = {name: getattr(row, name) for name in _BOOK} | {"id": BookId(row.id)}
    return Book(**values, chapters=tuple(chapters.get(row.id, ())))


def _key(name: str, one: KeptLorebook | Book) -> str | None:
    return None if one.archived_at is not None else name_key(name)
