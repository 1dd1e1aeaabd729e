"""An evening with a memory bank at a real terminal: drawn, confirmed, recalled, and there after kill -9."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.e2e.program import Machine, warm_machine
from tests.e2e.terminal.game_master import Character, GameMaster, Setting

pytestmark = pytest.mark.chapter

SAID = "I hid the brass key under the mill."
REPLIES = f"""
[[reply]]
match = {{ schema = "text" }}
text = "{SAID}"

[[reply]]
match = {{ schema = "bank_scan" }}
[reply.payload]
events = []
people = []
places = []
threads = []
quotes = []
traits = []
states = []
[[reply.payload.facts]]
prompt = 1
words = "the brass key under the mill"
name = "The brass key"
text = "It lies under the mill."
importance = 4
"""
CAST = ("Mira", "Jonas", "Pell")
SETTING = Setting(
    world="A valley with a mill.",
    chapter="The miller is gone.",
    cast=tuple(Character(name, f"You are {name}.") for name in CAST),
)
PAGES = 12
"""Pages of a call that are looked through."""
CHUNK = 7
"""Prompts of a block of memory, which is then read for the bank."""


@pytest.fixture
def home() -> Iterator[Machine]:
    with warm_machine() as (made, _):
        made.write("replies.toml", REPLIES)
        yield made


def facts(window: GameMaster) -> None:
    """Show the list of facts on tab 3."""
    window.press("f4")
    window.wait_for("How to write it")
    window.command("Facts")
    window.wait_for("It lies under the mill.")


def show_newest_call(window: GameMaster) -> None:
    """Show in F7 what the newest reply was given, and why of the memory bank."""
    window.press("f7")
    window.wait_for("Enter shows a call")
    window.press("2")
    window.wait_for(" s ok")
    window.press("enter")
    window.wait_for("y Copy all")
    for _ in range(PAGES):
        if "“The brass key”: Rank 1" in window.text:
            return
        before = window.text
        window.press("pagedown")
        with suppress(AssertionError):
            window.wait_while(before, 1.0)
    raise AssertionError(f"nothing says what was recalled\n{window.text}")


def test_an_item_is_drawn_confirmed_recalled_and_still_there_after_a_kill(home: Machine) -> None:
    environment = {
        "STORYENGINE_PROVIDER": "scripted",
        "STORYENGINE_SCRIPT": str(home.work / "replies.toml"),
        "STORYENGINE_PROFILES__LOCAL__RECENT_CONTEXT": "exact",
    }
    with GameMaster(home, environment) as window:
        window.begin_empty()
        window.set_up(SETTING)
        window.lock()
        window.command("Keep a memory bank")
        window.wait_for("keeps a memory bank")
        for number in range(1, CHUNK + 1):
            window.prompt(f"What do you say, number {number}?")
            window.wait_for_reply(number, CAST[(number - 1) % len(CAST)])
        window.wait_while("summary")
        facts(window)
        window.wait_for("new")
        window.press("c")
        window.wait_for("Confirmed: 1 item")
        window.press("f3")
        window.wait_for("━ To ")
        # A reply has the last seven prompts as they were; what is before them is recalled.
        for number, text in ((CHUNK + 1, "And then?"), (CHUNK + 2, "Where is the brass key?")):
            window.prompt(text)
            window.wait_for_reply(number, CAST[(number - 1) % len(CAST)])
        show_newest_call(window)
        window.kill()
    with GameMaster(home, environment) as window:
        window.wait_for("being played")
        facts(window)
        window.wait_for("✓")
        window.leave()
