"""A whole chapter at the terminal: the real program, its own database, and the local model.

`make e2e` plays it. What the GM downloads is compared with what the database holds, and both with what
was typed and seen.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.text.prose import word_count
from tests.e2e.program import Machine, machine
from tests.e2e.terminal.game_master import (
    Character,
    GameMaster,
    Setting,
    local_model_of,
    wait_until_asked,
)
from tests.terminal import Size

pytestmark = pytest.mark.chapter

PATIENCE = 240.0
"""Seconds for one answer: a busy machine may be twenty times slower than a quiet one."""

LINES = pytest.mark.skipif(
    "STORYENGINE_LINES" not in os.environ,
    reason="every terminal and a slow line: `make e2e-lines`, ten minutes",
)

SETTING = Setting(
    world="A lighthouse in the North Sea, 1890. Nothing is supernatural.",
    chapter="The lamp at Rime\n\nA storm. The lamp has gone out, and a ship is near.",
    cast=(
        Character("Mira", "You keep the light. You are brave."),
        Character("Jonas", "You row the boat. You fear the sea."),
        Character("Ada", "You are a doctor, shipwrecked here."),
    ),
)
DEFINITION = "Past tense, short sentences."
PLAYED = [
    (1, "The lamp goes out."),
    (2, "A wave breaks the window."),
    (1, "You hear a cry from below."),
    (2, "The boat is loose."),
    (3, "A man lies on the stairs."),
    (1, "The oil is gone."),
    (2, "The ship fires a gun."),
    (3, "The man opens his eyes."),
]
"""Slot and text of every prompt; the third goes to Mira out of turn."""


@contextmanager
def frozen(process: int) -> Iterator[None]:
    """Have a process stand still, so that what is done meanwhile is done in the middle of its work."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


class Evening:
    """The GM's evening, prompt by prompt."""

    def __init__(self, window: GameMaster) -> None:
        self._window = window
        self._number = 0

    def play(self, *, picks: bool = False) -> None:
        """Send the next prompt to the character whose turn it is, or to one that is picked."""
        slot, text = PLAYED[self._number]
        if picks:
            self._window.pick(slot)
        self._window.wait_for(f"━ To {slot} ")
        self._window.prompt(text)
        self._hear()

    def play_and_cancel(self) -> None:
        """Send the next prompt, think better of it while the model is at work, and send it again."""
        with frozen(local_model_of(self._window)):
            self._send("is writing")
            self._window.press("escape")
            self._window.wait_for(" was stopped.")
        self._find_text_again()
        self._window.press("enter")
        self._hear()

    def play_and_fail(self) -> None:
        """Send the next prompt to a model that is killed at its work, and try again as the banner says."""
        model = local_model_of(self._window)
        os.kill(model, signal.SIGSTOP)
        self._send("is writing")
        wait_until_asked(self._window, model)  # Killed before, it would be started again, and answer.
        os.kill(model, signal.SIGKILL)
        self._window.wait_for("did not answer")
        self._window.wait_for("Retry (Ctrl+R)")
        self._find_text_again()
        self._window.press("ctrl+r")
        self._hear()
        assert local_model_of(self._window) != model

    def _send(self, until: str) -> None:
        slot, text = PLAYED[self._number]
        self._window.wait_for(f"━ To {slot} ")
        self._window.prompt(text)
        self._window.wait_for(until)

    def _find_text_again(self) -> None:
        """The text is in its panel, its prompt number is not used up."""
        slot, text = PLAYED[self._number]
        self._window.wait_for(f"━ To {slot} ")
        self._window.wait_for(f"┃ {text} ")
        self._window.wait_while(f"{self._number + 1}) {text}")

    def _hear(self) -> None:
        slot, text = PLAYED[self._number]
        self._number += 1
        self._window.wait_for(f"{self._number}) {text}")
        self._window.wait_for_reply(self._number, SETTING.cast[slot - 1].name)


@pytest.fixture
def home() -> Iterator[Machine]:
    with machine() as made:
        yield made


