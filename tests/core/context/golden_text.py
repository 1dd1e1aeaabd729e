"""Texts that were accepted, in files."""

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def accepted(name: str, text: str) -> str:
    """Return what was accepted under this name; a text that is the first of its name is written, and fails.

    To accept a change, delete the file and run the test twice.
    """
    path = GOLDEN / name
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{name} was written; look at it and commit it")
    return path.read_text(encoding="utf-8")
