"""`cast show` and `lore test` work on files: what they say, as a table, lines or JSON; text is data."""

import json
import re
from pathlib import Path

import pytest

from tests.bad_text import KINDS, acts
from tests.core.library.cards.card_samples import V2, V3, packed, picture, t_ext, text_of
from tests.e2e.program import PROGRAM, Machine
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import Size

BAD = " ".join(kind.text for kind in KINDS if "\x00" not in kind.middle)
BOOK = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["lamp"],
            "comment": "Lamp",
            "content": "By the harbour.",
            "order": 9,
        },
        "1": {"uid": 1, "key": ["harbour"], "comment": "Harbour", "content": "Deep."},
        "2": {"uid": 2, "key": ["/sh.p/i"], "comment": "Ship", "content": "x" * 700, "order": 1},
    }
}


def written(here: Machine, name: str, content: bytes) -> Path:
    file = here.work / name
    file.write_bytes(content)
    return file


@pytest.fixture
def book(here: Machine) -> Path:
    return written(here, "book.json", json.dumps(BOOK).encode())


@pytest.fixture
def text(here: Machine) -> Path:
    return here.write("text.txt", "The lamp is lit.\n\nA SHIP comes in.\n")


def test_a_card_is_shown_with_its_report(here: Machine) -> None:
    card = written(here, "kara.png", picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(V3))))
    shown = here.call("cast", "show", card)
    assert shown.returncode == 0
    assert "Kara" in shown.stdout
    assert "Version 3, PNG; tags: sea, night" in shown.stdout
    assert "Description (21 characters): A keeper of the lamp." in shown.stdout
    assert "Scenario → the chapter." in shown.stdout


def test_a_text_is_tried_and_every_entry_has_its_reason(here: Machine, book: Path, text: Path) -> None:
    tried = here.call("lore", "test", book, "--text", text, "--budget", "100")
    assert tried.returncode == 0
    assert tried.stdout.splitlines() == [
        "yes\tLamp\t“lamp” is in message 1.\t5",
        "no\tShip\tThe budget is used up.\t",
        "no\tHarbour\tNone of its keys is in the text.\t",
    ]


def test_the_same_as_json_for_scripts(here: Machine, book: Path, text: Path) -> None:
    tried = here.call("lore", "test", book, "--text", text, "--json")
    document = json.loads(tried.stdout)
    assert [(one["name"], one["active"], one["reason"]) for one in document["entries"]] == [
        ("Harbour", False, "not found"),
        ("Lamp", True, "key"),
        ("Ship", True, "key"),
    ]
    assert [one["uid"] for one in document["active"]] == ["2", "0"]
    assert document["active"][1]["text"] == "By the harbour."


def test_a_depth_scans_the_newest_paragraphs_alone(here: Machine, book: Path, text: Path) -> None:
    tried = here.call("lore", "test", book, "--text", text, "--depth", "1")
    assert "no\tLamp\t" in tried.stdout
    assert "yes\tShip\t" in tried.stdout


def test_the_book_of_a_card_knows_the_name_of_its_character(here: Machine, text: Path) -> None:
    entries = [{"keys": ["{{char}}"], "content": "", "enabled": True, "insertion_order": 1, "extensions": {}}]
    data = {**V2["data"], "character_book": {"entries": entries, "extensions": {}}}
    card = written(here, "kara.json", text_of({**V2, "data": data}))
    said = here.write("said.txt", "Here is Kara.")
    assert "“Kara” is in message 1." in here.call("lore", "test", card, "--text", said).stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("cast", "show", "none.png"), "none.png cannot be read (No such file or directory)."),
        (("cast", "show", "book.json"), "book.json holds a lorebook and no character card."),
        (("lore", "test", "text.txt", "--text", "text.txt"), "text.txt is not valid JSON"),
        (("lore", "test", "book.json", "--text", "none.txt"), "none.txt cannot be read"),
        (("cast", "show", "."), ". cannot be read (Is a directory)."),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(
    here: Machine, book: Path, text: Path, command: tuple[str, ...], sentence: str
) -> None:
    refused = here.call(*command)
    assert refused.returncode == 3
    assert sentence in refused.stderr
    assert not refused.stdout


def bad_files(here: Machine) -> tuple[Path, Path, Path]:
    """A card and a book in which every text is bad, and a text that activates the book."""
    data = {key: BAD if isinstance(value, str) else value for key, value in V2["data"].items()}
    data |= {"tags": [BAD], "alternate_greetings": [BAD, BAD], "first_mes": BAD}
    card = written(here, "card.json", json.dumps({**V2, "data": data}).encode())
    entry = {"key": ["lamp", BAD], "comment": BAD, "content": BAD, "group": BAD}
    other = {"key": ["/" + BAD.replace("/", "") + "/"], "comment": BAD, "content": BAD}
    third = {"uid": BAD, "key": ["it"], "comment": BAD, "constant": True}
    book = written(
        here, "bad.json", json.dumps({"name": BAD, "entries": {"0": entry, BAD: other, "2": third}}).encode()
    )
    return card, book, here.write("bad.txt", "lamp\n\n" + BAD.encode("utf-8", "replace").decode())


def test_no_escape_of_a_card_or_a_book_reaches_the_output(here: Machine) -> None:
    card, book, text = bad_files(here)
    for command in (
        ("cast", "show", card),
        ("lore", "show", book),
        ("lore", "test", book, "--text", text),
        ("lore", "test", book, "--text", text, "--json"),
    ):
        shown = here.call(*command)
        assert shown.returncode == 0, shown.stderr
        assert "[link=http://owned.example]x[/link] :smile:" in shown.stdout
        assert not acts(shown.stdout + shown.stderr)


def test_a_terminal_gets_a_table_and_only_the_program_s_own_colours(here: Machine) -> None:
    card, book, text = bad_files(here)
    for command, last in (
        (["cast", "show", str(card)], b"the identity."),
        (["lore", "test", str(book), "--text", str(text)], b" entries of "),
    ):
        with GameMaster(here, size=Size(200, 50), program=(PROGRAM, *command)) as window:
            window.wait_for(lambda last=last: last in window.received)  # type: ignore[misc]
            sent = bytes(window.received).decode("utf-8", "replace")
        # Headings of a table are bold; a terminal ends its lines with both characters.
        assert not acts(re.sub("\x1b\\[[01]?m", "", sent).replace("\r\n", "\n"))
