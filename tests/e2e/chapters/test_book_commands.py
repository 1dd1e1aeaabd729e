"""Books at the command line: several scripts are one, and the next chapter begins with what was handed on."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.e2e.program import WORDS_ALONE, Machine, chapter_script

EXHAUSTED = '[[reply]]\nmatch = { schema = "text" }\nfault = "credit_exhausted"\n'


def scripted(replies: Path) -> dict[str, str]:
    return {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(replies)}


def script(fresh: Machine, name: str, title: str, book: str = "") -> Path:
    text = chapter_script(title, 3)
    assert tomllib.loads(text)
    return fresh.write(name, (f'book = "{book}"\n' if book else "") + text)


def played(fresh: Machine, *files: Path) -> list[str]:
    return fresh.lines("play", *files, "--provider", "scripted", "--out", fresh.out, "--quiet")


def test_several_scripts_in_order_are_a_book(fresh: Machine) -> None:
    files = [script(fresh, "a.toml", "Dawn"), script(fresh, "b.toml", "Dusk")]
    fresh.out.mkdir()
    written = played(fresh, *files)
    assert [Path(line).exists() for line in written] == [True, True]
    assert fresh.lines("book", "list")[0].split("\t")[:3] == ["Dawn", "", "2"]
    shown = fresh.lines("book", "show", "dawn")
    assert [line[:7] for line in shown[1:]] == ["1. Dawn", "2. Dusk"]
    # A second run goes on where it stopped: nothing is played again, and the book stays what it was.
    played(fresh, *files)
    assert len(fresh.lines("book", "show", "dawn")) == 3
    assert len(fresh.lines("sessions")) == 2


def test_a_script_names_its_book_and_the_next_one_takes_over_what_it_hands_on(fresh: Machine) -> None:
    fresh.out.mkdir()
    played(fresh, script(fresh, "a.toml", "Dawn", "The Lamp"))
    played(fresh, script(fresh, "b.toml", "Dusk", "the lamp"))
    assert fresh.lines("book", "list")[0].split("\t")[2] == "2"
    fresh.lines("export", "last", "--format", "json", "--out", fresh.out / "dusk.json")
    body = json.loads((fresh.out / "dusk.json").read_bytes())["body"]
    assert (body["book"]["title"], body["book"]["number"]) == ("The Lamp", 2)
    assert body["tab1"]["carried"]["lines"]
    assert "1. Dawn" in "".join(fresh.lines("book", "show", "The Lamp"))


def test_a_script_of_a_book_is_played_with_what_the_bank_has_of_the_chapters_before_it(
    fresh: Machine,
) -> None:
    fresh.out.mkdir()
    for name, title in (("a.toml", "Dawn"), ("b.toml", "Dusk")):
        file = fresh.write(name, f'book = "The Lamp"\nbank = true\n{chapter_script(title, 8)}')
        fresh.lines("play", file, "--provider", "scripted", "--out", fresh.out, **WORDS_ALONE)
    fresh.lines("export", "last", "--out", fresh.out / "dusk.json")
    assert "(chapter 1, prompt " in (fresh.out / "dusk.json").read_text("utf-8")


def test_a_script_that_is_begun_anew_takes_the_place_of_an_attempt_that_did_not_end(fresh: Machine) -> None:
    fresh.out.mkdir()
    played(fresh, script(fresh, "a.toml", "Dawn", "The Lamp"))
    dusk = script(fresh, "b.toml", "Dusk", "The Lamp")
    failing = scripted(fresh.write("replies.toml", EXHAUSTED))
    assert fresh.call("play", dusk, "--out", fresh.out, **failing).returncode != 0
    assert [line[:7] for line in fresh.lines("book", "show", "the lamp")[1:]] == ["1. Dawn", "2. Dusk"]
    fresh.lines("play", dusk, "--new", "--provider", "scripted", "--out", fresh.out)
    assert len(fresh.lines("sessions")) == 3
    shown = fresh.lines("book", "show", "the lamp")[1:]
    assert [line.split(" (")[0] for line in shown] == ["1. Dawn", "2. Dusk"]
    assert "ended" in shown[1]
    # One that was archived before its end hands nothing on, and stays behind the next chapter.
    session = shown[1].split()[-1]
    late = script(fresh, "c.toml", "Night", "The Lamp")
    fresh.call("play", late, "--out", fresh.out, **failing)
    [night] = [line.split("\t")[0] for line in fresh.lines("sessions") if "Night" in line]
    fresh.lines("archive", night)
    played(fresh, late)
    shown = fresh.lines("book", "show", "the lamp")[1:]
    assert [line.split(" (")[0] for line in shown] == ["1. Dawn", "2. Dusk", "3. Night", "4. Night"]
    assert session in shown[1]
    assert "archived" in shown[3]


def test_the_next_chapter_of_a_chapter_without_a_book_begins_one(fresh: Machine) -> None:
    fresh.out.mkdir()
    played(fresh, script(fresh, "a.toml", "Dawn"))
    said = fresh.lines("next", "last")
    assert said[0].startswith("Began chapter 2 of “Dawn”: ")
    assert any(", known to Kara, Joss: " in line for line in said)
    assert len(fresh.lines("sessions")) == 2
    [first] = [line.split("\t")[0] for line in fresh.lines("sessions") if "Dawn" in line]
    again = fresh.call("next", first)
    assert again.returncode == 8
    assert "“Dawn” goes on with chapter 2 already" in " ".join(again.stderr.split())
    assert fresh.lines("next", first, "--again")[0].startswith("Began chapter 2 of “Dawn”")


def test_a_book_is_made_changed_and_deleted(fresh: Machine) -> None:
    fresh.out.mkdir()
    played(fresh, script(fresh, "a.toml", "Dawn"))
    fresh.lines("book", "new", "The Lamp", "--author", "N. N.")
    assert "is chapter 1 of “The Lamp”." in fresh.lines("book", "add", "the lamp", "last")[0]
    fresh.lines("book", "new", "The Stair")
    assert fresh.lines("book", "add", "the stair", "last")[1] == "It is no longer in “The Lamp”."
    assert len(fresh.lines("book", "add", "the stair", "last")) == 1
    fresh.lines("book", "add", "the lamp", "last")
    fresh.lines("book", "edit", "The Lamp", "--title", "The Light")
    assert fresh.lines("book", "show", "the light")[:2] == ["The Light", "N. N."]
    fresh.lines("book", "remove", "the light", "last")
    assert fresh.lines("book", "show", "the light")[-1] == "It has no chapter yet."
    fresh.lines("book", "archive", "the light")
    asked = fresh.call("book", "purge", "the light")
    assert asked.returncode == 8
    fresh.lines("book", "purge", "the light", "--yes")
    assert fresh.lines("book", "list", "--archived") == []
    assert len(fresh.lines("sessions")) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("next", "last"), "end “Dawn” first"),
        (("book", "show", "Nothing"), "there is no book called “Nothing”"),
        (("book", "new", "  "), "A book has a title"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    fresh: Machine, arguments: tuple[str, ...], said: str
) -> None:
    empty = fresh.write("empty.toml", chapter_script("Dawn", 0))
    fresh.call("play", empty, "--provider", "scripted", "--out", fresh.out)
    done = fresh.call(*arguments)
    assert done.returncode == 8
    assert said in " ".join(done.stderr.split())
