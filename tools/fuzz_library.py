"""Invariants of any file that is taken for a card, a lorebook or a chat."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from core.domain.clock import utc_now
from core.domain.errors import StoryEngineError
from core.domain.ids import CharacterId, new_uuid
from core.exchange.chats.chapter_of_chat import chapter_of
from core.exchange.chats.chat_log import read_chat
from core.exchange.session_export import from_json, to_json
from core.library.card_lore import LoreFile, book_of, read_lore_file, rewritten, with_book
from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFile, CardFormat, read_card
from core.library.cards.report import report
from core.library.cards.writing import write_card
from core.library.characters.checks import problems_of_character
from core.library.characters.from_card import card_with, character_of
from core.library.json_document import parse_json
from core.library.lore.activation.scanner import LoreScanner
from core.library.lore.activation.scene import ActivationInput, ScannedBook, ScannedMessage, ScanSettings
from core.library.lore.book import Lorebook
from core.library.lore.edits import with_entry
from core.library.lore.readers import read_lorebook
from core.library.lore.writers import WRITTEN, write_lorebook
from core.library.names import free_name
from core.text.cleaning import clean, is_blank
from tools.fuzz_texts import require_sentence

NEW_NAME = "A new name"
NEW_TEXT = "A new text."


def check_card(content: bytes) -> None:
    """A card is read, and is the same in every format that it is written in; an edit of it holds."""
    try:
        file = read_card(content, "card")
    except StoryEngineError as error:
        require_sentence(error)
        return
    assert all(clean(line) == line for line in report(file)), "a line of the report is not clean"
    if file.format is CardFormat.JSON and content.lstrip()[:1] == b"{":
        written = write_card(file, file.card, CardFormat.JSON).content
        assert json.loads(written) == json.loads(file.card.document.text), "JSON changes by being written"
    for format_ in CardFormat:
        _check_written(file, format_)
    for version in (CardVersion.V2, CardVersion.V3):
        again = read_card(write_card(file, file.card, CardFormat.JSON, version).content, "card")
        assert again.card.name == file.card.name, "another version has another name"
    _check_character(file)
    edited = file.card.with_field("name", NEW_NAME)
    assert edited.name == NEW_NAME, "an edit of the name does not hold"
    book = _book(file)
    if book is not None:
        assert with_book(file.card, book) == file.card, "a book that did not change changes its card"
        _check_book(book)


def _check_character(file: CardFile) -> None:
    name = free_name(file.card.name if file.card.name.strip() else "Nobody", ())
    character = character_of(file.card, CharacterId(new_uuid()), name, (), utc_now())
    assert card_with(character, file.card) is file.card, "a character that did not change changes its card"
    problems = [one for one in problems_of_character(character) if "identity" not in one]
    # A name of characters that are invisible is refused in a sentence.
    assert is_blank(name) or not problems, problems


def _check_written(file: CardFile, format_: CardFormat) -> None:
    try:
        first = write_card(file, file.card, format_)
        again = read_card(first.content, "card")
    except StoryEngineError as error:
        # What grows by being written twice may grow beyond the bounds.
        require_sentence(error)
        return
    assert again.format is format_, "what was written is read as another format"
    assert again.card.name == file.card.name, "what was written has another name"
    assert write_card(again, again.card, format_).content == first.content, "written again it is not the same"


def _book(file: CardFile) -> Lorebook | None:
    try:
        return book_of(file.card)
    except StoryEngineError as error:
        require_sentence(error)
        return None


def check_chat(content: bytes) -> None:
    """A chat becomes a chapter that is what this program stores, or is refused in a sentence."""
    try:
        made = chapter_of(read_chat(content), "A chat", datetime(2026, 1, 2, tzinfo=UTC))
    except StoryEngineError as error:
        require_sentence(error)
        return
    assert from_json(to_json(made.body)) == made.body, "read again it is not the same"


def check_lore(content: bytes) -> None:
    """A lorebook is read, written in every format, and scanned; or refused in a sentence."""
    try:
        file = read_lore_file(content, "lore")
    except StoryEngineError as error:
        require_sentence(error)
        return
    _check_book(file.book)
    _check_edit(content, file)


def _check_edit(content: bytes, file: LoreFile) -> None:
    """An edit of one entry is read again from the file, and nothing else in the book is different."""
    if not file.book.entries:
        return
    edited = with_entry(file.book, replace(file.book.entries[-1], content=NEW_TEXT))
    try:
        made = rewritten(content, file, edited)
        again = read_lore_file(made, "lore").book
    except StoryEngineError as error:
        require_sentence(error)
        return
    assert again == edited, "an edit of one entry changes something else"
    assert rewritten(made, read_lore_file(made, "lore"), again) == made, "no edit changes the file"


def _check_book(book: Lorebook) -> None:
    assert len({entry.uid for entry in book.entries}) == len(book.entries), "two entries of one name"
    for format_ in WRITTEN:
        document = write_lorebook(replace(book, source=None), format_)
        again = read_lorebook(parse_json(document.text, "It"), "It")
        assert len(again.entries) == len(book.entries), "an entry is lost"
        assert write_lorebook(again, format_).text == document.text, "written again it is not the same"
        write_lorebook(book, format_)
    said = [
        ScannedMessage(number, entry.content[:500]) for number, entry in enumerate(book.entries[:20], start=1)
    ]
    settings = ScanSettings(scan_depth=10, budget=2_000)
    activation = LoreScanner(len).activate(
        [ScannedBook(replace(book, is_recursive=True))],
        ActivationInput(messages=said, seed="fuzz"),
        settings,
    )
    assert len(activation.outcomes) == len(book.entries), "an entry has no outcome"
    assert all(one.sentence for one in activation.outcomes), "an outcome has no sentence"
