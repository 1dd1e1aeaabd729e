"""Writes lorebooks as `character_book`, `lorebook_v3` and world info.

A book that is written in the format in which it was read keeps its text except for changes. In another
format its unknown keys go along: those of world info into `extensions`, others beside the known ones.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from core.library.json_document import JsonDocument, Path
from core.library.lore.book import Lorebook, LoreEntry, LoreFormat, LoreSource
from core.library.lore.fields import BOOK_ROWS, WORLD_ROWS, Row, all_places, changed_places, has
from core.library.lore.readers import LOREBOOK_SPEC, SILLY_TAVERN, book_at

WRITTEN: Final = (LoreFormat.CHARACTER_BOOK, LoreFormat.LOREBOOK_V3, LoreFormat.WORLD_INFO)
_ROWS: Final = {
    LoreFormat.CHARACTER_BOOK: BOOK_ROWS,
    LoreFormat.LOREBOOK_V3: BOOK_ROWS,
    LoreFormat.WORLD_INFO: WORLD_ROWS,
}
SLASHED: Final = re.compile(r"/.+/[gimsuy]*\Z", re.DOTALL)
"""A key that is an expression by its form."""
_SLASH: Final = re.compile(r"\\*/")
_BOOK_FIELDS: Final = (
    ("name", "name"),
    ("description", "description"),
    ("scan_depth", "scan_depth"),
    ("token_budget", "token_budget"),
    ("is_recursive", "recursive_scanning"),
)


def write_lorebook(book: Lorebook, format_: LoreFormat) -> JsonDocument:
    """Return the text of a book in one of the formats of `WRITTEN`."""
    source = book.source
    if source is not None and source.format is format_ and not source.path[:-1]:
        is_whole = source.path == (("data",) if format_ is LoreFormat.LOREBOOK_V3 else ())
        if is_whole:
            return changed_in(source, book)
    value = _built(book, format_)
    if format_ is LoreFormat.LOREBOOK_V3:
        value = {"spec": LOREBOOK_SPEC, "data": value}
    return JsonDocument(json.dumps(value, ensure_ascii=_has_surrogates(value)))


def changed_in(source: LoreSource, book: Lorebook) -> JsonDocument:
    """Return the text that a book was read from, with the differences of `book` applied to it."""
    before = book_at(source.document, source.format, source.path, "The lorebook")
    known = {entry.uid: entry for entry in before.entries}
    rows = _ROWS[source.format]
    document = source.document
    changes: dict[Path, Any] = {}
    for entry in book.entries:
        if entry.uid not in known or known[entry.uid] == entry:
            continue
        place = (*source.path, "entries", source.places[entry.uid])
        raw = document.get(*place)
        inside = _changes_of(rows, raw, known[entry.uid], entry)
        changes |= {(*place, *inner): value for inner, value in inside.items()}
    for attribute, key in _BOOK_FIELDS:
        if getattr(book, attribute) != getattr(before, attribute):
            changes[(*source.path, key)] = getattr(book, attribute)
    if changes:
        document = document.with_values(changes)
    return _without_and_with(document, source, known, book)


def _changes_of(
    rows: tuple[Row, ...], raw: Mapping[str, Any], before: LoreEntry, after: LoreEntry
) -> dict[Path, Any]:
    found = changed_places(rows, raw, before, after)
    places = (("extensions", name) for name in SILLY_TAVERN)
    if after.uses_regex and any(has(raw, place) or place in found for place in places):
        # With one of these the switch is not asked, so that the keys have to say it.
        return changed_places(rows, raw, before, _with_slashes(after))
    return found


def _without_and_with(
    document: JsonDocument, source: LoreSource, known: Mapping[str, LoreEntry], book: Lorebook
) -> JsonDocument:
    entries: Path = (*source.path, "entries")
    kept = {entry.uid for entry in book.entries}
    gone = [source.places[uid] for uid in known if uid not in kept]
    # From the end on, so that the numbers of the others stay.
    for place in sorted(gone, key=lambda place: (isinstance(place, int), place), reverse=True):
        document = document.without((*entries, place))
    is_object = isinstance(document.get(*entries), dict)
    for entry in book.entries:
        if entry.uid in known:
            continue
        raw = _raw(entry, source.format, {})
        if is_object:
            document = document.with_value((*entries, entry.uid), raw)
        elif not isinstance(document.get(*entries), list):
            document = document.with_value(entries, [raw])
        else:
            document = document.with_item(entries, raw)
    return document


def _built(book: Lorebook, format_: LoreFormat) -> dict[str, Any]:
    source = book.source
    root = source.document.get(*source.path) if source is not None else None
    value = {key: kept for key, kept in root.items() if key != "entries"} if isinstance(root, dict) else {}
    for attribute, key in _BOOK_FIELDS:
        if getattr(book, attribute) not in (None, ""):
            value[key] = getattr(book, attribute)
    if format_ is not LoreFormat.WORLD_INFO:
        value.setdefault("extensions", {})
    entries = [_raw(entry, format_, _unknown(source, entry, format_)) for entry in book.entries]
    if format_ is not LoreFormat.WORLD_INFO:
        return {**value, "entries": entries}
    for number, entry in enumerate(entries):
        entry["uid"] = number
    return {**value, "entries": {str(number): entry for number, entry in enumerate(entries)}}


def _unknown(source: LoreSource | None, entry: LoreEntry, format_: LoreFormat) -> dict[str, Any]:
    """Return what an entry of another format has beside its fields, in its place in `format_`."""
    if source is None or entry.uid not in source.places:
        return {}
    raw = source.document.get(*source.path, *_entries_in(source), source.places[entry.uid])
    rows = _ROWS.get(source.format, ())
    known = {row.places[0][0] for row in rows} | {place[0] for row in rows for place in row.places}
    unknown = {key: value for key, value in raw.items() if key not in known - {"extensions"}}
    is_same_kind = (source.format is LoreFormat.WORLD_INFO) == (format_ is LoreFormat.WORLD_INFO)
    if is_same_kind or format_ is LoreFormat.WORLD_INFO:
        return unknown
    extensions = unknown.pop("extensions", {})
    return {"extensions": {**(extensions if isinstance(extensions, dict) else {}), **unknown}}


def _entries_in(source: LoreSource) -> Path:
    return () if source.format is LoreFormat.RISU else ("entries",)


def _raw(entry: LoreEntry, format_: LoreFormat, unknown: dict[str, Any]) -> dict[str, Any]:
    """Return the entry as an object of its format, with the unknown keys behind the known ones."""
    rows: tuple[Row, ...] = _ROWS[format_]
    entry = _with_slashes(entry)
    found: dict[str, Any] = {} if format_ is LoreFormat.WORLD_INFO else {"extensions": {}}
    identity = int(entry.uid) if entry.uid.isdecimal() and len(entry.uid) <= 9 else entry.uid
    found["uid" if format_ is LoreFormat.WORLD_INFO else "id"] = identity
    for place, value in all_places(rows, entry).items():
        inner = found
        for step in place[:-1]:
            inner = inner.setdefault(str(step), {})
        inner[str(place[-1])] = value
    for key, value in unknown.items():
        if key == "extensions" and isinstance(value, dict):
            found["extensions"] = {**value, **found.get("extensions", {})}
        else:
            found.setdefault(key, value)
    return found


def _with_slashes(entry: LoreEntry) -> LoreEntry:
    """Return the entry with its expressions between slashes, which every program reads as expressions."""
    if not entry.uses_regex:
        return entry
    keys = (key if SLASHED.match(key) else f"/{_SLASH.sub(_escaped, key)}/" for key in entry.keys)
    return replace(entry, keys=tuple(keys), uses_regex=False, is_selective=False)


def _escaped(found: re.Match[str]) -> str:
    return found.group() if len(found.group()) % 2 == 0 else f"{found.group()[:-1]}\\/"


def _has_surrogates(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
