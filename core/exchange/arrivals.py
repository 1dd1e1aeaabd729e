"""Detects the files that are dropped on the program or pasted into it, and their kinds (design 14)."""

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from core.config.files.paths import expanded
from core.domain.session.session import title_from
from core.exchange.chats.chapter_of_chat import chapter_of
from core.exchange.chats.chat_log import read_chat
from core.exchange.library.library_files import CHAT_ENDING, ENDINGS
from core.exchange.session_export import FORMAT, ImportRefusedError, SessionBody, from_json
from core.library.card_lore import LoreFile, read_lore_file
from core.library.cards.card import is_card
from core.library.cards.card_file import CardFile, CardFormat, read_card
from core.library.cards.charx import is_archive
from core.library.cards.report import report
from core.library.characters.from_card import brought_by, claims_of
from core.library.json_document import JsonDocument, parse_json
from core.library.lore.readers import holds_lorebook
from core.library.refusal import LARGEST_FILE, FileRefusedError
from core.text.cleaning import clean_line, is_blank
from core.text.numbers import counted

LONGEST_PATHS: Final = 20_000
"""Characters of a text that is looked at as paths."""
MOST_PATHS: Final = 100
_BEFORE_JSON: Final = b"\xef\xbb\xbf\0 \t\r\n"
_EXPORTED: Final = re.compile(rb'"format"\s*:\s*"' + FORMAT.encode() + b'"')
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class ArrivalKind(StrEnum):
    """Kind of an import; the value is the word for the GM."""

    CHARACTER = "character"
    LOREBOOK = "lorebook"
    CHAT = "chat"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A file that can be imported. `lines` say what is in it, and where it would go."""

    kind: ArrivalKind
    file_name: str
    found: CardFile | LoreFile | SessionBody
    """Content of the file, as it was read; of a chat, the chapter that is made of it."""
    name: str
    lines: tuple[str, ...]
    claims: str = ""
    """Claims of a card, or the models that a chapter brings, which only the GM can confirm."""
    content: bytes = b""
    """The file of a lorebook."""


def dropped_paths(text: str) -> tuple[Path, ...]:
    """Return the paths that a terminal writes for files that are dropped on it; none for any other text.

    Terminals quote them as a shell does, escape single characters, write addresses, or the path as it is.
    """
    text = text.strip()
    is_one = text.startswith(("/", "~/", "'", '"', "file://")) and "\0" not in text
    if not is_one or len(text) > LONGEST_PATHS:
        return ()
    try:
        words = [text] if _path(text).exists() else shlex.split(text)
        paths = tuple(map(_path, words))
    except (ValueError, OSError, RuntimeError):  # a quote that has no end, a name that is too long
        return ()
    is_whole = 0 < len(paths) <= MOST_PATHS and all(path.is_absolute() for path in paths)
    return paths if is_whole else ()


def typed_paths(text: str) -> tuple[Path, ...]:
    """Return the path that was typed in a field, or the paths of the files that were dropped on it."""
    return dropped_paths(text) or (expanded(Path(text.strip())),)


def droppable_file(text: str) -> str:
    """Return the name of the first file that was dropped, where all of them may be imported; else nothing."""
    paths = dropped_paths(text)
    # `Path.is_file` raises where a directory is closed or a name is too long.
    may_be = all(path.suffix.casefold() in (*ENDINGS, CHAT_ENDING) and os.path.isfile(path) for path in paths)
    return clean_line(paths[0].name) if paths and may_be else ""


def _path(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return Path(word).expanduser() if word.startswith("~/") else Path(word)


def arrival_of(content: bytes, file_name: str, now: datetime, *, prefers_lore: bool = False) -> Arrival:
    """Return what is in a file; raise FileRefusedError with one sentence where it is nothing of these.

    Of a card with a lorebook, `prefers_lore` takes the lorebook.
    """
    if file_name.casefold().endswith(CHAT_ENDING):
        return _chat(content, file_name, now)
    if _is_json(content) and _EXPORTED.search(content):
        return _chapter(content, file_name)
    if len(content) > LARGEST_FILE:
        raise FileRefusedError(f"{clean_line(file_name)} is larger than {LARGEST_FILE // 1024**2} MB.")
    document = _json_in(content, file_name)
    if document is not None and not (prefers_lore or is_card(document.value)):
        if not holds_lorebook(document.value):
            raise FileRefusedError(f"{clean_line(file_name)} holds no card, lorebook or chapter.")
        prefers_lore = True
    if prefers_lore:
        return _lorebook(content, file_name, document)
    card = read_card(content, file_name, document)
    return Arrival(
        kind=ArrivalKind.CHARACTER,
        file_name=file_name,
        found=card,
        name=clean_line(card.card.name) or "A character without a name",
        lines=tuple(_of_card(card)),
        claims=claims_of(card.card),
    )


def _json_in(content: bytes, file_name: str) -> JsonDocument | None:
    """Return the JSON that a file is; None for a picture, an archive or any other text."""
    is_json = _is_json(content) and not is_archive(content)
    return parse_json(content, clean_line(file_name)) if is_json else None


def _is_json(content: bytes) -> bool:
    return content.lstrip(_BEFORE_JSON)[:1] in (b"{", b"[") or content.startswith(_UTF_16)


def _of_card(file: CardFile) -> Sequence[str]:
    kind = "JSON" if file.format is CardFormat.JSON else file.format.upper()
    return (
        f"A character card of version {file.card.version}, {kind}.",
        *report(file),
        *brought_by(file.card),
    )


def _lorebook(content: bytes, file_name: str, document: JsonDocument | None) -> Arrival:
    file = read_lore_file(content, file_name, document)
    count = len(file.book.entries)
    return Arrival(
        kind=ArrivalKind.LOREBOOK,
        file_name=file_name,
        found=file,
        name=file_name if is_blank(file.book.name) else clean_line(file.book.name),
        lines=(f"A lorebook with {counted(count, 'entry', 'entries')}.",),
        content=content,
    )


def _chat(content: bytes, file_name: str, now: datetime) -> Arrival:
    title = file_name[: -len(CHAT_ENDING)]
    try:
        chat = chapter_of(read_chat(content), title, now)
    except FileRefusedError as error:
        raise FileRefusedError(f"{clean_line(file_name)}: {error.message}") from error
    return Arrival(
        kind=ArrivalKind.CHAT,
        file_name=file_name,
        found=chat.body,
        name=clean_line(title),
        lines=("A chat of SillyTavern, which becomes a chapter.", *chat.report),
    )


def _chapter(content: bytes, file_name: str) -> Arrival:
    try:
        body = from_json(content)
    except ImportRefusedError as error:
        raise FileRefusedError(f"{clean_line(file_name)}: {error.message}") from error
    session, book = body.session, body.book
    models = dict.fromkeys(one.model for one in body.tab1.profiles.values() if one.model)
    cast = ", ".join(session.name_of(slot) for slot in session.slots)
    goes_to = "" if book is None else f" It becomes the last one of the book “{clean_line(book.title)}”."
    return Arrival(
        kind=ArrivalKind.CHAPTER,
        file_name=file_name,
        found=body,
        name=clean_line(title_from(session.title, body.tab1.chapter, body.tab1.world)),
        lines=(
            f"An exported chapter with {counted(session.prompt_index, 'prompt')}: {clean_line(cast)}.",
            f"It becomes a chapter of its own; those that you have stay as they are.{goes_to}",
        ),
        claims=f"Its characters bring models: {clean_line(', '.join(models))}." if models else "",
    )
