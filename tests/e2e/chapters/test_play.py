"""`storyengine play` as a user runs it: to the chapter's text, again after whatever stopped it."""

import json
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.e2e.program import PATIENCE, Machine, chapter_script
from tests.signals import ignoring
from tests.store.servers import plain_url

WHOLE = 'world = "Sea"\nchapter = "Storm"\n[[agent]]\nname = "Kara"\n'
SLOW = "[pace]\nfirst_token = 30.0\n"


def play(machine: Machine, script: Path, *more: str | Path) -> "subprocess.CompletedProcess[str]":
    return machine.call("play", script, "--provider", "scripted", "--out", machine.out, *more)


def session_of(machine: Machine, title: str) -> str:
    """The id of the one session with this title."""
    [found] = [line.split("\t")[0] for line in machine.lines("sessions") if f"\t{title}\t" in line]
    return found


def test_a_script_is_played_to_a_file_that_is_the_draft_in_the_database(
    served: tuple[Machine, str],
) -> None:
    machine, url = served
    script = machine.write("first.toml", chapter_script("First", 9))
    ended = machine.run("play", script, "--provider", "scripted", "--out", machine.out)
    assert ended.returncode == 0, ended.stderr
    assert f"The chapter is in {machine.out / 'First.txt'}" in ended.stdout
    assert "9) stored" in ended.stdout
    assert "\x1b" not in ended.stdout, "plain lines when output is no terminal"
    with psycopg.connect(plain_url(url)) as connection:
        [(draft,)] = connection.execute(
            "SELECT text FROM narrative_draft WHERE session_id = %s", [session_of(machine, "First")]
        ).fetchall()
    assert (machine.out / "First.txt").read_text() == draft.rstrip() + "\n"


def test_a_finished_script_is_not_played_again_and_names_the_same_file(here: Machine) -> None:
    script = here.write("again.toml", chapter_script("Again", 2))
    assert play(here, script).returncode == 0
    before = here.lines("export", session_of(here, "Again"))
    second = play(here, script)
    assert second.returncode == 0
    assert "Prompt" not in second.stdout
    assert str(here.out / "Again.txt") in second.stdout
    assert here.lines("export", session_of(here, "Again")) == before
    assert not (here.out / "Again (2).txt").exists()


def test_one_file_that_is_played_three_times_at_once_is_played_in_one_session(
    served: tuple[Machine, str],
) -> None:
    machine, url = served
    script = machine.write("crowd.toml", chapter_script("Crowd", 2))
    plays = [machine.start("play", script, "--provider", "scripted", "--out", machine.out) for _ in range(3)]
    ended = [play.communicate(timeout=PATIENCE) and play.returncode for play in plays]
    assert 0 in ended
    assert set(ended) <= {0, 6}, "played to its end, or refused because another process plays it"
    with psycopg.connect(plain_url(url)) as connection:
        asked = connection.execute("SELECT count(*) FROM event WHERE text LIKE 'Crowd, prompt %'").fetchone()
    assert session_of(machine, "Crowd")
    assert asked == (2,)


def test_quiet_prints_where_the_chapter_is_and_nothing_else(here: Machine) -> None:
    script = here.write("quiet.toml", chapter_script("IdleDetector", 1))
    ended = play(here, script, "--quiet")
    assert ended.stdout == f"{here.out / 'IdleDetector.txt'}\n"
    assert ended.stderr == ""


def test_prompts_that_were_added_to_a_script_are_played_in_the_same_session(here: Machine) -> None:
    script = here.write("grow.toml", chapter_script("Grow", 2))
    failing = here.write("failing.toml", '[[reply]]\nmatch = { last = "prompt 2" }\nfault = "auth"\n')
    stopped = play(here, script, "--replies", failing)
    assert stopped.returncode == 4
    assert "refused the key" in stopped.stderr
    here.write("grow.toml", chapter_script("Grow", 3))
    assert play(here, script).returncode == 0
    transcript = here.lines("export", session_of(here, "Grow"), "--format", "transcript")
    asked = [line for line in transcript if "what now?" in line and ") " in line]
    assert [line.split(")")[0] for line in asked if line[0].isdigit()] == ["1", "2", "3"]


