"""Every other command of `storyengine`, run as a user runs it."""

import asyncio
import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from core.agents.role.prompt_file import load_prompt
from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from storyengine_tui.cli.exit_codes import ExitCode, exit_code_of
from tests.e2e.program import PATIENCE, PROGRAM, WORDS_ALONE, Machine, chapter_script, machine
from tests.http_faults import FaultServer, error_reply

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def played(served: tuple[Machine, str]) -> Machine:
    """A machine on which a chapter of eight prompts was played."""
    here = served[0]
    here.play("Played", 8)
    return here


def ids(here: Machine, title: str, *options: str) -> list[str]:
    listed = [line.split("\t") for line in here.lines("sessions", *options)]
    return [cells[0] for cells in listed if len(cells) > 1 and cells[1] == title]


def test_sessions_lists_chapters_as_lines_of_cells_when_output_is_no_terminal(played: Machine) -> None:
    [cells] = [line.split("\t") for line in played.lines("sessions") if "\tPlayed\t" in line]
    assert cells[2:5] == ["ended", "8", "1"]


def test_show_prints_state_cast_memory_and_transcript_without_colour(played: Machine) -> None:
    [session] = ids(played, "Played")
    shown = "\n".join(played.lines("show", session[:14]))
    for part in (
        "ended, 8 prompts, 8 of them in memory",
        "1 Kara, 2 Joss",
        "turn_delta of prompts 1–7",
        "8) Played",
    ):
        assert part in shown
    assert "\x1b" not in shown


def test_context_prints_every_segment_that_would_be_sent_with_its_tokens(played: Machine) -> None:
    [session] = ids(played, "Played")
    shown = "\n".join(played.lines("context", session, "--slot", "2", "--prompt", "Who are you?"))
    names = re.findall(r"^── ([\w ]+) · (?:system|user|assistant) · about [\d,]+ tokens$", shown, re.M)
    assert len(names) >= 5
    assert "Joss of Rime." in shown
    prompt = load_prompt(AgentRole.CHARACTER, PromptStyle.SMALL)
    hidden = [prompt.text, prompt.cue_for("Joss"), *(prompt.example or ())]
    assert not [text for text in hidden if text and text in shown]
    assert f"{prompt.label}, SHA-256 {sha256(prompt.text.encode()).hexdigest()}, about " in shown
    whole = "\n".join(played.lines("context", session, "--slot", "2", "--with-system-prompt"))
    assert not [text for text in hidden if text not in whole]
    assert "Who are you?" in shown
    assert re.search(r"in all about [\d,]+ of [\d,]+ tokens", shown)


def test_context_of_a_slot_that_does_not_play_is_refused(played: Machine) -> None:
    [session] = ids(played, "Played")
    refused = played.call("context", session, "--slot", "7")
    assert refused.returncode == ExitCode.REFUSED
    assert "“7” names no character of this chapter; the cast is 1 Kara, 2 Joss." in refused.stderr


@pytest.mark.parametrize("prompt", ["99", "2147483648", "9" * 30])
def test_a_prompt_that_no_chapter_can_have_is_refused_and_is_no_failure_of_the_database(
    played: Machine, prompt: str
) -> None:
    [session] = ids(played, "Played")
    refused = played.call("mark", session, prompt, "never")
    assert refused.returncode == ExitCode.REFUSED, refused.stderr
    assert f"The chapter has no prompt {int(prompt):,}; " in refused.stderr


def test_a_session_that_is_not_there_or_not_named_is_a_sentence(played: Machine) -> None:
    for name in ("ffffffff", ""):
        refused = played.call("show", name)
        assert refused.returncode == ExitCode.REFUSED
        assert "storyengine sessions" in refused.stderr


def test_a_session_is_exported_as_text_and_json_and_imported_as_a_new_one(played: Machine) -> None:
    [session] = ids(played, "Played")
    transcript = played.call("export", session, "--format", "transcript").stdout
    assert transcript.startswith("1) Played, prompt 1: what now?\n\nKara: ")
    chapter = played.call("export", session, "--format", "chapter").stdout
    assert chapter == (played.out / "Played.txt").read_text()
    file = played.work / "session.json"
    played.lines("export", session, "--out", file)
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["version"] == 7, "an older program can read it"
    refused = played.call("export", session, "--out", file)
    assert refused.returncode == ExitCode.REFUSED, "an existing file is not written over"
    [line] = played.lines("import", file)
    copy = line.rsplit(" ", 1)[1]
    assert played.call("export", copy, "--format", "transcript").stdout == transcript
    played.lines("archive", copy)
    assert copy not in ids(played, "Played")


