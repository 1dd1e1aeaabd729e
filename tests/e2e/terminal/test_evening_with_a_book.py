"""An evening with a book at a real terminal: cards in, a cast of three, a chapter, the next one, a card out.

The program is used by its keys and by what a terminal pastes; files are compared byte for byte.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.library.cards.card_file import read_card
from tests.core.library.cards.card_samples import V2, V3, image_data, packed, picture, t_ext, text_of
from tests.e2e.program import Machine, warm_machine
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import Size

pytestmark = pytest.mark.slow

CAST = ("Kara", "Joss", "Ines")
LATER = "She has seen the sail."
"""What the GM adds to a character after the chapter."""
FIELDS = 9
"""How often Tab is pressed in the world to come to what earlier chapters hand on."""


@pytest.fixture
def home() -> Iterator[Machine]:
    with warm_machine() as (made, _):
        made.write("replies.toml", "")
        yield made


def named(card: dict[str, object], name: str) -> dict[str, object]:
    """Return the same card of somebody else."""
    data = card["data"]
    assert isinstance(data, dict)
    return {**card, "data": {**data, "name": name, "nickname": "", "description": f"{name} of Rime."}}


def cards(home: Machine) -> Path:
    """Write three cards, each in a container of its own kind, into a folder with a blank in its name."""
    folder = home.work / "my cards"
    folder.mkdir()
    both = t_ext("chara", packed(named(V2, "Kara"))), t_ext("ccv3", packed(named(V3, "Kara")))
    (folder / "kara.png").write_bytes(picture(*both))
    (folder / "joss.json").write_bytes(text_of(named(V2, "Joss")))
    (folder / "ines.json").write_bytes(b"\xef\xbb\xbf" + text_of(named(V3, "Ines")))
    return folder


SIZES = [Size(80, 24), pytest.param(Size(120, 40), marks=pytest.mark.chapter)]
"""The larger one is for `make e2e`."""


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_cards_become_a_cast_that_plays_two_chapters_and_come_out_again(home: Machine, size: Size) -> None:
    folder = cards(home)
    script = {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(home.work / "replies.toml")}
    with GameMaster(home, script, size=size) as window:
        window.wait_for("Welcome to Story Engine")
        window.press("escape")
        window.wait_while("Welcome to Story Engine")
        bring_cards(window, folder)
        build_cast(window)
        play(window)
        pinned = begin_next(window)
        take_cards_out(window)
        window.leave()
    assert_next_has(home, pinned)
    assert_cards(folder, home.work)


def bring_cards(window: GameMaster, folder: Path) -> None:
    """Drop a card on the library, and import the folder that it is in."""
    window.press("f5")
    window.wait_for("Your chapters")
    window.paste(str(folder / "kara.png").replace(" ", "\\ "))
    window.wait_for("Take “Kara” into your cast?")
    window.wait_for("Scenario → the chapter.")
    window.press("right", "enter")
    window.wait_for("“Kara” was imported")
    window.press("i")
    window.wait_for("Import a file, or a folder")
    window.type(str(folder))
    window.press("enter")
    window.wait_for("Import 3 files?")
    window.press("right", "enter")
    window.wait_for("2 imported; 1 known already")
    for name in CAST:
        window.wait_for(f"{name} of Rime.")
    window.press("escape")
    window.wait_for("World")


def build_cast(window: GameMaster) -> None:
    """Write world and chapter, and take the three into their places by their names."""
    window.type("A sea of glass.")
    window.press("tab")
    window.paste("The lamp is out.")
    for number, name in enumerate(CAST, 1):
        if number > 1:
            window.press("ctrl+n")
            window.wait_for(f"┃ {number} Name ")
        window.command("Take a character from the library")
        window.wait_for("Take a character from the library as")
        # At once, as a fast hand does.
        window.type(f"{name.lower()}\r")
        window.wait_for(f"What else the card of {name} has")
        window.press("escape")
        window.wait_while(f"What else the card of {name} has")
        window.wait_for(f"[{number} {name}")
        window.wait_for(f"{name} of Rime.")


def play(window: GameMaster) -> None:
    window.lock()
    window.prompt("What do you see?")
    window.wait_for_reply(1, "Kara")
    window.wait_for("━ To 2 ")
    window.prompt("And you, Joss?")
    window.wait_for_reply(2, "Joss")
    window.end_chapter()


def begin_next(window: GameMaster) -> str:
    """Begin the next chapter, pin the first line that it takes over, and return that line."""
    window.command("Next chapter")
    window.wait_for("being set up")
    window.wait_for("[1 Kara")
    window.press(*["tab"] * FIELDS)
    window.wait_for("p Pin")
    window.wait_for("From earlier chapters")
    window.wait_for("known to everyone")
    window.press("p")
    window.wait_for("pinned · ")
    lines = [line.strip(" │┃▏▕") for line in window.text.split("\n")]
    [at] = [at for at, line in enumerate(lines) if line.startswith("pinned · ")]
    return lines[at - 1]


def take_cards_out(window: GameMaster) -> None:
    """Change one character in the library, and write two cards."""
    window.press("f5")
    window.wait_for("Your books, each with its chapters")
    window.press("3")
    window.wait_for("[3 Cast 3]")
    export(window, "out.json")
    window.press("down", "down", "enter")
    window.wait_for("Who Kara is")
    window.type(f" {LATER}")
    window.wait_for(LATER)
    window.click(*window.find("Save"))
    window.wait_while("Who Kara is")
    export(window, "out.png")
    window.press("escape")
    window.wait_for("being set up")


def export(window: GameMaster, name: str) -> None:
    window.press("x")
    window.wait_for("Export to a file")
    window.type(name)
    window.press("enter")
    window.wait_for(f"Wrote {name}")


def assert_next_has(home: Machine, pinned: str) -> None:
    """Everyone is sent the pinned line in the next chapter, which is the second of its book."""
    [book] = [line.split("\t") for line in home.lines("book", "list")]
    assert book[2] == "2"
    session = home.lines("book", "show", book[0])[-1].split()[-1]
    for name in CAST:
        assert pinned in " ".join("\n".join(home.lines("context", session, "--as", name)).split())


def assert_cards(folder: Path, out: Path) -> None:
    """The one that was not changed is the file that came in; of the other only the new words are new."""
    assert (out / "out.json").read_bytes() == (folder / "ines.json").read_bytes()
    before, after = (folder / "kara.png").read_bytes(), (out / "out.png").read_bytes()
    assert image_data(after) == image_data(before)
    old, new = read_card(before, "a").card, read_card(after, "b").card
    assert new.twin is not None
    words = json.dumps(new.document.value, sort_keys=True)
    assert LATER in words
    assert words.replace(f" {LATER}", "") == json.dumps(old.document.value, sort_keys=True)
