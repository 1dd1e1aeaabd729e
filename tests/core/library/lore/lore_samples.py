"""Lorebooks that were made here, in SillyTavern's format."""

import json
from typing import Any

from core.library.json_document import parse_json
from core.library.lore.book import Lorebook
from core.library.lore.readers import read_lorebook

WORLD: dict[str, Any] = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["lamp"],
            "keysecondary": ["oil"],
            "comment": "L",
            "content": "Old.",
            "x_own": 1.50,
        },
        "5": {
            "uid": 5,
            "key": "ship, boat",
            "content": "New.",
            "disable": True,
            "position": 4,
            "delayUntilRecursion": True,
        },
    },
    "originalData": {"stale": True},
    "x_root": [1.0],
}


def read(value: object) -> Lorebook:
    return read_lorebook(parse_json(json.dumps(value), "It"), "It")
