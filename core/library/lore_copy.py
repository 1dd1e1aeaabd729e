"""A copy of a lorebook as a text: its file, in characters that every store and every export keeps.

It is JSON in base 64. Exports count the values that they hold, and a book in one is a single value.
"""

import json
from base64 import b64decode, b64encode
from typing import Any

from core.library.card_lore import read_lore_file
from core.library.lore.book import Lorebook
from core.library.refusal import FileRefusedError


def as_copy(document: Any) -> str:
    """Return the copy of a lorebook, given what the JSON of its file says."""
    return b64encode(json.dumps(document, separators=(",", ":")).encode("ascii")).decode("ascii")


def read_copy(copy: str) -> Lorebook:
    """Return the lorebook of a copy; raise FileRefusedError for a text that is not one."""
    try:
        content = b64decode(copy, validate=True)
    except ValueError as error:
        raise FileRefusedError("The lorebook is no copy of one.") from error
    return read_lore_file(content, "The lorebook").book
