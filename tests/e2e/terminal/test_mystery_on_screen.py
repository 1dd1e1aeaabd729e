"""A mystery of seven characters at a real terminal: what each one may know is all that each one is sent.

The program is used by its keys alone. Every text that not everyone may know carries a mark of its own, and
those marks are looked for in what the commands then say each character is given and has witnessed.
"""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.program import Machine, warm_machine
from tests.e2e.terminal.game_master import START, GameMaster
from tests.terminal import Size

pytestmark = pytest.mark.chapter

PATIENCE = 240.0
"""Seconds for one answer on a busy machine."""
TITLE = "The Theft at the Royal"
AUGUSTA, FLORIAN, BEA, TOBIAS, PIP, ODILE, EDMUND = (
    "Augusta Harker",
    "Florian Vane",
    "Bea Lisle",
    "Tobias Crake",
    "Pip Marlow",
    "Odile Quint",
    "Edmund Sloane",
)
CAST = (AUGUSTA, FLORIAN, BEA, TOBIAS, PIP, ODILE, EDMUND)
SHARED = "SHARED-0 we hid the rope in the kettle."
PAWNED = "The pearls in the cash box were glass."
"""A secret of the example's; Bea and Tobias share it too."""
SAID = (
    ("OTHER-5", "Green."),
    ("PAIR-5", "COLD-5 ask the glue.", "WARM-5 we tell her tonight."),
    ("GONE-4", "Eleven."),
    ("WHISPER-3", "HIDDEN-3 behind the prompt book."),
    ("POLICE-3", "BASKET-3 into the basket with them."),
    ("ROOM-2", "CLEVER-2 one never steals.", "PLAIN-2 I was upstairs."),
    ("ROOM-1", "Nobody."),
)
"""What is answered to each prompt, the last one to every further take; an input has earlier prompts too."""
REPLIES = "".join(
    f'[[reply]]\nmatch = {{ schema = "text", last = "{prompt}" }}\ntext = "{take}"\n'
    + ("" if take == takes[-1] else "times = 1\n")
    for prompt, *takes in SAID
    for take in takes
)
ALT_D = "\x1bd"
MARK = re.compile("[A-Z]{4,}-[0-9]")
ALL = {"ROOM-1", "ROOM-2", "PLAIN-2"}
"""What everyone has heard before Florian leaves the stage."""
SIX = {*ALL, "GONE-4"}
PAIR = {*SIX, "PAIR-5", "WARM-5"}
WITNESSED = {
    AUGUSTA: SIX,
    FLORIAN: ALL,
    BEA: PAIR,
    TOBIAS: PAIR,
    PIP: SIX,
    ODILE: SIX,
    EDMUND: {*SIX, "WHISPER-3", "HIDDEN-3"},
}
KNOWING = {BEA, TOBIAS}
"""Those who share the secrets."""


@pytest.fixture
def home() -> Iterator[Machine]:
    with warm_machine() as (made, _):
        made.write("replies.toml", REPLIES)
        yield made


def marks(text: str) -> set[str]:
    """Return the marks that are in a text."""
    return set(MARK.findall(text))


class Stage(GameMaster):
    """The window, with what this evening does again and again."""

    def hear(self, *keys: str) -> None:
        """Choose who hears by these keys, sent at once as a slow line brings them."""
        self.press("ctrl+l")
        self.wait_for("Who hears what you write")
        self.press(*keys)
        self.wait_while("Who hears what you write")

    def play(self, text: str, reply: str) -> None:
        """Send a prompt from the panel that shows, and have the reply that begins so."""
        self.prompt(text)
        self.wait_for(reply)
        self.wait_while("is writing")

    def reroll(self, wanted: str) -> None:
        """Re-roll the newest reply, and wait until the take is stored."""
        self.wait_while("is writing")
        self.press("f9")
        self.wait_for(wanted)
        self.wait_for("Take 2 of 2")


@pytest.mark.parametrize("size", [Size(80, 24), Size(120, 40)], ids=["80x24", "120x40"])
def test_seven_play_a_mystery_and_none_is_sent_what_it_must_not_know(home: Machine, size: Size) -> None:
    environment = {
        "STORYENGINE_PROVIDER": "scripted",
        "STORYENGINE_SCRIPT": str(home.work / "replies.toml"),
    }
    with Stage(home, environment, size=size, patience=PATIENCE) as window:
        begin(window)
        play(window)
        branch(window)
        window.leave()
    first, other = ids(home)
    for name in CAST:
        witnessed = WITNESSED[name]
        assert_knows(home, first, name, witnessed)
        assert_knows(home, other, name, branched(name))


