"""What is connected is written to config.toml line by line, and nothing else in that file changes."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import keyring
import pytest

from core.config.files.paths import Paths
from core.config.sections import AgentSettings, Profiles, ProfileSettings
from core.config.settings import Settings, load_settings
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.slot import Slot
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.connection import Connection, changes_of, connect, connection_of
from storyengine_tui.screens.models.settings_file import change_settings, edited
from tests.core.config.models.test_keys import Memory

REMOTE = "https://models.example/v1"


@pytest.fixture(autouse=True)
def ring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Memory:
    """A keyring of the test's own, and an environment and a folder without settings."""
    for name in ("OPENAI_API_KEY", *(f"STORYENGINE_{part}" for part in ("PROVIDER", "BASE_URL", "MODEL"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    before = keyring.get_keyring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", before)
    backend = Memory()
    keyring.set_keyring(backend)
    return backend


def configuration(tmp_path: Path, **settings: Any) -> Configuration:
    paths = Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path / "downloads")
    return Configuration(paths, Settings(_env_file=None, **settings))


FILE = """# mine
bell = true  # ring
provider = "scripted"

[profiles.production]
base_url = "https://old.example/v1" # old
[profiles.production.narrative]
model = "old"
timeout = 60
"""


def test_only_what_is_meant_changes_and_comments_stay(tmp_path: Path) -> None:
    connection = Connection(provider="openai", base_url=REMOTE, models={AgentRole.CHARACTER: 'odd "name"'})
    text = edited(FILE, changes_of(connection, "production"))
    assert text.startswith("# mine\nbell = true  # ring\n")
    assert tomllib.loads(text) == {
        "bell": True,
        "profile": "production",
        "profiles": {
            "production": {
                "provider": "openai",
                "base_url": REMOTE,
                "character": {"model": 'odd "name"'},
                "narrative": {"timeout": 60},
            }
        },
    }
    assert edited(text, changes_of(connection, "production")) == text
    assert tomllib.loads(edited("", changes_of(connection, "production")))["profile"] == "production"


OWN = """[profiles.production]
provider = "openai"
base_url = "https://models.example/v1" # ours

[profiles.production.characters]
2 = { model = "big", timeout = 60 } # the liar

[profiles.production.characters.3] # the poet
model = "old"
temperature = 0.9
"""


def test_what_stands_there_already_keeps_its_comment_and_its_form(tmp_path: Path) -> None:
    connection = Connection(
        provider="openai",
        base_url=REMOTE,
        characters={Slot.ORANGE: "big", Slot.RED: "small"},
        temperatures={Slot.YELLOW: 0.9},
    )
    text = edited(OWN, changes_of(connection, "production"))
    assert 'base_url = "https://models.example/v1" # ours\n' in text
    assert '2 = { model = "big", timeout = 60 } # the liar\n' in text
    assert tomllib.loads(text)["profiles"]["production"]["characters"] == {
        "1": {"model": "small"},
        "2": {"model": "big", "timeout": 60},
        "3": {"temperature": 0.9},
    }


@pytest.mark.parametrize(
    "text",
    [
        'profiles = { production = { provider = "local" } }\n',
        'profiles.production.provider = "local"\n',
        '[profiles.production]\nprovider = """\nlocal"""\n',
        "[profiles]\nproduction = 3\n",
        "not toml",
    ],
)
def test_a_file_that_is_written_otherwise_is_left_alone_and_the_lines_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(StoryEngineError) as raised:
        change_settings(file, {("profiles", "production", "provider"): "openai"})
    assert raised.value.code is ErrorCode.STORAGE_SAVE_FAILED
    assert 'profiles.production.provider = "openai"' in raised.value.hint
    assert file.read_text() == text


def test_the_file_is_private_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("bell = true\n")
    link.symlink_to(real)
    change_settings(link, {("profile",): "production"})
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    change_settings(tmp_path / "new" / "config.toml", {("profile",): "local"})
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_what_is_connected_holds_now_and_after_a_restart(tmp_path: Path) -> None:
    before = configuration(tmp_path)
    wanted = Connection(provider="openai", base_url=REMOTE + "/", models={AgentRole.NARRATIVE: "big"})
    after, note = connect(wanted, before)
    assert note == ""
    assert after.spending is before.spending
    for settings in (after.settings, load_settings(before.paths.config_file)):
        profile = settings.active()
        assert (profile.provider, profile.base_url) == ("openai", REMOTE)
        assert (profile.narrative.model, profile.character.model) == ("big", None)
    back, _ = connect(Connection(provider="local", base_url=""), after)
    assert back.settings.active().provider == "local"
    again = load_settings(before.paths.config_file)
    assert again.active().provider == "local"
    assert again.profiles.production.narrative.model == "big", "the service's settings are kept"


def test_a_character_of_its_own_model_keeps_what_else_it_has_and_a_blank_one_is_as_all(
    tmp_path: Path,
) -> None:
    stored = ProfileSettings(
        provider="openai", characters={3: AgentSettings(model="old", timeout=60), 5: AgentSettings(model="x")}
    )
    before = configuration(tmp_path, profiles=Profiles(local=stored))
    assert connection_of(before).characters == {Slot.YELLOW: "old", Slot.BLUE: "x"}
    wanted = Connection(
        provider="openai",
        base_url=REMOTE,
        models={AgentRole.CHARACTER: "shared"},
        characters={Slot.YELLOW: "new", Slot.RED: "first"},
    )
    after, _ = connect(wanted, before)
    assert connection_of(after) == wanted
    choices = after.choices
    models = [choices.of(AgentRole.CHARACTER, slot.value).model for slot in Slot]
    assert models == ["first", "shared", "new", "shared", "shared", "shared", "shared"]
    assert after.settings.active().characters[3].timeout == 60
    assert connection_of(Configuration(after.paths, load_settings(after.paths.config_file))) == wanted


def test_what_the_environment_overrides_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYENGINE_PROVIDER", "scripted")
    after, note = connect(Connection(provider="openai", base_url=REMOTE), configuration(tmp_path))
    assert after.settings.active().provider == "openai"
    assert "STORYENGINE_PROVIDER overrides config.toml" in note
