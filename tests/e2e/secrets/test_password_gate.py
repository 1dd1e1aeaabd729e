"""`storyengine password`, and what it guards, as a user meets it."""

import json
import time
from collections.abc import Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from argon2 import PasswordHasher
from pydantic import SecretStr

from core.config.password import hash_password
from core.config.settings import load_settings
from storyengine_tui.cli.app import app
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import Machine, invoked

PASSWORD = "open, sesame"
OPEN = {
    "cast show",
    "lore test",
    "doctor",
    "password",
    "db upgrade",
    "db url",
    "consent list",
    "consent grant",
    "consent revoke",
} | {
    "model accounts",
    "model fetch",
    "model key",
    "model list",
    "model show",
    "model use",
    "roll",
}
"""What neither shows nor changes a chapter."""


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hash costs by itself is its own test's; here there are dozens."""
    monkeypatch.setattr("argon2.PasswordHasher", partial(PasswordHasher, time_cost=1, memory_cost=64))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def locked(here: Machine, config: Path) -> Iterator[Machine]:
    """The machine, with a password set in a configuration of the test's own."""
    assert typed(here, config, ["password"], PASSWORD, PASSWORD).exit_code == ExitCode.OK
    yield here
    (here.data / "password-tries.json").unlink(missing_ok=True)


def typed(here: Machine, config: Path, words: list[str], *lines: str) -> Any:
    """Run a command and type these lines at its prompts, as at a terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storyengine_tui.cli.asking.is_attended", lambda: True)
        environment = {**here.environment, "STORYENGINE_CONFIG_DIR": str(config)}
        return invoked(words, "".join(f"{line}\n" for line in lines), environment)


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in command.commands.items():
        where = f"{path} {name}".strip()
        if hasattr(inner, "commands"):
            yield from leaves(inner, where)
        else:
            yield where, inner


def words_for(where: str, command: Any) -> list[str]:
    """A call of a command with something for whatever it needs."""
    words = where.split()
    for parameter in command.params:
        if parameter.required:
            kind = parameter.type_descriptor.annotation
            is_choice = isinstance(kind, type) and issubclass(kind, Enum)
            value = str(next(iter(kind)).value) if is_choice else "1"
            words += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
    return words


COMMANDS = dict(leaves(typer.main.get_command(app)))


def test_every_command_that_shows_or_changes_chapters_is_guarded(locked: Machine, config: Path) -> None:
    guarded = sorted(set(COMMANDS) - OPEN)
    assert len(guarded) > 60
    for where in guarded:
        words = words_for(where, COMMANDS[where])
        refused = locked.call(*words, STORYENGINE_CONFIG_DIR=str(config))
        assert refused.returncode == ExitCode.REFUSED, (words, refused.stderr)
        assert "protected by a password" in refused.stderr, words
        assert "STORYENGINE_PASSWORD" in refused.stderr, words
        assert refused.stdout == "", words


def test_a_roll_into_a_chapter_is_guarded(locked: Machine, config: Path) -> None:
    refused = locked.call("roll", "d6", "last", STORYENGINE_CONFIG_DIR=str(config))
    assert refused.returncode == ExitCode.REFUSED
    assert "protected by a password" in refused.stderr


def test_what_is_open_is_what_is_said_to_be() -> None:
    assert set(COMMANDS) >= OPEN


def test_the_right_password_opens_and_is_nowhere(locked: Machine, config: Path) -> None:
    listed = typed(locked, config, ["sessions"], PASSWORD)
    assert listed.exit_code == ExitCode.OK, listed.output
    assert PASSWORD not in listed.output
    text = (config / "config.toml").read_text()
    assert "$argon2id$" in text
    assert PASSWORD not in text


def test_a_password_from_the_environment_opens_what_nobody_sits_before(locked: Machine, config: Path) -> None:
    settings = {"STORYENGINE_CONFIG_DIR": str(config), "STORYENGINE_PASSWORD": PASSWORD}
    assert locked.call("sessions", **settings).returncode == ExitCode.OK


def test_a_wrong_password_is_refused_and_the_next_try_has_to_wait(locked: Machine, config: Path) -> None:
    wrong = typed(locked, config, ["sessions"], "sesame")
    assert wrong.exit_code == ExitCode.REFUSED
    assert "not the password; wait 1 s" in wrong.output
    # Ten wrong tries, the last one just now: nine minutes are left, however slow this machine is.
    (locked.data / "password-tries.json").write_text(json.dumps({"wrong": 10, "at": time.time()}))
    soon = typed(locked, config, ["sessions"], PASSWORD)
    assert soon.exit_code == ExitCode.REFUSED
    assert "wait" in soon.output
    assert "Password" not in soon.output.replace("The last password", ""), "nobody is asked in vain"


def test_it_is_changed_and_removed_only_by_who_knows_it(locked: Machine, config: Path) -> None:
    assert typed(locked, config, ["password", "--remove"], "sesame").exit_code == ExitCode.REFUSED
    (locked.data / "password-tries.json").unlink()
    assert typed(locked, config, ["password"], PASSWORD, "new one", "new one").exit_code == ExitCode.OK
    assert typed(locked, config, ["sessions"], "new one").exit_code == ExitCode.OK
    assert typed(locked, config, ["password", "--remove"], "new one").exit_code == ExitCode.OK
    assert load_settings(config / "config.toml").password_hash is None
    assert locked.call("sessions", STORYENGINE_CONFIG_DIR=str(config)).returncode == ExitCode.OK


def test_a_password_that_a_variable_sets_is_not_said_to_be_changed_or_removed(
    here: Machine, config: Path
) -> None:
    set_ = {"STORYENGINE_CONFIG_DIR": str(config), "STORYENGINE_PASSWORD": PASSWORD}
    set_["STORYENGINE_PASSWORD_HASH"] = hash_password(SecretStr(PASSWORD))
    removed = here.call("password", "--remove", **set_)
    assert removed.returncode == ExitCode.REFUSED
    assert "STORYENGINE_PASSWORD_HASH" in removed.stderr
    assert "removed" not in removed.stdout
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storyengine_tui.cli.asking.is_attended", lambda: True)
        changed = invoked(["password"], "new one\nnew one\n", {**here.environment, **set_})
    assert changed.exit_code == ExitCode.REFUSED
    assert "The password is set" not in changed.output


def test_without_a_password_nothing_asks(here: Machine, config: Path) -> None:
    assert here.call("sessions", STORYENGINE_CONFIG_DIR=str(config)).returncode == ExitCode.OK
    removed = here.call("password", "--remove", STORYENGINE_CONFIG_DIR=str(config))
    assert removed.stdout.strip() == "No password is set."


def test_a_hash_that_was_emptied_opens_nothing(locked: Machine, config: Path) -> None:
    settings = {"STORYENGINE_CONFIG_DIR": str(config), "STORYENGINE_PASSWORD_HASH": ""}
    refused = locked.call("sessions", **settings, STORYENGINE_PASSWORD=PASSWORD)
    assert refused.returncode == ExitCode.REFUSED
    assert "no argon2 hash" in refused.stderr


def test_where_wrong_tries_cannot_be_counted_nothing_opens_and_the_file_is_named(
    locked: Machine, config: Path
) -> None:
    lock = locked.data / "password-tries.json.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    try:
        refused = typed(locked, config, ["sessions"], PASSWORD)
    finally:
        lock.rmdir()
    assert refused.exit_code == ExitCode.STORAGE_FAILED
    assert "where wrong passwords are counted, cannot be written" in refused.output
    assert "--out" not in refused.output
