"""An evening at a real terminal with two accounts: a ceiling that is reached, a pause over a restart, an
afterthought that is struck.

One account is a service on this machine that is told what to answer, the other is the bundled model.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from tests.e2e.program import Machine, machine
from tests.e2e.terminal.game_master import START, Character, GameMaster, Setting
from tests.http_faults import FaultServer, Reply, error_reply, text_reply
from tests.terminal import Size

pytestmark = pytest.mark.chapter

PATIENCE = 120.0
"""Seconds for one answer of the bundled model on a busy machine."""
SETTING = Setting(
    world="A lighthouse in the North Sea, 1890.",
    chapter="The lamp at Rime\n\nA storm. The lamp has gone out.",
    cast=(
        Character("Mira", "You keep the light. You are brave."),
        Character("Jonas", "You row the boat. You fear the sea."),
    ),
)
SPEAKS = json.dumps({"reason": "It is proud of the lamp.", "speaks": True})
IS_SILENT = json.dumps({"reason": "Nothing is left to say.", "speaks": False})
PAUSED = "The queue is paused"


class Service:
    """The fault server in a thread of its own, for a program in another process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.server = FaultServer()

    def _run(self, work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        self._run(self.server.__aenter__())
        try:
            yield
        finally:
            self._run(self.server.__aexit__(None, None, None))
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(30)

    def answer(self, *replies: Reply) -> None:
        """Queue replies for the next calls."""

        async def script() -> None:
            self.server.script(*replies)

        self._run(script())


class EngineRoom(GameMaster):
    """The window, with what this evening does again and again."""

    def switch_queue(self, before: str, after: str) -> None:
        """Pause the queue or let it go on; `before` and `after` are what its key offers."""
        self.press("f7")
        self.wait_for("1 Queue")
        self.press("1")
        self.wait_for(before)
        self.press("p")
        self.wait_for(after)
        self.press("escape")
        self.wait_while("1 Queue")


@pytest.fixture
def home() -> Iterator[Machine]:
    with machine() as made:
        yield made


@pytest.mark.parametrize("size", [Size(80, 24), Size(120, 40)], ids=["80x24", "120x40"])
def test_two_accounts_a_ceiling_a_pause_over_a_restart_and_an_afterthought(home: Machine, size: Size) -> None:
    service = Service()
    with service.running():
        environment = {
            "STORYENGINE_ACCOUNTS__WORK__BASE_URL": service.server.base_url,
            "STORYENGINE_ACCOUNTS__WORK__CONCURRENCY": "1",
            "STORYENGINE_ACCOUNTS__WORK__API_KEY": "sk-canary-room",
            "STORYENGINE_PROFILES__LOCAL__CHARACTERS__1__MODEL": "work:dear",
            "STORYENGINE_PRICES": json.dumps({"work:dear": {"input": "100", "output": "100"}}),
            "STORYENGINE_CEILINGS__CHAPTER": "0.80",
            "STORYENGINE_CONSENT": json.dumps([service.server.base_url]),
        }
        with EngineRoom(home, environment, size=size, patience=PATIENCE) as window:
            begin(window)
            reach_the_ceiling(window, service)
            strike_what_is_added(window, service)
            pause(window)
        with EngineRoom(home, environment, size=size, patience=PATIENCE) as again:
            go_on(again, service)
    ledger = json.loads(home.call("cost", "--by", "character", "--json").stdout)
    assert Decimal(ledger["total"]["amount"]) > 0
    assert ledger["total"]["unknown"] == 1, (
        "what the call costs that failed with 500, the service has not said"
    )
    [session] = [line.split("\t")[0] for line in home.lines("sessions")]
    transcript = "\n".join(home.lines("export", session, "--format", "transcript"))
    assert "I trimmed the wick myself." not in transcript, "it was struck"
    assert transcript.count("Mira: ") == 2
    assert transcript.count("Jonas: ") == 1


def begin(window: EngineRoom) -> None:
    """Make the chapter; the bundled model locks it."""
    window.begin_empty()
    window.set_up(SETTING)
    window.lock(START + PATIENCE)


def reach_the_ceiling(window: EngineRoom, service: Service) -> None:
    """The call that could pass the ceiling is not made before the GM agrees; the service fails once."""
    service.answer(error_reply(500, "busy"), text_reply("I hold ", "the lamp up."))
    window.prompt("The lamp goes out.")
    window.wait_for("Go on beyond your ceiling?")
    assert not service.server.requests, "nothing is sent before the GM agrees"
    window.press("tab", "enter")
    window.wait_while("Go on beyond your ceiling?")
    window.wait_for("The service said: “busy”")
    window.press("ctrl+r")
    window.wait_for("Mira: I hold the lamp up.")
    window.wait_for("$0.0")
    window.wait_for("━ To 2 Jonas ")
    window.prompt("The boat is loose.")
    window.wait_for_reply(2, "Jonas", PATIENCE)


def strike_what_is_added(window: EngineRoom, service: Service) -> None:
    """Mira may add something, does after ten seconds, and the GM strikes it."""
    service.answer(
        text_reply("It burns again."),
        text_reply(SPEAKS),
        text_reply("I trimmed the wick myself."),
        text_reply(IS_SILENT),
    )
    window.command("Let characters add something")
    window.wait_for("Who may add something unasked")
    window.press("a", "o")
    window.wait_while("Who may add something unasked")
    window.pick(1)
    window.prompt("And the lamp?")
    window.wait_for("Mira: It burns again.")
    window.wait_for("I trimmed the wick myself.", 60)
    window.command("Strike what was added")
    window.wait_while("Strike what was added")  # the palette hides the transcript, and takes the next Ctrl+P
    window.wait_while("I trimmed the wick myself.")
    window.command("Let characters add something")
    window.wait_for("Who may add something unasked")
    window.press("f")
    window.wait_while("Who may add something unasked")


def pause(window: EngineRoom) -> None:
    """Pause the queue, send a prompt that waits, and quit."""
    window.switch_queue("p Pause", "p Resume")
    window.wait_for(PAUSED)
    window.pick(1)
    window.prompt("Does the ship see it?")
    window.wait_for("1 prompt waits")
    window.press("ctrl+q")
    if "Quit" in window.text:
        window.press("tab", "enter")
    assert window.wait_for_end() == 0, window.text
    assert not window.errors


def go_on(window: EngineRoom, service: Service) -> None:
    """The pause is still there; what waited is back in its panel."""
    window.wait_for(PAUSED, START)
    window.wait_for("Does the ship see it?")
    asked = len(service.server.requests)
    window.switch_queue("p Resume", "p Pause")
    window.wait_while(PAUSED)
    assert len(service.server.requests) == asked
    window.leave()