def begin(window: Stage) -> None:
    """Open the example, add the secret that two share, and lock."""
    window.wait_for(f"Open an example: {TITLE}", START)
    window.press("down", "down", "down", "enter")
    window.wait_for(f"being set up · {TITLE}")
    window.command("Add a secret")
    window.wait_for("New secret")
    window.type(SHARED)
    window.press("tab", "3", "4", "tab")
    window.wait_for("[x] 4 Tobias Crake")
    window.press("escape")
    window.wait_while("New secret")
    window.press("f3")
    window.wait_for("Lock and play")
    window.press("pagedown", "pagedown")
    window.wait_for(f"“{SHARED}” – {BEA}, {TOBIAS.split()[0]}")  # the rest is on the next line
    window.press("tab", "enter")
    window.wait_for("being played")
    window.wait_for("━ To 1 ")


def play(window: Stage) -> None:
    """Play what the marks name: two replies are re-rolled, one prompt is undone."""
    window.play("ROOM-1 what is missing?", "Nobody.")
    window.wait_for("━ To 2 ")
    window.play("ROOM-2 where were you?", "CLEVER-2")
    window.reroll(f"{FLORIAN}: PLAIN-2")
    window.wait_for(f"━ To 3 {BEA} ━")  # nothing is said of hearers before there is anything to say
    window.hear("down", " ", "n")  # Florian leaves
    window.wait_for(f"━ To 3 {BEA} · all but {FLORIAN} ━")
    window.play("POLICE-3 a whistle in the alley.", "BASKET-3")
    assert "⟩ 3) POLICE-3" in flowing(window)
    window.press("ctrl+o")
    window.wait_for("prompt 3 undone")
    window.wait_for("┃ POLICE-3 a whistle in the alley. ")

    window.pick(7)
    window.type("WHISPER-3 where do you put them?")
    window.hear("w")
    window.wait_for(f"━ To 7 {EDMUND} · whisper ━")
    window.press("enter")
    window.wait_for(f"⟨{EDMUND}⟩ 3) WHISPER-3")
    window.wait_for(f"⟨{EDMUND}⟩ {EDMUND}: HIDDEN-3")

    window.press(ALT_D)
    window.wait_for(f"[x] 7 {EDMUND}")
    assert f"[ ] 2 {FLORIAN}" in window.text
    assert window.text.count("[x]") == 6
    window.type("2d6+1")
    window.press("enter")
    window.wait_for("[Roll 2d6+1: ")
    window.pick(5)
    window.wait_for(f"━ To 5 {PIP} · all but {FLORIAN} ━")
    window.play("GONE-4 a door bangs upstairs.", "Eleven.")

    window.pick(4)
    window.type("PAIR-5 she says it was for the rent.")
    window.hear(" ", *["down"] * 4, " ", "down", " ", "down", " ", "p")  # all but Bea leave the list
    window.wait_for(f"━ To 4 {TOBIAS} · {BEA}, {TOBIAS} ━")
    window.press("enter")
    window.wait_for(f"⟨{BEA}, {TOBIAS}⟩ {TOBIAS}: COLD-5")
    window.wait_for("━ To 5 ")
    window.reroll(f"⟨{BEA}, {TOBIAS}⟩ {TOBIAS}: WARM-5")


def branch(window: Stage) -> None:
    """Branch before the two were alone, and play on there."""
    window.command("Branch")
    window.wait_for("Branch the chapter")
    window.press("backspace", "4")
    window.wait_for("│4 ")
    window.press("enter")
    window.wait_for("at prompt 4)")
    window.wait_while("PAIR-5")
    window.wait_for("GONE-4")
    window.pick(6)
    window.wait_for(f"━ To 6 {ODILE} · all but {FLORIAN} ━")
    window.play("OTHER-5 whose thread is it?", "Green.")


def branched(name: str) -> set[str]:
    """Return what a character has witnessed in the branch."""
    return WITNESSED[name] - {"PAIR-5", "WARM-5"} | (set() if name == FLORIAN else {"OTHER-5"})


def flowing(window: Stage) -> str:
    """Return what shows as running text, without the borders that it is broken at."""
    return re.sub(r"[\s│▀-▟]+", " ", window.text)


def ids(home: Machine) -> tuple[str, str]:
    """Return the chapter and its branch."""
    cells = [line.split("\t") for line in home.lines("sessions")]
    first = next(session for session, title, *_ in cells if title == TITLE)
    other = next(session for session, title, *_ in cells if title != TITLE)
    return first, other


def assert_knows(home: Machine, session: str, name: str, witnessed: set[str]) -> None:
    """What a character has witnessed, and what it would be sent, is exactly what it may know."""
    transcript = "\n".join(home.lines("export", session, "--format", "transcript", "--as", name))
    assert marks(transcript) == witnessed, name
    sent = " ".join("\n".join(home.lines("context", session, "--as", name)).split())
    assert marks(sent) == witnessed | ({"SHARED-0"} if name in KNOWING else set()), name
    assert (PAWNED in sent) == (name in KNOWING), name
    assert ("[Roll 2d6+1: " in sent) == ("[Roll 2d6+1: " in transcript) == (name != FLORIAN), name