def test_what_is_no_export_is_refused_with_its_own_exit_code(played: Machine) -> None:
    for file in (played.write("no.json", "{}"), played.work / "missing.json", played.work):
        refused = played.call("import", file)
        assert refused.returncode in (ExitCode.BAD_FILE, ExitCode.STORAGE_FAILED)
        assert "nothing was changed" in refused.stderr


def test_a_chapter_is_archived_restored_and_purged_only_on_an_explicit_second_step(here: Machine) -> None:
    here.play("Gone", 1)
    [session] = ids(here, "Gone")
    assert here.call("purge", session, "--yes").returncode == ExitCode.REFUSED, "it is not archived"
    assert here.lines("archive", session)[0].startswith(f"Archived “Gone” ({session}).")
    assert ids(here, "Gone", "--archived") == [session]
    looked_for = here.call("show", session)
    assert looked_for.returncode == ExitCode.REFUSED
    assert f"storyengine restore {session}" in looked_for.stderr
    assert here.lines("restore", session) == [f"Restored “Gone” ({session})."]
    assert ids(here, "Gone") == [session]
    here.lines("archive", session)
    unanswered = here.call("purge", session)
    assert unanswered.returncode != 0, "nobody said yes"
    assert "Something in the program went wrong" not in unanswered.stderr
    assert ids(here, "Gone", "--archived") == [session]
    begun = [here.data / f"{what}-{session}" for what in ("correction", "line", "reply.3.1.0")]
    for file in begun:
        file.write_text("Jonas holds")
    assert here.lines("purge", session, "--yes") == [f"Deleted “Gone” ({session})."]
    assert not any(file.exists() for file in begun), "what was begun for it is deleted too"
    assert ids(here, "Gone", "--archived") == []


def test_a_database_is_backed_up_and_restored(served: tuple[Machine, str]) -> None:
    here, _ = served
    here.play("Backed Up", 1)
    [address] = here.lines("db", "url")
    assert address.startswith("postgresql")
    assert here.lines("db", "upgrade") == ["The database is up to date."]
    backup = here.work / "backup.dump"
    here.lines("db", "backup", backup)
    before = here.call("export", *ids(here, "Backed Up")).stdout
    refused = here.call("db", "restore", backup)
    assert refused.returncode == ExitCode.STORAGE_FAILED, "it would replace what is there"
    here.lines("archive", *ids(here, "Backed Up"))
    _, told = here.lines("restore", backup, "--replace")
    assert here.call("export", *ids(here, "Backed Up")).stdout == before
    assert here.call("sessions", "--archived").stdout.count("Backed Up") == 0
    here.lines("restore", told.removeprefix("The previous content is in "), "--replace")
    assert ids(here, "Backed Up", "--archived"), "what was replaced is back"
    kept = here.work / "kept"
    written = [here.lines("backup", f"{kept}/", "--keep", "2") for _ in range(3)]
    assert [f"Backed up to {file}" for file in sorted(kept.iterdir())] == [line for [line] in written[1:]]


def test_the_doctor_says_what_is_well_and_how_to_mend_what_is_not(here: Machine) -> None:
    well = here.call("doctor", STORYENGINE_PROVIDER="scripted")
    assert well.returncode == ExitCode.OK, well.stdout
    subjects = re.findall(r"^ok    ([\w ]+):", well.stdout, re.M)
    assert subjects == [
        "Python",
        "data directory",
        "configuration",
        "logs",
        "settings",
        "database",
        "pgvector",
        "model",
        "embedding",
        "consent",
    ]
    ill = here.call(
        "doctor",
        STORYENGINE_PROVIDER="openai",
        STORYENGINE_BASE_URL="https://example.invalid/v1",
        **WORDS_ALONE,
    )
    assert ill.returncode == ExitCode.REFUSED
    assert "storyengine consent grant https://example.invalid/v1" in ill.stdout
    gone = here.call(
        "doctor",
        STORYENGINE_PROVIDER="scripted",
        STORYENGINE_SCRIPT=str(here.work / "gone.toml"),
        **WORDS_ALONE,
    )
    assert gone.returncode == ExitCode.REFUSED
    assert re.search(r"^fix   model: .*gone\.toml", gone.stdout, re.M), gone.stdout
    silent = here.call(
        "doctor", STORYENGINE_PROVIDER="openai", STORYENGINE_BASE_URL="http://127.0.0.1:9/v1", **WORDS_ALONE
    )
    assert silent.returncode == ExitCode.REFUSED
    assert "nothing answers at http://127.0.0.1:9/v1" in silent.stdout
    local = here.call("doctor", STORYENGINE_PROVIDER="local", **WORDS_ALONE)
    assert re.search(r"^ok    model: local, \S+\.gguf, starts$", local.stdout, re.M), local.stdout
    not_weights = here.write("not_weights.gguf", "GGUF and nothing else")
    broken = here.call(
        "doctor", STORYENGINE_PROVIDER="local", STORYENGINE_MODEL_PATH=str(not_weights), **WORDS_ALONE
    )
    assert broken.returncode == ExitCode.REFUSED
    assert re.search(r"^fix   model: .*could not read .*not_weights\.gguf", broken.stdout, re.M), (
        broken.stdout
    )
    odd = here.call("doctor", STORYENGINE_SUMMARY_BACKOFF="soon", **WORDS_ALONE)
    assert odd.returncode == ExitCode.REFUSED
    assert "summary_backoff" in odd.stdout


