"""`storyengine lore test` says what entries ask for that a trial does not have."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from storyengine_tui.cli.commands.library import lore


def tried(folder: Path, **fields: Any) -> dict[str, Any]:
    book, text = folder / "book.json", folder / "text.txt"
    entry = {"uid": 0, "key": ["lamp"], "content": "Old.", **fields}
    book.write_text(json.dumps({"entries": {"0": entry}}))
    text.write_text("The lamp.")
    done = CliRunner().invoke(lore.app, ["test", str(book), "--text", str(text), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"triggers": ["normal"]}, ""),
        ({"characterFilter": {"names": ["Kara"], "tags": []}, "disable": True}, ""),
        ({"triggers": ["swipe"]}, "kinds of generation but “normal”."),
        ({"characterFilter": {"names": ["Kara"], "tags": ["sea"]}}, "the name of a character, tags."),
        ({"matchScenario": True}, "texts of a character or a persona."),
    ],
)
def test_what_a_trial_lacks_is_said_once_an_entry_asks_for_it(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    note = tried(tmp_path, **fields)["not_tried"]
    assert note == (f"A trial ignores these conditions of entries: {said}" if said else "")
