"""Silence, absences and hints on the command line: a chapter played from its script, without a screen."""

import json

import pytest

from tests.core.values.scripts import KARA_JOSS_INES
from tests.e2e.program import Machine

REASON = "REASON-9 she fears Kara"
ESCAPES = "\\u001b[31m\\u001b]0;owned\\u0007"
REPLIES = f"""
[[reply]]
match.schema = "text"
match.last = "BACK-3"
text = "I am here."
[[reply]]
match.schema = "text"
match.last = "ACT-2"
text = "[action] {ESCAPES}turns the lamp down"
[[reply]]
match.schema = "text"
match.last = "SILENT-1"
text = "[silent]\\n[why] {ESCAPES}{REASON}"
"""
SCRIPT = f"""
title = "The Quiet Chapter"
world = "A house by the sea."
chapter = "The will is gone."
silence = ["Kara", "Ines"]
{KARA_JOSS_INES}[[prompt]]
text = "SILENT-1 who was here?"
away = {{"Joss" = 3}}
[[prompt]]
text = "ACT-2 and you?"
[[prompt]]
to = "Joss"
text = "BACK-3 you come in."
"""


@pytest.fixture(scope="module")
def quiet(served: tuple[Machine, str]) -> Machine:
    """A machine on which the chapter was played."""
    here = served[0]
    replies = here.write("quiet-replies.toml", REPLIES)
    script = here.write("quiet.toml", SCRIPT)
    made = here.call("play", script, "--provider", "scripted", "--replies", replies, "--out", here.out)
    assert made.returncode == 0, made.stderr
    again = here.call("play", script, "--provider", "scripted", "--replies", replies, "--out", here.out)
    assert again.returncode == 0, "a second run finds what it played"
    return here


def chapter_id(here: Machine) -> str:
    listed = [line.split("\t") for line in here.lines("sessions")]
    return next(cells[0] for cells in listed if cells[1] == "The Quiet Chapter")


def test_a_script_without_a_screen_has_silence_action_and_an_absence(quiet: Machine) -> None:
    session = chapter_id(quiet)
    transcript = quiet.call("export", session, "--format", "transcript").stdout
    assert "Kara says nothing." in transcript
    assert "Ines: *turns the lamp down*" in transcript
    assert "Joss: I am here." in transcript
    for text in (transcript, quiet.call("export", session, "--format", "chapter").stdout):
        assert "REASON-9" not in text
        assert "\x1b" not in text
    heard = quiet.call("export", session, "--format", "transcript", "--as", "Joss").stdout
    assert "SILENT-1" not in heard
    assert "BACK-3" in heard
    for name in ("Kara", "Joss", "Ines"):
        assert "REASON-9" not in quiet.call("context", session, "--as", name, "--with-system-prompt").stdout


def test_the_reason_is_in_the_json_alone_and_is_imported_again(quiet: Machine) -> None:
    session = chapter_id(quiet)
    exported = quiet.call("export", session, "--format", "json").stdout
    replies = [one for one in json.loads(exported)["body"]["events"] if one["role"] == "agent"]
    assert [one["metadata"].get("reason", "") for one in replies] == [REASON, "", ""]
    file = quiet.write("quiet.json", exported)
    imported = quiet.call("import", file)
    assert imported.returncode == 0, imported.stderr


def test_the_gm_sends_away_brings_back_and_looks_for_the_silent(quiet: Machine) -> None:
    played = chapter_id(quiet)
    made = quiet.call("branch", played, "--at", "2")
    assert made.returncode == 0, made.stderr
    titles = {cells[1]: cells[0] for cells in (line.split("\t") for line in quiet.lines("sessions"))}
    session = next(id_ for title, id_ in titles.items() if "branch at prompt 2" in title)
    assert quiet.lines("away", session) == ["Away: no one"], "Joss is back at prompt 3, which is the next"
    assert quiet.lines("away", session, "Ines", "--until", "9") == ["Away: Ines until prompt 9"]
    assert quiet.lines("away", session, "Kara") == ["Away: Kara, Ines until prompt 9"]
    assert quiet.lines("present", session) == ["Present: Joss"]
    refused = quiet.call("away", session, "Joss")
    assert refused.returncode != 0
    assert "has to stay" in refused.stderr
    assert quiet.lines("away", session, "Kara", "Ines", "--back") == ["Away: no one"]
    assert quiet.lines("silence", session) == ["May be silent: Kara, Ines"]
    assert quiet.lines("silence", session, "--everyone") == ["May be silent: everyone"]
    assert "May be silent: everyone" in quiet.lines("show", session)
    assert quiet.lines("silence", session, "--off") == ["May be silent: no one"]
    assert quiet.lines("hint", session)[0].startswith("No hints")
    assert quiet.lines("hint", session, "2")[0].startswith("Joss: silent for 2 prompts")
    assert quiet.lines("hint", session, "3")[0].startswith("No one was silent for 3 prompts")