def test_the_caps_of_every_agent_are_shown_and_how_much_of_the_input_may_be_memory(here: Machine) -> None:
    shown = here.call("model", "show", STORYENGINE_PROVIDER="openai").stdout
    assert "o4-mini, up to 192,000 tokens in (at most 16,000 of them memory) and 8,000 out" in shown
    assert "(at most" not in here.call("model", "show", STORYENGINE_PROVIDER="local").stdout


def test_consent_is_granted_listed_and_revoked(here: Machine) -> None:
    assert here.lines("consent", "list") == ["No address is granted: no text leaves this machine."]
    here.lines("consent", "grant", "https://example.invalid/v1/")
    assert here.lines("consent", "list") == ["https://example.invalid/v1"]
    here.lines("consent", "revoke", "https://example.invalid/v1")
    assert here.lines("consent", "list") == ["No address is granted: no text leaves this machine."]


def test_nothing_is_sent_to_an_address_without_consent(here: Machine) -> None:
    script = here.write("sent.toml", chapter_script("Sent", 1))
    address = {"STORYENGINE_PROVIDER": "openai", "STORYENGINE_BASE_URL": "https://example.invalid/v1"}
    refused = here.call("play", script, "--out", here.out, STORYENGINE_API_KEY="sk-secret", **address)
    assert refused.returncode == ExitCode.CONSENT_REQUIRED
    assert "nothing was sent" in refused.stderr
    assert "storyengine consent grant https://example.invalid/v1" in refused.stdout + refused.stderr
    [session] = ids(here, "Sent")
    body = json.loads(here.call("export", session).stdout)["body"]
    assert body["session"]["state"] == "DRAFT_TAB1"
    assert [artifact["error_code"] for artifact in body["artifacts"]] == ["CONSENT_REQUIRED"]
    assert "sk-secret" not in json.dumps(body)
    assert here.call("play", script, "--provider", "scripted", "--out", here.out).returncode == 0


@pytest.mark.anyio
async def test_a_service_on_this_machine_needs_no_consent_and_its_passing_faults_are_retried(
    here: Machine,
) -> None:
    script = here.write("local.toml", chapter_script("Service", 2))
    async with FaultServer() as server:
        server.script(error_reply(429, headers={"Retry-After": "0"}), error_reply(500))
        settings = {"STORYENGINE_PROVIDER": "openai", "STORYENGINE_BASE_URL": server.base_url}
        played = await asyncio.to_thread(here.run, "play", script, "--out", here.out, **settings)
        assert played.returncode == 0, played.stderr
        sent = [json.dumps(request.body) for request in server.requests]
        assert any("Service, prompt 2" in body for body in sent)
    assert (here.out / "Service.txt").exists()


@pytest.mark.anyio
async def test_a_service_that_refuses_the_key_stops_the_play_with_a_sentence(here: Machine) -> None:
    script = here.write("refused.toml", chapter_script("Refused", 1))
    async with FaultServer() as server:
        server.script(error_reply(401))
        settings = {
            "STORYENGINE_PROVIDER": "openai",
            "STORYENGINE_BASE_URL": server.base_url,
            "STORYENGINE_API_KEY": "sk-wrong",
        }
        refused = await asyncio.to_thread(here.run, "play", script, "--out", here.out, **settings)
    assert refused.returncode == ExitCode.MODEL_FAILED
    assert "refused the key" in refused.stderr
    assert "run the same command to go on" in refused.stderr


def test_a_traceback_is_shown_only_when_it_is_asked_for_and_the_code_stays(here: Machine) -> None:
    missing = here.work / "missing.toml"
    quiet = here.call("play", missing)
    assert "Traceback" not in quiet.stderr
    with here.start("play", missing, "--debug") as loud:
        said = loud.communicate()[1]
    assert "Traceback" in said
    assert said.endswith(quiet.stderr), "the sentence comes last"
    assert loud.returncode == quiet.returncode == ExitCode.BAD_FILE


