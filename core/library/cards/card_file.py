"""Reads a card from the bytes of a file: JSON, PNG or CHARX, by content and never by its name."""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from core.library.cards.card import Card, CardVersion, card_of, is_card, is_newer
from core.library.cards.charx import Charx, is_archive, read_charx
from core.library.cards.png import SIGNATURE, PngText, is_whole, texts
from core.library.json_document import JsonDocument, parse_json
from core.library.lore.readers import holds_lorebook
from core.library.refusal import LARGEST_FILE, FileRefusedError
from core.text.cleaning import clean_line

LARGEST_PICTURE: Final = 40 * 1024 * 1024
"""Bytes of one that is a single picture; an archive holds many."""
V2_KEYWORD: Final = "chara"
V3_KEYWORD: Final = "ccv3"
KEYWORDS: Final = (V3_KEYWORD, V2_KEYWORD)
BLANK: Final = b"\xef\xbb\xbf\0 \t\r\n"
"""Bytes that may surround a text in a file."""
_ENCRYPTED: Final = b"rcc||"
_NOT_BASE64: Final = re.compile(rb"[\s\0]+")
_SAME: Final = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
    *("system_prompt", "post_history_instructions"),
)
"""The fields by which the two copies in a picture are compared."""


class CardFormat(StrEnum):
    """The kinds of file that hold a card; each is the ending of its name."""

    JSON = "json"
    PNG = "png"
    CHARX = "charx"


@dataclass(frozen=True, slots=True)
class CardFile:
    """A card and the file that it came in. `notes` are sentences about oddities of the file."""

    name: str
    format: CardFormat
    card: Card
    content: bytes
    notes: tuple[str, ...] = ()
    charx: Charx | None = None

    @property
    def picture(self) -> bytes | None:
        """The picture of the card in its own format; None for a card without one."""
        if self.charx is None:
            return self.content if self.format is CardFormat.PNG else None
        icons = [asset for asset in self.card.assets if asset.kind == "icon"]
        icons.sort(key=lambda asset: asset.name != "main")
        files = (self.charx.file(asset.uri) for asset in icons)
        return next((file for file in files if file), self.charx.front or None)


def read_card(content: bytes, name: str, document: JsonDocument | None = None) -> CardFile:
    """Return the card in a file; raise FileRefusedError with one sentence. `name` is for sentences only.

    `document` is the JSON of the file, where the caller has parsed it.
    """
    what = clean_line(name) or "The card"
    if len(content) > LARGEST_FILE:
        raise FileRefusedError(f"{what} is larger than {LARGEST_FILE // 1024**2} MB.")
    if content.startswith(SIGNATURE):
        if len(content) > LARGEST_PICTURE:
            raise FileRefusedError(f"{what} is a picture larger than {LARGEST_PICTURE // 1024**2} MB.")
        file = _from_png(content, what)
    elif is_archive(content):
        charx = read_charx(content, what)
        file = CardFile(what, CardFormat.CHARX, card_of(charx.document, what), content, charx=charx)
    elif content[:2] == b"\xff\xd8":
        raise _without_card(what)
    elif not content.strip(BLANK):
        raise FileRefusedError(f"{what} is empty.")
    else:
        document = _payload(content, what) if document is None else _object(document, what)
        file = CardFile(what, CardFormat.JSON, _card_in(document, what), content)
    notes = [*file.notes, *_oddities(file.card)]
    return CardFile(what, file.format, file.card, content, tuple(notes), file.charx)


def _card_in(document: JsonDocument, what: str) -> Card:
    if not is_card(document.value) and holds_lorebook(document.value):
        raise FileRefusedError(
            f"{what} holds a lorebook and no character card.", "`storyengine lore import` reads it."
        )
    return card_of(document, what)


def _oddities(card: Card) -> list[str]:
    notes = []
    if is_newer(card.document.value):
        notes.append("The card is of a newer version than 3.0; its new fields are kept and not used.")
    if not card.name.strip():
        notes.append("The card has no name.")
    if card.book_path not in (None, ("data", "character_book")) and card.version > CardVersion.V1:
        notes.append("The lorebook of the card is not where it should be; it was read all the same.")
    return notes


