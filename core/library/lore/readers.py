"""Reads lorebooks: of cards, SillyTavern, NovelAI, Agnai and Risu; the last three are not written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from core.library.json_document import JsonDocument, Path
from core.library.lore.book import (
    MOST_ENTRIES,
    MOST_EXPRESSIONS,
    MOST_KEYS_OF_BOOK,
    Lorebook,
    LoreEntry,
    LoreFormat,
    LoreSource,
    Position,
)
from core.library.lore.fields import (
    BOOK_ROWS,
    WORLD_ROWS,
    count_of,
    depth_of,
    has,
    list_of_texts,
    percent_of,
    read_fields,
    switch_of,
    text_of,
    whole_of,
)
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean_line
from core.text.letters import MARKS

_FOLDER: Final = "folder"
_WILD = re.compile(r"[*?]")


def novel_ai_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry of NovelAI; its priority in the budget is the order."""
    config = raw.get("contextConfig")
    priority = config.get("budgetPriority") if isinstance(config, dict) else None
    return {
        "name": text_of(raw.get("displayName")) or "",
        "keys": list_of_texts(raw.get("keys")) or (),
        "content": text_of(raw.get("text")) or "",
        "is_enabled": switch_of(raw.get("enabled")) is not False,
        "is_constant": bool(switch_of(raw.get("forceActivation"))),
        "is_selective": False,
        "order": whole_of(priority) or 0,
    }


def agnai_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry of Agnai, whose keys are whole words with `*` and `?` for letters."""
    keys = list_of_texts(raw.get("keywords")) or ()
    return {
        "name": text_of(raw.get("name")) or "",
        "keys": tuple(_agnai_key(key) for key in keys),
        "content": text_of(raw.get("entry")) or "",
        "is_enabled": switch_of(raw.get("enabled")) is not False,
        "is_constant": bool(switch_of(raw.get("constant"))),
        "is_selective": False,
        "order": whole_of(raw.get("weight")) or 0,
        "priority": whole_of(raw.get("priority")),
        "whole_words": True,
    }


def _agnai_key(key: str) -> str:
    """Return a key that means the same here: an expression where a plain one would not do."""
    plain = " ".join(re.sub(rf"[^\w\s*?'{MARKS}-]", "", key).split())
    if not plain or not (_WILD.search(plain) or " " in plain):
        return plain or key
    pattern = re.escape(plain).replace(r"\*", r"\w*").replace(r"\?", r"\w").replace("/", r"\/")
    return rf"/\b{pattern}\b/i"


def risu_entries(
    places: Sequence[tuple[str | int, Mapping[str, Any]]],
) -> Iterator[tuple[str | int, dict[str, Any], str]]:
    """Yield place, fields and uid of each entry of Risu; without folders; a child has another's text."""
    texts = {str(raw.get("id")): text_of(raw.get("content")) or "" for _, raw in places if raw.get("id")}
    for place, raw in places:
        if raw.get("mode") == _FOLDER:
            continue
        content = text_of(raw.get("content")) or ""
        if raw.get("mode") == "child":
            content = texts.get(content.strip(), content)
        probability = percent_of(raw.get("activationPercent"))
        yield (
            place,
            {
                "name": text_of(raw.get("comment")) or "",
                "keys": list_of_texts(raw.get("key")) or (),
                "secondary": list_of_texts(raw.get("secondkey")) or (),
                "content": content,
                "is_constant": bool(switch_of(raw.get("alwaysActive"))),
                "is_selective": bool(switch_of(raw.get("selective"))),
                "uses_regex": bool(switch_of(raw.get("useRegex"))),
                "order": whole_of(raw.get("insertorder")) or 0,
                "position": Position.AFTER_CHARACTER,
                "probability": 100.0 if probability is None else probability,
            },
            clean_line(str(raw.get("id") or place)),
        )


LOREBOOK_SPEC: Final = "lorebook_v3"
SILLY_TAVERN: Final = ("position", "display_index", "exclude_recursion", "selectiveLogic", "useProbability")
"""Extensions of an entry by which one of SillyTavern is known: there, slashes alone make an expression."""
Places = list[tuple[str | int, Mapping[str, Any]]]


def read_lorebook(document: JsonDocument, what: str) -> Lorebook:
    """Return the book in a document of any format; raise FileRefusedError, beginning with `what`."""
    found = _format_of(document.value)
    if found is None:
        raise FileRefusedError(f"{what} holds no lorebook.")
    format_, path = found
    return book_at(document, format_, path, what)