@pytest.mark.parametrize("command", ["doctor", "sessions", "show", "export"])
def test_output_that_nobody_reads_any_more_is_no_fault(played: Machine, command: str) -> None:
    words = [command, *(["last"] if command in ("show", "export") else [])]
    with played.start(*words, **WORDS_ALONE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == ExitCode.OK


def shell(here: Machine, line: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of the shell in which `$P` is the program."""
    return subprocess.run(
        ["/bin/sh", "-c", line],
        env={**here.environment, "P": str(PROGRAM)},
        cwd=here.work,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["sessions", "show last", "export last", "model show", "--help"])
def test_output_that_cannot_be_written_is_a_sentence(played: Machine, command: str) -> None:
    with open("/dev/full", "w") as full, played.start_into(full.fileno(), *command.split()) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == ExitCode.STORAGE_FAILED
    assert said == "The output cannot be written: No space left on device. Stored data is safe.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_without_a_buffer_that_cannot_be_written_is_a_sentence(played: Machine) -> None:
    full = shell(played, "PYTHONUNBUFFERED=1 $P sessions >/dev/full")
    assert full.returncode == ExitCode.STORAGE_FAILED
    assert full.stderr == "The output cannot be written: No space left on device. Stored data is safe.\n"


@pytest.mark.parametrize("command", ["sessions", "export last"])
def test_a_standard_output_that_is_closed_is_no_fault(played: Machine, command: str) -> None:
    closed = shell(played, f"$P {command} >&-")
    assert (closed.returncode, closed.stderr) == (ExitCode.OK, "")


@pytest.mark.parametrize("command", [("password",), ("model", "key"), ("purge", "last")], ids=" ".join)
def test_what_is_asked_at_a_terminal_is_refused_in_a_sentence_without_one(
    played: Machine, command: tuple[str, ...]
) -> None:
    if command[0] == "purge":
        [line] = played.lines("import", exported(played))
        command = ("purge", line.rsplit(" ", 1)[1])
        played.lines("archive", command[1])
    refused = played.call(*command)
    assert refused.returncode == ExitCode.REFUSED
    assert "nothing was changed" in refused.stderr
    assert re.search("STORYENGINE_PASSWORD_HASH|STORYENGINE_API_KEY|--yes", refused.stderr)
    assert "Aborted" not in refused.stderr


def exported(here: Machine) -> Path:
    """An export of the last chapter, in a file of its own."""
    file = here.work / f"{uuid4()}.json"
    here.lines("export", "last", "--out", file)
    return file


@pytest.mark.parametrize("address", ["", "ftp://example.invalid", "http://example.invalid:99999/v1", "écho"])
def test_an_address_that_none_can_have_is_refused_and_is_no_failure_of_a_model(
    here: Machine, address: str
) -> None:
    for command in ("grant", "revoke"):
        refused = here.call("consent", command, address)
        assert (refused.returncode, refused.stdout) == (ExitCode.REFUSED, "")
        assert "cannot be used" in refused.stderr


def test_a_file_of_replies_that_cannot_be_read_is_refused_and_is_no_failure_of_a_model(here: Machine) -> None:
    script = here.write("unread.toml", chapter_script("Unread Replies", 1))
    refused = here.call("play", script, "--provider", "scripted", "--replies", "missing.toml")
    assert refused.returncode == ExitCode.REFUSED
    assert "missing.toml cannot be used (No such file or directory)" in refused.stderr


def test_a_setting_that_is_not_valid_ends_the_screen_and_every_command_alike(here: Machine) -> None:
    for arguments in ((), ("sessions",), ("model", "show")):
        refused = here.start(*arguments, STORYENGINE_SUMMARY_TRIES="many")
        with refused as process:
            _, said = process.communicate(timeout=60)
        assert process.returncode == ExitCode.REFUSED, arguments
        assert "The setting summary_tries is not valid" in said


def test_every_exit_code_is_documented_and_every_error_has_one() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)}
    assert documented == {int(code) for code in ExitCode}
    assert {exit_code_of(code) for code in ErrorCode} <= set(ExitCode)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")
def test_a_data_directory_that_cannot_be_made_is_a_sentence() -> None:
    with machine() as here:
        here.write("file", "")
        for command in ("sessions", "doctor"):
            failed = here.call(command, STORYENGINE_DATA_DIR=str(here.work / "file" / "data"))
            assert failed.returncode in (ExitCode.STORAGE_FAILED, ExitCode.REFUSED)
            assert "went wrong" not in failed.stderr + failed.stdout
