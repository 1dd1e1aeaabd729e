"""`storyengine model`: which account answers whom, where keys come from, and a key for an account."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from storyengine_tui.cli.commands.models import model
from tests.core.config.models.test_keys import Memory
from tests.tui.screens.models.test_connection import ring as ring

KEY = "sk-canary-44cc"
CONFIG = """
[accounts.work]
base_url = "https://work.example/v1"
model = "theirs"
concurrency = 2
headers = { "X-Token" = "canary-header" }
[accounts.spare]
base_url = "https://spare.example/v1"
enabled = false
[profiles.local]
provider = "openai"
base_url = "https://own.example/v1"
[profiles.local.narrative]
model = "work:big"
[profiles.local.characters.2]
model = "local:"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "LOG"):
        monkeypatch.setenv(f"STORYENGINE_{name}_DIR", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)
    file = tmp_path / "home" / "config.toml"
    file.write_text(CONFIG)
    file.chmod(0o600)
    return file


def said(*command: str) -> str:
    done = CliRunner().invoke(model.app, list(command))
    assert "Traceback" not in done.output
    return done.output


def test_every_agent_is_listed_with_the_account_that_answers_it(config: Path, ring: Memory) -> None:
    lines = said("show").splitlines()
    assert lines[0] == "Profile local, provider openai"
    agents = {line.partition(":")[0]: line for line in lines[3:]}
    assert agents["narrative"].startswith("narrative: work:big at https://work.example/v1, up to")
    assert agents["character"].startswith("character: o4-mini at https://own.example/v1, up to")
    assert "local:smollm2-135m-instruct on this machine; nothing leaves it" in agents["character 2"]


def test_accounts_are_listed_with_what_is_known_of_them_and_no_secret(config: Path, ring: Memory) -> None:
    ring.set_password("storyengine", "account:work", KEY)
    output = said("accounts")
    assert output.splitlines() == [
        "spare: https://spare.example/v1, Key: none, switched off",
        "work: https://work.example/v1, Key: from the keyring, default model theirs, 2 calls at once, "
        "headers X-Token",
    ]
    config.write_text("")
    assert said("accounts").startswith("There is no account besides the profile's own")


def test_a_key_is_stored_for_the_account_that_is_named(
    config: Path, ring: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydantic import SecretStr

    monkeypatch.setattr(model, "ask_hidden", lambda *_, **__: SecretStr(KEY))
    assert said("key", "work") == "Saved in the keyring for the account work.\n"
    assert said("key") == "Saved in the keyring for the profile local.\n"
    assert said("key", "--profile", "staging") == "Saved in the keyring for the profile staging.\n"
    assert "Every profile uses the same key of an account" in said("key", "work", "--profile", "staging")
    assert {user for _, user in ring.stored} == {"account:work", "local", "staging"}


def test_an_account_that_there_is_not_or_that_is_switched_off_is_one_sentence(
    config: Path, ring: Memory
) -> None:
    assert "There is no account “wrok”" in said("key", "wrok")
    config.write_text(CONFIG.replace("work:big", "spare:big"))
    assert "The account spare, which narrative is set to use, is switched off." in said("show")
