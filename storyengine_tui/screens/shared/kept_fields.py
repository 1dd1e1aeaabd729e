"""Texts of a page that the database does not take: a file has them until it does, and the next start."""

from collections.abc import Callable, Mapping

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


class KeptFields:
    """Keeps the fields of a page in a file of the chapter that is open on it."""

    def __init__(self, typed: Callable[[], Fields]) -> None:
        self._typed = typed
        self._file: KeptText | None = None
        self._are_kept = False
        """Whether the file has some."""

    def open(self, file: KeptText | None) -> None:
        """Use the file of a chapter; None if nothing is kept."""
        self._file = file

    def close(self) -> None:
        """Leave the file as it is, for the next opening of its chapter."""
        self._file, self._are_kept = None, False

    def keep(self) -> None:
        """Keep what is typed and could not be stored: the program may end before the database takes it."""
        if self._file is not None:
            self._are_kept = True
            keep_fields(self._file, self._typed())

    def read(self) -> Fields:
        """Return what was kept before the program ended; it is forgotten once it is stored."""
        fields = {} if self._file is None else read_fields(self._file)
        self._are_kept |= bool(fields)
        return fields

    def forget(self) -> None:
        """Delete the file: what is typed is stored."""
        if self._file is not None and self._are_kept:
            self._are_kept = False
            self._file.forget()