def book_at(document: JsonDocument, format_: LoreFormat, path: Path, what: str) -> Lorebook:
    """Return the book at a place of a document; raise FileRefusedError when it has too many entries."""
    root = document.get(*path)
    places = list(_places(root, format_))
    if len(places) > MOST_ENTRIES:
        raise FileRefusedError(f"{what} has more than {MOST_ENTRIES:,} entries of lore.")
    entries, kept = _entries(places, format_)
    _check_keys(entries, what)
    said = root if isinstance(root, dict) else document.value
    return Lorebook(
        name=clean_line(text_of(said.get("name")) or ""),
        description=text_of(said.get("description")) or "",
        entries=entries,
        scan_depth=depth_of(said.get("scan_depth")),
        token_budget=count_of(said.get("token_budget")),
        is_recursive=True if format_ is LoreFormat.RISU else switch_of(said.get("recursive_scanning")),
        source=LoreSource(document, format_, path, kept),
    )


def holds_lorebook(value: object) -> bool:
    """Whether a parsed file is a lorebook of any format, or a card with one."""
    return _format_of(value) is not None


def _format_of(value: Any) -> tuple[LoreFormat, Path] | None:
    """Return the format of a parsed file, by its structure, and the path of the book in it."""
    if not isinstance(value, dict):
        return None
    data = value.get("data")
    if value.get("spec") == LOREBOOK_SPEC and isinstance(data, dict):
        return LoreFormat.LOREBOOK_V3, ("data",)
    if isinstance(data, list) and (value.get("type") == "risu" or _any_has(data, "insertorder")):
        return LoreFormat.RISU, ("data",)
    entries = value.get("entries")
    if isinstance(entries, dict):
        return LoreFormat.WORLD_INFO, ()
    if not isinstance(entries, list):
        return None
    if "lorebookVersion" in value or _any_has(entries, "contextConfig"):
        return LoreFormat.NOVEL_AI, ()
    if _any_has(entries, "keywords"):
        return LoreFormat.AGNAI, ()
    if _any_has(entries, "key") and not _any_has(entries, "keys"):
        return LoreFormat.WORLD_INFO, ()
    return LoreFormat.CHARACTER_BOOK, ()


def _any_has(entries: list[Any], key: str) -> bool:
    return any(isinstance(entry, dict) and key in entry for entry in entries)


def _places(root: Any, format_: LoreFormat) -> Iterator[tuple[str | int, Mapping[str, Any]]]:
    entries = root if format_ is LoreFormat.RISU else root.get("entries")
    numbered = entries.items() if isinstance(entries, dict) else enumerate(_listed(entries))
    return ((place, entry) for place, entry in numbered if isinstance(entry, dict))


def _check_keys(entries: tuple[LoreEntry, ...], what: str) -> None:
    """Raise FileRefusedError for more keys than can be looked for."""
    if sum(len(entry.keys) + len(entry.secondary) for entry in entries) > MOST_KEYS_OF_BOOK:
        raise FileRefusedError(f"{what} has more than {MOST_KEYS_OF_BOOK:,} keys of lore.")
    expressions = (key for entry in entries for key in entry.keys if entry.uses_regex or key[:1] == "/")
    if sum(1 for _ in expressions) > MOST_EXPRESSIONS:
        raise FileRefusedError(f"{what} has more than {MOST_EXPRESSIONS:,} expressions as keys of lore.")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _entries(places: Places, format_: LoreFormat) -> tuple[tuple[LoreEntry, ...], dict[str, str | int]]:
    found: list[LoreEntry] = []
    kept: dict[str, str | int] = {}
    fields = (
        risu_entries(places)
        if format_ is LoreFormat.RISU
        else ((place, _FIELDS[format_](raw), _uid(raw, place)) for place, raw in places)
    )
    for place, values, wanted in fields:
        uid = wanted
        while uid in kept:
            uid = f"{uid}#{place}"
        kept[uid] = place
        found.append(LoreEntry(uid=uid, **values))
    return tuple(found), kept


def _uid(raw: Mapping[str, Any], place: str | int) -> str:
    named = next((raw[key] for key in ("uid", "id") if isinstance(raw.get(key), str | int)), place)
    return clean_line(str(named)) or str(place)


def _book_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    found = {"is_selective": False, "position": Position.BEFORE_CHARACTER, **read_fields(BOOK_ROWS, raw)}
    if not has(raw, ("extensions", "position")) and raw.get("position") != "before_char":
        found["position"] = Position.AFTER_CHARACTER
    # SillyTavern writes the switch whether the keys are expressions or not.
    if any(has(raw, ("extensions", name)) for name in SILLY_TAVERN):
        found["uses_regex"] = False
    return found


_FIELDS: Final = {
    LoreFormat.CHARACTER_BOOK: _book_fields,
    LoreFormat.LOREBOOK_V3: _book_fields,
    LoreFormat.WORLD_INFO: lambda raw: read_fields(WORLD_ROWS, raw),
    LoreFormat.NOVEL_AI: novel_ai_entry,
    LoreFormat.AGNAI: agnai_entry,
}