@pytest.mark.parametrize(
    ("term", "bytes_per_second"),
    [
        ("xterm-256color", None),
        pytest.param("xterm", None, marks=LINES),
        pytest.param("screen", None, marks=LINES),
        pytest.param("tmux-256color", None, marks=LINES),
        pytest.param("xterm-256color", 960, marks=LINES),
    ],
)
def test_a_gm_writes_a_chapter_from_an_empty_world_to_a_file(
    home: Machine, term: str, bytes_per_second: int | None
) -> None:
    window = GameMaster(
        home,
        {"STORYENGINE_PROVIDER": "local"},
        size=Size(100, 30),
        term=term,
        bytes_per_second=bytes_per_second,
        patience=PATIENCE,
    )
    with window:
        window.begin_empty()
        window.set_up(SETTING)
        window.lock()
        evening = Evening(window)
        evening.play()
        evening.play_and_cancel()
        evening.play(picks=True)
        evening.play_and_fail()
        for _ in PLAYED[4:]:
            evening.play()
        window.end_chapter()
        window.type(DEFINITION)
        window.press("tab")
        window.type("150")
        window.wait_for(f"{len(DEFINITION)}/5,000")
        window.press("f8")
        window.wait_for("Draft 1 is stored")
        window.press("f9")
        window.wait_for("Draft 1 is in")
        downloaded = downloads(home)
        shown_words = window.text
        window.leave()

    stored = exported(home)
    assert stored["session"]["state"] == "ENDED"
    assert_setting_is_stored(stored)
    assert_prompts_are_stored(stored)
    assert [(one["first"], one["last"]) for one in stored["blocks"]] == [(0, 0), (1, 7), (8, 8)]
    [draft] = stored["drafts"]
    assert [path.read_text("utf-8") for path in downloaded] == [draft["text"].rstrip() + "\n"]
    assert f"{word_count(draft['text']):,} words of about 150" in shown_words
    assert draft["definition"] == DEFINITION
    transcript = home.lines("export", stored["session"]["id"], "--format", "transcript")
    prompts = [f"{number}) {text}" for number, (_, text) in enumerate(PLAYED, 1)]
    assert [line for line in transcript if line in prompts] == prompts


def downloads(home: Machine) -> list[Path]:
    """Return what lies in the user's downloads folder."""
    return sorted((home.root / "home" / "Downloads").iterdir())


def exported(home: Machine) -> dict[str, Any]:
    """Return everything that the database holds of the one session."""
    [line] = home.lines("sessions")
    document = json.loads("\n".join(home.lines("export", line.split("\t")[0])))
    body: dict[str, Any] = document["body"]
    return body


def assert_setting_is_stored(stored: dict[str, Any]) -> None:
    assert stored["tab1"]["world"] == SETTING.world
    assert stored["tab1"]["chapter"] == SETTING.chapter
    assert [*stored["session"]["names"].values()] == [character.name for character in SETTING.cast]
    assert [*stored["tab1"]["identities"].values()] == [character.identity for character in SETTING.cast]


def assert_prompts_are_stored(stored: dict[str, Any]) -> None:
    """Every prompt once, in order, each with one reply of the character that it went to; two had trouble."""
    asked = [event for event in stored["events"] if event["ordinal"] == 0]
    replies = [event for event in stored["events"] if event["ordinal"] == 1]
    assert [event["text"] for event in asked] == [text for _, text in PLAYED]
    assert [event["slot"] for event in replies] == [slot for slot, _ in PLAYED]
    assert all(event["text"].strip() for event in replies)
    assert len(stored["events"]) == 2 * len(PLAYED)
    requests = [request for request in stored["requests"] if request["kind"] == "reply"]
    failed = [one for one in stored["artifacts"] if one["error_code"]]
    assert {request["state"] for request in requests} <= {"done", "cancelled", "failed"}
    assert {one["error_code"] for one in failed} == {"LLM_CANCELLED", "LLM_SERVER_ERROR"}