def _from_png(content: bytes, what: str) -> CardFile:
    found: dict[str, JsonDocument] = {}
    notes: list[str] = []
    fault: FileRefusedError | None = None
    for text in texts(content, what):
        keyword = text.keyword.lower()
        key = keyword if keyword in KEYWORDS else ""
        if key in found or not (key or _may_be_card(text)):
            continue
        try:
            document = _payload(text.text, what)
        except FileRefusedError as error:
            fault = fault or (error if key else None)
            continue
        if is_card(document.value):
            found[key] = document
            if not text.is_sound:
                notes.append("A check sum in the picture is wrong; its text was read all the same.")
    newer, older = found.get(V3_KEYWORD), found.get(V2_KEYWORD)
    main = newer or older or found.get("")
    if main is None:
        if not is_whole(content):
            raise FileRefusedError(f"{what} is damaged: the picture was cut off before its end.")
        raise fault or _without_card(what)
    if fault is not None:
        notes.append("One of the copies of the card in the picture cannot be read; the other was taken.")
    card = Card(main)
    if newer is not None and older is not None:
        if _is_same(card, Card(older)):
            card = Card(newer, twin=older)
        else:
            notes.append(
                "The picture holds two copies that differ; the one of version 3 was taken. "
                "The other is probably older."
            )
    return CardFile(what, CardFormat.PNG, card, content, tuple(notes))


def _is_same(card: Card, other: Card) -> bool:
    return all(card.text(field) == other.text(field) for field in _SAME) and (
        card.texts("alternate_greetings") == other.texts("alternate_greetings")
    )


def _may_be_card(text: PngText) -> bool:
    """Whether a text under another keyword begins as a card does, so that it is worth reading."""
    beginning = _NOT_BASE64.sub(b"", text.text[:400])
    if beginning[:1] == b"{":
        return b'"spec"' in text.text or b'"first_mes"' in text.text or b'"char_name"' in text.text
    try:
        return base64.b64decode(beginning[: len(beginning) // 4 * 4], validate=True)[:1] == b"{"
    except binascii.Error:
        return False


def card_texts(content: bytes) -> frozenset[int]:
    """Return where the chunks of a PNG are that hold a card, under whatever keyword."""
    return frozenset(text.chunk.start for text in texts(content) if _holds_card(text))


def card_copies(content: bytes) -> Iterator[tuple[PngText, JsonDocument]]:
    """Yield the chunks of a PNG that hold a card, each with its document."""
    for text in texts(content):
        if text.keyword.lower() in KEYWORDS or _may_be_card(text):
            with suppress(FileRefusedError):
                document = _payload(text.text, "")
                if is_card(document.value):
                    yield text, document


def has_both_copies(content: bytes) -> bool:
    """Whether a PNG holds a card for version 2 and one for version 3."""
    return {text.keyword.lower() for text in texts(content)} >= set(KEYWORDS)


def _holds_card(text: PngText) -> bool:
    if text.keyword.lower() in KEYWORDS:
        return True
    try:
        return _may_be_card(text) and is_card(_payload(text.text, "").value)
    except FileRefusedError:
        return False


def _payload(text: bytes, what: str) -> JsonDocument:
    """Return the JSON in a text, plain or as base64; raise FileRefusedError."""
    plain = text.strip(BLANK)
    if not plain:
        raise FileRefusedError(f"{what} holds no character card.")
    if plain.startswith(_ENCRYPTED):
        raise _encrypted(what)
    if plain[:1] in (b"{", b"[") or text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _object(parse_json(text, what), what)
    packed = _NOT_BASE64.sub(b"", text).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        content = base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
    except binascii.Error as error:
        raise FileRefusedError(f"{what} holds no character card.") from error
    if content.startswith(_ENCRYPTED):
        raise _encrypted(what)
    return _object(parse_json(content, what), what)


def _object(document: JsonDocument, what: str) -> JsonDocument:
    value: Any = document.value
    if not isinstance(value, dict):
        raise FileRefusedError(f"{what} holds no character card.")
    return document


def _without_card(what: str) -> FileRefusedError:
    return FileRefusedError(f"{what} is a picture without a card.")


def _encrypted(what: str) -> FileRefusedError:
    return FileRefusedError(
        f"{what} is an encrypted RisuAI card and cannot be read.", "Export it from RisuAI without encryption."
    )
