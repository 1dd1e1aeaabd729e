"""What makes vectors: the bundled model unless the GM names another, and never a service by itself."""

from pathlib import Path

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.embedding import EmbeddingChoice, choose_embedding
from core.config.sections import AccountSettings, EmbeddingSettings, Profiles, ProfileSettings
from core.config.settings import InvalidSettingsError, load_settings
from core.domain.errors import StoryEngineError

PROFILES = tuple(Profiles.model_fields)
WORK = AccountSettings(base_url="https://work.example/v1", model="chat-model")
BARE = AccountSettings(base_url="https://bare.example/v1")
OFF = AccountSettings(base_url="https://off.example/v1", enabled=False)


def chosen(service: str | None, **profile: object) -> EmbeddingChoice | None:
    settings = EmbeddingSettings(service=service)
    accounts = accounts_of(
        ProfileSettings.model_validate(profile), "local", {"work": WORK, "old": OFF, "none_by_default": BARE}
    )
    return choose_embedding(settings, accounts)


@pytest.mark.parametrize("service", [None, "local", " Local "])
@pytest.mark.parametrize("provider", ["local", "openai"])
def test_the_bundled_model_serves_whatever_model_the_story_has(service: str | None, provider: str) -> None:
    found = chosen(service, provider=provider)
    assert found is not None
    assert (found.account.provider, found.model, found.batch) == ("local", "", 16)
    assert found.is_set is (service is not None)


@pytest.mark.parametrize("provider", ["local", "openai", "scripted"])
def test_it_can_be_switched_off(provider: str) -> None:
    assert chosen("off", provider=provider) is None


def test_a_model_of_an_account_and_one_of_the_profiles_own() -> None:
    of_account = chosen("work:embed:1", provider="local")
    own = chosen("embed-1", provider="openai", base_url="https://own.example/v1")
    assert of_account is not None
    assert own is not None
    assert (of_account.account.name, of_account.model) == ("work", "embed:1")
    assert (own.account.name, own.account.base_url, own.model) == ("", "https://own.example/v1", "embed-1")


@pytest.mark.parametrize("service", ["embed-1", "local:embed-1", "local:"])
def test_a_name_that_means_nothing_to_the_local_model_means_the_bundled_one(service: str) -> None:
    found = chosen(service, provider="local")
    assert found is not None
    assert (found.account.provider, found.model) == ("local", "")


def test_a_script_answers_in_place_of_every_model() -> None:
    found = chosen("work:embed-1", provider="scripted")
    assert found is not None
    assert found.account.provider == "scripted"


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ("work:", "names no model"),
        ("none_by_default:", "has no default model"),
        ("old:embed-1", "is switched off"),
    ],
)
def test_what_names_no_model_of_an_account_is_refused_in_a_sentence(service: str, words: str) -> None:
    with pytest.raises(StoryEngineError, match=words):
        chosen(service, provider="local")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("name", "value"), [("service", "off"), ("batch", 64)])
@pytest.mark.parametrize("is_in_file", [True, False])
def test_a_setting_of_the_table_holds_in_every_profile_and_changes_nothing_else(
    profile: str, name: str, value: object, is_in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    default = load_settings(file)
    if is_in_file:
        file.write_text(f'profile = "{profile}"\n[embedding]\n{name} = {value!r}\n'.replace("'", '"'))
    else:
        monkeypatch.setenv("STORYENGINE_PROFILE", profile)
        monkeypatch.setenv(f"STORYENGINE_EMBEDDING__{name.upper()}", str(value))
    loaded = load_settings(file)
    wanted = EmbeddingSettings.model_validate({name: value})
    assert loaded.model_dump() == default.model_dump() | {
        "profile": profile,
        "embedding": wanted.model_dump(),
    }


@pytest.mark.parametrize(
    "line",
    [
        "batch = 0",
        "batch = 65",
        "batch = 1e9",
        "batch = nan",
        'service = ""',
        f'service = "{"x" * 201}"',
        'service = "a\\u001b[2J"',
        "service = 7",
        "dimensions = 7",
    ],
)
def test_a_value_that_cannot_be_used_is_refused_in_a_sentence(line: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[embedding]\n{line}\n")
    with pytest.raises(InvalidSettingsError, match="embedding"):
        load_settings(file)
