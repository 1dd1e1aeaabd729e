"""A character card: its text as the author wrote it, and the fields of it that the program reads.

Versions 1 to 3 are read; `data` counts before what is repeated at the root. An edit changes the edited
places of the text alone, and also the copies of them that other programs keep at the root.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from core.library.json_document import JsonDocument, Path
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean

V2_SPEC: Final = "chara_card_v2"
V3_SPEC: Final = "chara_card_v3"
MOST_GREETINGS: Final = 1_000

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("char_name",),
    "description": (),
    "personality": ("char_persona",),
    "scenario": ("world_scenario",),
    "first_mes": ("char_greeting",),
    "mes_example": ("example_dialogue",),
    "creator_notes": ("creatorcomment",),
}
"""The fields of version 1, and the names that other programs have for them at the root."""
TEXT_FIELDS: Final = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example"),
    *(
        "creator_notes",
        "system_prompt",
        "post_history_instructions",
        "creator",
        "character_version",
        "nickname",
    ),
)
_PERSONS: Final = ("first_mes", "char_greeting", "char_persona", "char_name")


class CardVersion(IntEnum):
    """The version of the format in which a card is written."""

    V1 = 1
    V2 = 2
    V3 = 3


@dataclass(frozen=True, slots=True)
class Asset:
    """A picture or another file that a card names; `uri` says where it is."""

    kind: str
    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Card:
    """One card. `document` is its JSON as it was read.

    `twin` is the copy for version 2 that a picture holds beside one of version 3. It is kept as well, since
    it is what a program reads that knows version 2 alone.
    """

    document: JsonDocument
    twin: JsonDocument | None = None

    @property
    def version(self) -> CardVersion:
        """The version by the card's fields, whatever it calls itself."""
        return version_of(self.document.value)

    def text(self, field: str) -> str:
        """Return a text field without control characters; empty where the card has no such text."""
        return clean(_text(self._raw(field)))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, also when the card has one text instead; blank ones are left out."""
        raw = self._raw(field)
        values = raw if isinstance(raw, list) else [raw]
        found = (clean(_text(value)) for value in values[:MOST_GREETINGS])
        return tuple(text for text in found if text.strip())

    @property
    def name(self) -> str:
        """The name of the character; empty for a card without one."""
        return self.text("name")

    @property
    def called(self) -> str:
        """The value of `{{char}}`: the nickname, else the name."""
        return self.text("nickname") or self.name

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Data of other programs in the card."""
        found = self._raw("extensions")
        return found if isinstance(found, dict) else {}

    @property
    def depth_prompt(self) -> str:
        """The text of the card that goes into the recent messages; empty without one."""
        found = self.extensions.get("depth_prompt")
        return clean(_text(found.get("prompt"))) if isinstance(found, dict) else ""

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The files that the card names; none means that its picture is the icon."""
        found = self._raw("assets")
        if not isinstance(found, list):
            return ()
        return tuple(
            Asset(*(clean(_text(one.get(key))) for key in ("type", "uri", "name")))
            for one in found[:10_000]
            if isinstance(one, dict)
        )

    @property
    def book_path(self) -> Path | None:
        """Path of the card's lorebook, also at the wrong level; None for a card without one."""
        candidates: tuple[Path, ...] = (
            ("data", "character_book"),
            ("character_book",),
            ("data", "extensions", "character_book"),
        )
        return next((path for path in candidates if isinstance(self.document.get(*path), dict)), None)

    def with_field(self, field: str, value: str | list[str]) -> "Card":
        """Return the card with another text or list of texts; the same card where it says that already."""
        now = self.text(field) if isinstance(value, str) else list(self.texts(field))
        if now == value:
            return self
        twin = None if self.twin is None else _edited(self.twin, field, value)
        return Card(_edited(self.document, field, value), twin)

    def with_extension(self, name: str, value: Mapping[str, Any]) -> "Card":
        """Return the card with this in its extensions; the same where they are no object that can hold it."""
        twin = None if self.twin is None else _extended(self.twin, name, value)
        return Card(_extended(self.document, name, value), twin)

    def _raw(self, field: str) -> Any:
        root = self.document.value
        data = root.get("data")
        if isinstance(data, dict) and (version_of(root) > CardVersion.V1) and data.get(field) is not None:
            return data[field]
        for name in (field, *ALIASES.get(field, ())):
            if root.get(name) is not None:
                return root[name]
        return None


def new_card(fields: Mapping[str, str | list[str]]) -> Card:
    """Return a card of version 2 with these fields, for a character that came from no card."""
    data: dict[str, Any] = {field: "" for field in TEXT_FIELDS if field != "nickname"}
    data |= {"alternate_greetings": [], "tags": [], "extensions": {}, **fields}
    root = {"spec": V2_SPEC, "spec_version": "2.0", "data": data}
    return Card(JsonDocument(json.dumps(root, ensure_ascii=False)))


def is_card(value: object) -> bool:
    """Whether a parsed JSON text is a card, by its fields."""
    if not isinstance(value, dict):
        return False
    if _text(value.get("spec")).startswith("chara_card_"):
        return True
    return _is_person(value) or _is_person(value.get("data"))


def _is_person(value: object) -> bool:
    """Whether an object has the fields of a character."""
    if not isinstance(value, dict):
        return False
    return any(name in value for name in _PERSONS) or (
        "name" in value and any(name in value for name in ("personality", "scenario", "mes_example"))
    )


def card_of(document: JsonDocument, what: str) -> Card:
    """Return the card in a document; raise FileRefusedError, whose sentence begins with `what`."""
    if not is_card(document.value):
        raise FileRefusedError(f"{what} holds no character card.")
    return Card(document)


def version_of(value: Mapping[str, Any]) -> CardVersion:
    """Return the version of a parsed card; without a `spec` its fields decide."""
    if not isinstance(value.get("data"), dict):
        return CardVersion.V1
    spec = _text(value.get("spec"))
    if spec == V2_SPEC:
        return CardVersion.V2
    if spec.startswith("chara_card_") or _is_person(value["data"]):
        return CardVersion.V3
    return CardVersion.V1


def is_newer(value: Mapping[str, Any]) -> bool:
    """Whether a card says that it is of a version after 3.0."""
    try:
        number = float(_text(value.get("spec_version")) or 0)
    except ValueError:
        return False
    spec = _text(value.get("spec"))
    return number > 3 or (spec.startswith("chara_card_v") and spec not in (V2_SPEC, V3_SPEC))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else ""


def _edited(document: JsonDocument, field: str, value: str | list[str]) -> JsonDocument:
    """Return the document with the field changed in `data`, and at the root where it is repeated."""
    has_data = version_of(document.value) > CardVersion.V1
    if has_data:
        document = document.with_value(("data", field), value)
    names = [name for name in (field, *ALIASES.get(field, ())) if document.has(name)]
    if not has_data and not names:
        names = [field]
    for name in names:
        document = document.with_value((name,), value)
    return document


def _extended(document: JsonDocument, name: str, value: Mapping[str, Any]) -> JsonDocument:
    path: Path = ("data", "extensions") if version_of(document.value) > CardVersion.V1 else ("extensions",)
    before = document.get(*path)
    if isinstance(before, dict):
        return document.with_value((*path, name), value)
    # An empty list or text says as little as none: some programs write an empty object so.
    return document if before else document.with_value(path, {name: value})
