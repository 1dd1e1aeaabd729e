"""Reads the entries of NovelAI, Agnai and Risu; these formats are not written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from core.library.lore.book import Position
from core.library.lore.fields import percent_of, switch_of, text_of, texts_of, whole_of
from core.text.cleaning import clean_line

_FOLDER: Final = "folder"
_WILD = re.compile(r"[*?]")


def novel_ai_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry of NovelAI; its priority in the budget is the order."""
    config = raw.get("contextConfig")
    priority = config.get("budgetPriority") if isinstance(config, dict) else None
    return {
        "name": text_of(raw.get("displayName")) or "",
        "keys": texts_of(raw.get("keys")) or (),
        "content": text_of(raw.get("text")) or "",
        "is_enabled": switch_of(raw.get("enabled")) is not False,
        "is_constant": bool(switch_of(raw.get("forceActivation"))),
        "is_selective": False,
        "order": whole_of(priority) or 0,
    }


def agnai_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry of Agnai, whose keys are whole words with `*` and `?` for letters."""
    keys = texts_of(raw.get("keywords")) or ()
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
    plain = " ".join(re.sub(r"[^\w\s*?'-]", "", key).split())
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
                "keys": texts_of(raw.get("key")) or (),
                "secondary": texts_of(raw.get("secondkey")) or (),
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
