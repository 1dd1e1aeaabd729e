"""Texts of a page that the database does not take: a file has them until it does, and the next start."""

from collections.abc import Mapping

from storyengine_tui.screens.shared.kept_text import KeptText

Fields = Mapping[str, tuple[str, str]]
"""Texts by the names of their fields: each as it is stored, and as it was typed."""


def keep_fields(kept: KeptText, fields: Fields) -> None:
    """Replace the fields in a file; without any it is deleted."""
    import json  # After the first paint.

    kept.keep(json.dumps(fields, ensure_ascii=False) if fields else "")


def read_fields(kept: KeptText) -> Fields:
    """Return the fields in a file; none where it has something else."""
    import json

    try:
        found = json.loads(kept.read() or "{}")
    except (ValueError, RecursionError):
        return {}
    rows = found.items() if isinstance(found, dict) else ()
    return {name: (row[0], row[1]) for name, row in rows if _is_pair(row)}


def _is_pair(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(text, str) for text in row)
