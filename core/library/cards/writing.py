"""Writes cards as version 2 or 3, into JSON, PNG or CHARX.

A card that is written in the version and the format in which it was read has the same text again. A change
of version adds what that version asks for and removes nothing but the decorators of lore, which version 2
does not know.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

from core.library.cards.card import ALIASES, V2_SPEC, V3_SPEC, Card, CardVersion, is_newer
from core.library.cards.card_file import V2_KEYWORD, V3_KEYWORD, CardFile, CardFormat, card_copies, card_texts
from core.library.cards.charx import ICON_PATH, Member, write_charx
from core.library.cards.png import SIGNATURE, plain_picture, with_texts, written
from core.library.json_document import JsonDocument, encoded_within
from core.library.lore.decorators import strip_decorators

Colour = tuple[int, int, int]
GREY: Final[Colour] = (96, 96, 104)
_EMPTY_V2: Final[dict[str, Any]] = {
    **dict.fromkeys(ALIASES, ""),
    "system_prompt": "",
    "post_history_instructions": "",
    "alternate_greetings": [],
    "tags": [],
    "creator": "",
    "character_version": "",
    "extensions": {},
}


@dataclass(frozen=True, slots=True)
class WrittenCard:
    """The bytes of a file, and sentences about the fields that it could not hold."""

    content: bytes
    notes: tuple[str, ...] = ()


def write_card(
    file: CardFile, card: Card, format_: CardFormat, version: CardVersion | None = None, colour: Colour = GREY
) -> WrittenCard:
    """Return the card as a file; `file` is the one that it came in, with its picture and its other files.

    `version` counts for JSON alone: a PNG holds versions 2 and 3, a CHARX version 3. Without it JSON keeps
    the text that the card has. `colour` is that of the plain picture of a card that has none.
    """
    match format_:
        case CardFormat.JSON:
            document = card.document if version is None else in_version(card, version)
            return WrittenCard(_encoded(document))
        case CardFormat.PNG:
            return _png(file, card, colour)
        case CardFormat.CHARX:
            return _charx(file, card)


def rewritten_card(file: CardFile, card: Card) -> bytes:
    """Return the file with `card` in place of its own, in the same format and version; all else stays."""
    match file.format:
        case CardFormat.JSON:
            return encoded_within(file.content, file.card.document, card.document)
        case CardFormat.CHARX if file.charx is not None:
            return write_charx(card.document, file.charx.front, file.charx.members)
        case _:
            return _with_copies(file, card)


def _with_copies(file: CardFile, card: Card) -> bytes:
    """Return a picture with the card in those chunks that hold its own, each at its place."""
    parts, at = [], 0
    for text, document in card_copies(file.content):
        new = {file.card.document: card.document, file.card.twin: card.twin}.get(document)
        if new is not None and new != document:
            chunk = text.keyword.encode("latin-1") + b"\0" + b64encode(_encoded(new))
            parts += [file.content[at : text.chunk.start], written(b"tEXt", chunk)]
            at = text.chunk.end
    return b"".join([*parts, file.content[at:]])


def new_file(card: Card) -> CardFile:
    """Return a file for a card that was made here, which has no picture and no other files."""
    return CardFile(card.name, CardFormat.JSON, card, _encoded(card.document))


def in_version(card: Card, version: CardVersion) -> JsonDocument:
    """Return the card in a version; version 1 only for a card that is of version 1."""
    if version is CardVersion.V3:
        return _as_v3(card.document)
    if version is CardVersion.V1 and card.version is CardVersion.V1:
        return card.document
    return _as_v2(card)


def _as_v3(document: JsonDocument) -> JsonDocument:
    if not is_newer(document.value):
        document = _with_spec(_with_data(document), V3_SPEC, "3.0")
    if isinstance(document.get("data"), dict) and not isinstance(
        document.get("data", "group_only_greetings"), list
    ):
        document = document.with_value(("data", "group_only_greetings"), [])
    return document


def _as_v2(card: Card) -> JsonDocument:
    if card.twin is not None:
        return _with_spec(card.twin, V2_SPEC, "2.0")
    document = _with_data(card.document)
    if card.version is CardVersion.V3:
        document = _without_decorators(document, card)
    return _with_spec(document, V2_SPEC, "2.0")


def _with_spec(document: JsonDocument, spec: str, number: str) -> JsonDocument:
    if document.get("spec") == spec:
        return document
    return document.with_values({("spec",): spec, ("spec_version",): number})


def _with_data(document: JsonDocument) -> JsonDocument:
    """Return a document of version 1 with `data`, in which its fields are repeated; others as they are."""
    card = Card(document)
    if card.version > CardVersion.V1:
        return document
    root = document.value
    data = dict(_EMPTY_V2)
    for field, names in ALIASES.items():
        data[field] = next((root[name] for name in (field, *names) if root.get(name) is not None), "")
    for name in (*_EMPTY_V2, "character_book"):
        if name not in ALIASES and root.get(name) is not None:
            data[name] = root[name]
    before = root.get("data")
    if isinstance(before, dict):
        data = {**before, **data}
    elif before is not None:
        # Another program's value under the name that version 2 has for something else.
        data["extensions"] = {**card.extensions, "v1_data": before}
    return document.with_value(("data",), data)


def _without_decorators(document: JsonDocument, card: Card) -> JsonDocument:
    path = card.book_path
    entries = None if path is None else document.get(*path, "entries")
    if path is None or not isinstance(entries, list):
        return document
    contents = {
        (*path, "entries", number, "content"): entry["content"]
        for number, entry in enumerate(entries)
        if isinstance(entry, dict) and isinstance(entry.get("content"), str)
    }
    stripped = {place: strip_decorators(content) for place, content in contents.items()}
    changed = {place: content for place, content in stripped.items() if content != contents[place]}
    return document.with_values(changed) if changed else document


def _encoded(document: JsonDocument) -> bytes:
    return document.text.encode()


def _png(file: CardFile, card: Card, colour: Colour) -> WrittenCard:
    picture, notes = file.picture, []
    if file.charx is not None and len(file.charx.members) > 2:
        notes.append("A PNG does not hold the other files of the card; a .charx does.")
    if picture is None or not picture.startswith(SIGNATURE):
        if picture is not None:
            notes.append("The picture of the card is no PNG; a plain one was written instead.")
        picture = plain_picture(colour)
    chunks = [
        (V2_KEYWORD, b64encode(_encoded(in_version(card, CardVersion.V2)))),
        (V3_KEYWORD, b64encode(_encoded(in_version(card, CardVersion.V3)))),
    ]
    return WrittenCard(with_texts(picture, chunks, card_texts(picture)), tuple(notes))


def _charx(file: CardFile, card: Card) -> WrittenCard:
    document = in_version(card, CardVersion.V3)
    if file.charx is not None:
        return WrittenCard(write_charx(document, file.charx.front, file.charx.members))
    if file.format is not CardFormat.PNG:
        return WrittenCard(write_charx(document, b"", ()))
    # The picture was the file itself; in an archive its place has to be named.
    picture = with_texts(file.content, [], card_texts(file.content))
    document = _with_icon(document)
    return WrittenCard(write_charx(document, b"", (Member(ICON_PATH, picture, False),)))


def _with_icon(document: JsonDocument) -> JsonDocument:
    """Return the document with the picture at `ICON_PATH` among its icons, where it is found again."""
    uri = f"embeded://{ICON_PATH}"
    assets = document.get("data", "assets")
    icons = [
        (number, asset)
        for number, asset in enumerate(assets if isinstance(assets, list) else ())
        if isinstance(asset, dict) and asset.get("type") == "icon"
    ]
    for number, asset in icons:
        if asset.get("uri") in ("ccdefault:", uri):
            return document.with_value(("data", "assets", number, "uri"), uri)
    has_main = any(asset.get("name") == "main" for _, asset in icons)
    icon = {"type": "icon", "uri": uri, "name": "picture" if has_main else "main", "ext": "png"}
    if not isinstance(assets, list):
        return document.with_value(("data", "assets"), [icon])
    return document.with_item(("data", "assets"), icon)
