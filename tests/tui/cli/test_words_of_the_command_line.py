"""The command line says the same as the screen, and ids in it can be copied."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from core.domain.ids import new_uuid
from core.domain.session.session_state import SessionState
from storyengine_tui import cli
from storyengine_tui.cli.app import app
from storyengine_tui.cli.commands.chapter.sessions import SHORTEST_ID, distinct_length
from storyengine_tui.cli.commands.system.doctor import _directory
from storyengine_tui.screens.shared.state_labels import STATE_LABELS
from tests.tui.source_strings import strings_below


def test_ids_are_shown_as_long_as_they_must_be_to_differ() -> None:
    assert distinct_length([str(new_uuid())]) == SHORTEST_ID
    assert distinct_length(["01a205bd-e6f1-7000", "01a205bd-e6f1-7b00"]) == 16


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("export last --format xml", "“xml” is not one of transcript, chapter, json."),
        ("bank list last --kind quotes", "“quotes” is not one of event, fact,"),
        ("bank add last --kind quotes a b", "“quotes” is not one of event, fact,"),
        ("mark last 1 sometimes", "“sometimes” is not one of default, always, never."),
        ("lore export book --as xml", "“xml” is not one of character_book,"),
        ("cast export Kara --as xml", "“xml” is not one of"),
        ("play --provider nobody a.toml", "'nobody' is not one of 'local',"),
        ("hint last x", "'PROMPTS': “x” is not a whole number."),
        ("branch last --at 0", "“0” is too small; the least is 1."),
        ("cast take Kara last --slot 9", "“9” is too large; the most is 7."),
        ("bank edit last a --importance high", "“high” is not a number."),
        ("bank edit last a --importance 3", "“3” is too large; the most is 1."),
        ("cost --by hour", "“hour” is not one of call, prompt, character, agent, chapter, day."),
        ("search lamp --session last --book Dawn", "Choose one of --session and --book."),
        ("backup story.dump --keep 3", "There is no directory story.dump for --keep;"),
        ("cost --json --csv", "Choose one of --json and --csv."),
        ("silence last Kara --off", "Choose one of NAME and --off."),
        ("silence last --everyone --off", "Choose one of --everyone and --off."),
        ("present last Kara --everyone", "Choose one of NAME and --everyone."),
        ("away last Kara --back --until 9", "Choose one of --until and --back."),
        ("away last --back", "Name who is back."),
        ("away last --until 9", "Name who is away."),
        ("cast proposals --take 1 --take 2 --drop 2", "Proposal 2 cannot be taken and dropped."),
        ("backup ''", "Name a file or a directory to write the backup to."),
        ("db backup ''", "Name a file or a directory to write the backup to."),
        ("play --provider local --replies b.toml a.toml", "The provider local reads no --replies;"),
    ],
)
def test_a_word_that_is_none_of_those_wanted_is_refused_in_our_words(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("STORYENGINE_CONFIG_DIR", str(tmp_path))
    refused = CliRunner().invoke(app, shlex.split(line))
    assert refused.exit_code == 2
    assert said in refused.output
    assert "Value error" not in refused.output
    assert "Input should" not in refused.output


def test_a_refusal_repeats_no_control_sequence_of_the_words_that_were_typed() -> None:
    refused = CliRunner().invoke(app, ["branch", "last", "--at", "\u202e\x1b[31m1"])
    assert refused.exit_code == 2
    assert "is not a whole number" in refused.output
    assert not {"\u202e", "\x1b"} & set(refused.output)


def test_a_password_without_a_terminal_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("STORYENGINE_CONFIG_DIR", str(tmp_path))
    refused = CliRunner().invoke(app, ["password"])
    assert "The new password is read at a terminal only; nothing was changed." in refused.output


def test_every_state_has_words() -> None:
    assert set(STATE_LABELS) == set(SessionState)


def test_a_directory_that_is_not_made_by_a_start_does_not_say_so(tmp_path: Path) -> None:
    told = _directory("configuration", tmp_path / "none", "the defaults hold")
    assert told.text.endswith("is not there yet; the defaults hold")


def test_a_place_where_no_directory_can_be_is_named_by_doctor(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(mode=0o600)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    for path, said in ((file, "is not a directory"), (link, "is not a directory"), (file / "a", "be made")):
        told = _directory("data directory", path)
        assert told.text.startswith(str(path))
        assert told.text.endswith(said)
        assert told.fix


def test_doctor_goes_on_where_a_directory_cannot_be_reached(tmp_path: Path) -> None:
    assert "not there yet" in _directory("logs", tmp_path / ("n" * 300)).text


@pytest.mark.parametrize(
    "group", ["", "bank", "book", "cast", "consent", "db", "lore", "model", "queue", "slots"]
)
def test_no_line_in_a_list_of_commands_is_cut(group: str) -> None:
    listed = CliRunner().invoke(app, [*group.split(), "--help"], env={"COLUMNS": "80"}).output
    commands = listed.split("Commands:")[1]
    assert commands.count(".\n") >= 3
    assert "..." not in commands


def test_the_help_of_the_program_says_how_the_screen_is_opened() -> None:
    assert "Without a command the screen opens" in CliRunner().invoke(app, ["--help"]).output


def help_texts(command: Any, *path: str) -> Iterator[str]:
    """Yield the help of a command, and of those below it."""
    yield CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
    for name, below in getattr(command, "commands", {}).items():
        yield from help_texts(below, *path, name)


def test_the_help_calls_a_chapter_a_chapter() -> None:
    texts = list(help_texts(get_command(app)))
    assert len(texts) > 60
    for text in texts:
        assert not re.search(r"\bsession\b", text.replace("--session", "")), text
        assert "SESSION <str>  Its id" not in text, "the id of what?"


def test_the_help_writes_what_is_to_be_typed_in_capitals() -> None:
    for text in help_texts(get_command(app)):
        assert not re.search(r"Usage: .*[{[][a-z]", text), text


def test_an_answer_calls_a_chapter_a_chapter() -> None:
    found = [
        f"{name}: {text}"
        for name, text in strings_below(Path(cli.__file__).parent)
        if re.search(r"\bsession\b ?.|. ?\bsession\b", text, re.IGNORECASE)
        and not re.search(r"--session|SESSION", text)
    ]
    assert not found


@pytest.mark.parametrize("command", ["list", "fetch", "use", "show", "accounts", "key"])
def test_a_command_on_models_can_show_a_traceback_as_the_others(command: str) -> None:
    assert "--debug" in CliRunner().invoke(app, ["model", command, "--help"]).output
