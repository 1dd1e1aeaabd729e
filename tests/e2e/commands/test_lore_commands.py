"""Lorebooks of a chapter by commands and chapter scripts, in the real program."""

import json

from tests.bad_text import acts
from tests.e2e.commands.test_library_commands import BAD, written
from tests.e2e.program import Machine

WORLD = {
    "entries": {
        "0": {"uid": 0, "key": ["lamp"], "comment": "Lamp", "content": "Seal oil burns in it."},
        "1": {"uid": 1, "key": ["gull"], "content": "They know."},
    }
}
SCRIPT = """
title = "The Lamp"
world = "A sea."
chapter = "The lamp is out."
lore = ["harbour"]
[[agent]]
name = "Kara"
[[agent]]
name = "Joss"
[[prompt]]
to = "Kara"
text = "Who minds the lamp?"
"""


def test_a_script_plays_with_its_lorebooks_and_commands_attach_and_detach_them(fresh: Machine) -> None:
    script = fresh.write("lamp.toml", SCRIPT)
    refused = fresh.call("play", script, "--provider", "scripted", "--out", fresh.out)
    assert "no lorebook in the library called “harbour”" in " ".join(refused.stderr.split())
    fresh.lines("lore", "import", written(fresh, "Harbour.json", json.dumps(WORLD).encode()))
    done = fresh.call("play", script, "--provider", "scripted", "--out", fresh.out)
    assert done.returncode == 0, done.stderr
    assert "Lorebook “Harbour”, 2 entries, known to everyone" in fresh.lines("show", "last")
    given = fresh.call("context", "last", "--as", "Joss").stdout
    assert "Seal oil burns in it." in given
    assert "They know." not in given
    again = fresh.lines("lore", "attach", "HARBOUR", "last")
    assert again == ["Took over its current content: “Harbour”, 2 entries, known to everyone."]
    assert fresh.lines("lore", "detach", "harbour", "last") == ["Detached “harbour”."]
    assert "Seal oil" not in fresh.call("context", "last", "--as", "Joss").stdout
    refused = fresh.call("lore", "detach", "harbour", "last")
    assert refused.returncode == 8
    assert "No lorebook of this chapter is called “harbour”; it has none." in refused.stderr
    assert fresh.lines("lore", "attach", "Harbour", "last")[0].startswith("Attached: “Harbour”")


def test_no_escape_of_a_lorebook_reaches_the_output_by_way_of_a_chapter(fresh: Machine) -> None:
    entry = {"uid": 0, "key": ["lamp", BAD], "comment": BAD, "content": BAD, "constant": True}
    book = {
        "name": BAD,
        "entries": {"0": entry, BAD: {**entry, "uid": BAD, "constant": False, "content": "x"}},
    }
    fresh.lines("lore", "import", written(fresh, "bad.json", json.dumps(book).encode()))
    [listed] = fresh.lines("lore", "list")
    script = fresh.write("lamp.toml", SCRIPT.replace('lore = ["harbour"]', ""))
    assert fresh.call("play", script, "--provider", "scripted", "--out", fresh.out).returncode == 0
    for command in (
        ("lore", "attach", listed.split("\t")[-1], "last"),
        ("show", "last"),
        ("context", "last", "--as", "Joss"),
        ("export", "last", "--format", "json"),
    ):
        shown = fresh.call(*command)
        assert shown.returncode == 0, shown.stderr
        assert not acts(shown.stdout + shown.stderr)