def test_a_script_whose_played_prompts_were_changed_is_refused_and_new_starts_over(here: Machine) -> None:
    script = here.write("change.toml", chapter_script("Change", 2))
    assert play(here, script).returncode == 0
    here.write("change.toml", chapter_script("Change", 2).replace("prompt 1", "prompt one"))
    refused = play(here, script)
    assert refused.returncode == 8
    assert "Prompt 1 of the script is not what was played before" in refused.stderr
    assert "--new" in refused.stderr
    assert play(here, script, "--new").returncode == 0
    assert (here.out / "Change (2).txt").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 'a'\nworld = ?\n", "line 2"),
        (WHOLE + '[[prompt]]\ntext = "Hi"\nto = "Nobody"\n', "prompt 1: to"),
        (WHOLE + '[[prompt]]\ntxt = "Hi"\n', "prompt 1: text"),
        (WHOLE.replace("Sea", "x" * 5_001) + '[[prompt]]\ntext = "Hi"\n', "world has 5,001 characters"),
    ],
)
def test_a_script_that_is_wrong_is_refused_with_line_or_field(here: Machine, text: str, said: str) -> None:
    refused = play(here, here.write("wrong.toml", text))
    assert refused.returncode == 3
    assert said in refused.stderr


def test_a_script_that_is_not_there_is_a_sentence(here: Machine) -> None:
    missing = play(here, here.work / "missing.toml")
    assert missing.returncode == 3
    assert "missing.toml" in missing.stderr


def test_a_place_that_cannot_be_written_is_a_sentence_and_the_chapter_is_stored(here: Machine) -> None:
    script = here.write("nowhere.toml", chapter_script("Nowhere", 1))
    blocked = here.call("play", script, "--provider", "scripted", "--out", script / "below")
    assert blocked.returncode == 5
    assert "cannot be written" in blocked.stderr
    assert play(here, script).returncode == 0


def test_a_chapter_that_is_being_played_elsewhere_is_left_alone(here: Machine) -> None:
    script = here.write("twice.toml", chapter_script("Twice", 2))
    slow = here.write("slow.toml", SLOW)
    first = here.start("play", script, "--provider", "scripted", "--replies", slow, "--out", here.out)
    assert first.stdout is not None
    while "Locking" not in first.stdout.readline():
        assert first.poll() is None
    second = play(here, script)
    assert second.returncode == 6
    assert "being played elsewhere" in second.stderr
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=PATIENCE)
    assert play(here, script).returncode == 0


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name)
def test_a_play_that_is_asked_to_stop_leaves_nothing_open_and_its_prompt_in_the_composer(
    here: Machine, stop: signal.Signals
) -> None:
    script = here.write(f"{stop.name}.toml", chapter_script(f"Stop {stop.name}", 3))
    slow = here.write("slow-2.toml", '[[reply]]\nmatch = { last = "prompt 2" }\nfirst_token = 30.0\n')
    process = here.start("play", script, "--provider", "scripted", "--replies", slow, "--out", here.out)
    assert process.stdout is not None
    while "Prompt 2" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(stop)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.startswith("Stopped. Everything stored so far is safe")
    body = json.loads(here.call("export", "last").stdout)["body"]
    assert body["session"]["title"] == f"Stop {stop.name}"
    assert {request["state"] for request in body["requests"]} == {"done", "failed"}
    assert list(body["unsent"].values()) == [f"Stop {stop.name}, prompt 2: what now?"]


def test_a_play_that_was_started_to_outlive_its_terminal_goes_on_when_the_line_drops(here: Machine) -> None:
    script = here.write("nohup.toml", chapter_script("Nohup", 3))
    slow = here.write("slow-3.toml", '[[reply]]\nmatch = { last = "prompt 2" }\nfirst_token = 0.5\n')
    with ignoring(signal.SIGHUP):
        process = here.start("play", script, "--provider", "scripted", "--replies", slow, "--out", here.out)
    assert process.stdout is not None
    while "Prompt 2" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
