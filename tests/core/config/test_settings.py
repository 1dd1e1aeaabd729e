"""Each setting by itself, from the environment and from the file: it holds, and nothing else changes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.config.sections import AgentSettings, Profiles, ProfileSettings
from core.config.settings import InvalidSettingsError, load_settings

AGENT_FIELDS: dict[str, object] = {
    "model": "other-model",
    "context_window": 9_000,
    "max_input_tokens": 5_000,
    "max_memory_tokens": 4_000,
    "max_output_tokens": 700,
    "timeout": 7.5,
    "temperature": 0.25,
    "requests_per_minute": 12,
    "style": "small",
    "recall_percent": 20,
    "recall_items": 8,
}
OF_CHARACTERS = ("recall_percent", "recall_items")
PROFILE_FIELDS: dict[str, object] = {
    "provider": "scripted",
    "base_url": "https://elsewhere.example/v1",
    "api_key": "sk-of-this-profile",
    "model_path": "/models/other.gguf",
    "script": "/scripts/replies.toml",
    "recent_context": "stable",
    "avoid_repeats": False,
    "recent_prompts": 20,
    "lore_percent": 40,
    "memory_strategy": "adaptive",
    "memory_ratio": 0.25,
    "recall_percent": 20,
    "recall_items": 8,
    "recall_fading": "hours",
}
AGENTS = ("world_lock", "character", "context_summary", "narrative", "characters.3")
FIELDS: dict[str, object] = PROFILE_FIELDS | {
    f"{agent}.{name}": value
    for agent in AGENTS
    for name, value in AGENT_FIELDS.items()
    if name not in OF_CHARACTERS or agent.startswith("character")
}
Place = Callable[[str, str, object, Path, pytest.MonkeyPatch], None]
PROFILES = tuple(Profiles.model_fields)


def in_environment(profile: str, field: str, value: object, _: Path, patch: pytest.MonkeyPatch) -> None:
    name = "__".join(("STORYENGINE_PROFILES", profile, *field.split("."))).upper()
    patch.setenv(name, str(value))


def in_environment_as_json(
    profile: str, field: str, value: object, _: Path, patch: pytest.MonkeyPatch
) -> None:
    inner: object = value
    for step in reversed((profile, *field.split("."))):
        inner = {step: inner}
    patch.setenv("STORYENGINE_PROFILES", json.dumps(inner))


def in_file(profile: str, field: str, value: object, file: Path, _: pytest.MonkeyPatch) -> None:
    *table, name = field.split(".")
    file.write_text(f"[{'.'.join(('profiles', profile, *table))}]\n{name} = {json.dumps(value)}\n")


def changed(default: ProfileSettings, field: str, value: object) -> ProfileSettings:
    """Return `default` with one field changed, built without the settings' own reading."""
    agent, _, name = field.rpartition(".")
    if not agent:
        read = ProfileSettings.model_validate({field: value})
        return default.model_copy(update={field: getattr(read, field)})
    own = AgentSettings.model_validate({name: value})
    update = {"characters": {3: own}} if agent == "characters.3" else {agent: own}
    return default.model_copy(update=update)


def test_the_list_of_fields_is_complete() -> None:
    assert set(AGENT_FIELDS) == set(AgentSettings.model_fields)
    assert set(PROFILE_FIELDS) | {agent.partition(".")[0] for agent in AGENTS} == set(
        ProfileSettings.model_fields
    )


@pytest.mark.parametrize("prompts", [9, 101])
def test_recent_context_has_ten_to_a_hundred_prompts(prompts: int) -> None:
    with pytest.raises(ValueError, match="recent_prompts"):
        ProfileSettings(recent_prompts=prompts)
    assert [ProfileSettings(recent_prompts=one).recent_prompts for one in (10, 100, None)] == [10, 100, None]


def test_staging_and_production_are_services_and_local_is_local() -> None:
    providers = {name: getattr(Profiles(), name).provider for name in PROFILES}
    assert providers == {"local": "local", "staging": "openai", "production": "openai"}


def fields_in_places() -> list[tuple[str, str, Place]]:
    """Return every field in every place; profiles take turns, so that each meets every place."""
    places: list[Place] = [in_environment, in_environment_as_json, in_file]
    return [
        (PROFILES[(number + turn) % len(PROFILES)], field, place)
        for number, field in enumerate(FIELDS)
        for turn, place in enumerate(places)
    ]


@pytest.mark.parametrize(("profile", "field", "place"), fields_in_places())
def test_one_field_that_is_set_holds_and_leaves_every_other_at_its_default(
    profile: str, field: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    place(profile, field, FIELDS[field], file, monkeypatch)
    loaded = load_settings(file)
    wanted = Profiles().model_copy(
        update={profile: changed(getattr(Profiles(), profile), field, FIELDS[field])}
    )
    assert loaded.profiles == wanted
    assert loaded.model_copy(update={"profile": profile}).active() == getattr(wanted, profile)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", "1e300"),
        ("timeout", "inf"),
        ("timeout", "nan"),
        ("timeout", "0"),
        ("max_input_tokens", "9" * 30),
        ("max_output_tokens", "0"),
        ("context_window", "9" * 5_000),
        ("temperature", "nan"),
        ("temperature", "-1"),
        ("requests_per_minute", "9" * 30),
        ("model", '"' + "m" * 5_000 + '"'),
    ],
    ids=lambda value: value[:9],
)
def test_a_number_that_no_call_can_have_is_refused_in_a_sentence(
    name: str, value: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[profiles.local.character]\n{name} = {value}\n")
    with pytest.raises(InvalidSettingsError) as refused:
        load_settings(file)
    assert len(refused.value.message) < 200


def test_what_the_file_and_the_environment_set_of_one_profile_is_laid_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[profiles.production]\nbase_url = "https://of-the-file.example/v1"\n')
    monkeypatch.setenv("STORYENGINE_PROFILE", "production")
    monkeypatch.setenv("STORYENGINE_PROFILES__PRODUCTION__API_KEY", "sk-of-the-environment")
    active = load_settings(file).active()
    assert (active.provider, active.base_url) == ("openai", "https://of-the-file.example/v1")
    assert active.api_key is not None
    assert active.api_key.get_secret_value() == "sk-of-the-environment"


def test_a_file_that_the_system_does_not_open_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300)
    with pytest.raises(InvalidSettingsError) as caught:
        load_settings(file)
    assert caught.value.message == f"{file} cannot be read: File name too long."
    assert caught.value.hint == f"Let the program read {file}, or move it away."


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("context_window", 1, 100_000_000),
        ("max_input_tokens", 1, 100_000_000),
        ("max_memory_tokens", 1, 100_000_000),
        ("max_output_tokens", 1, 100_000_000),
        ("timeout", 0.001, 86_400),
        ("temperature", 0, 10),
        ("requests_per_minute", 1, 1_000_000),
        ("recall_percent", 1, 50),
        ("recall_items", 0, 200),
        ("model", "", "m" * 200),
    ],
)
def test_the_least_and_the_most_of_each_setting_of_an_agent_are_taken_and_nothing_beyond(
    name: str, least: float | str, most: float | str
) -> None:
    for value in (least, most):
        assert getattr(AgentSettings.model_validate({name: value}), name) == value
    beyond = [most + "m"] if isinstance(most, str) else [most + 1, -0.001 if least == 0 else 0]
    for refused in beyond:
        with pytest.raises(ValidationError):
            AgentSettings.model_validate({name: refused})


@pytest.mark.parametrize("agent", ["world_lock", "context_summary", "narrative"])
@pytest.mark.parametrize("name", OF_CHARACTERS)
def test_only_characters_may_be_set_to_recall(agent: str, name: str) -> None:
    with pytest.raises(ValidationError, match="only characters recall"):
        ProfileSettings.model_validate({agent: {name: 5}})


@pytest.mark.parametrize("slot", [1, 7])
def test_the_first_and_the_last_character_may_have_settings_of_their_own(slot: int) -> None:
    assert set(ProfileSettings.model_validate({"characters": {slot: {}}}).characters) == {slot}
    with pytest.raises(ValidationError):
        ProfileSettings.model_validate({"characters": {slot - 1 if slot == 1 else slot + 1: {}}})


def test_a_configuration_that_is_no_toml_or_no_utf_8_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[profiles")
    with pytest.raises(InvalidSettingsError, match=r"config\.toml is not valid TOML") as caught:
        load_settings(file)
    assert caught.value.hint == f"Fix it in {file}, or move it away."
    file.write_bytes(b'x = "\xff"')
    with pytest.raises(InvalidSettingsError, match="not UTF-8"):
        load_settings(file)


def test_prices_and_ceilings_are_read_to_the_last_digit(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[prices."groq:llama-3.3"]\ninput = 0.59\noutput = "0.79"\ncached_input = 0\n'
        '[prices."my-model"]\ninput = 1\noutput = 2\nreasoning = 3.5\n[ceilings]\nchapter = 0.1\nday = 5\n'
    )
    settings = load_settings(file)
    llama, mine = settings.prices["groq:llama-3.3"], settings.prices["my-model"]
    assert [str(price) for price in (llama.input, llama.output, llama.cached_input)] == ["0.59", "0.79", "0"]
    assert [str(price) for price in (llama.reasoning, mine.reasoning)] == ["None", "3.5"]
    assert [str(ceiling) for ceiling in (settings.ceilings.chapter, settings.ceilings.day)] == ["0.1", "5"]


def test_nothing_has_a_price_or_a_ceiling_unless_it_is_set(tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "config.toml")
    assert (settings.prices, settings.ceilings.chapter, settings.ceilings.day) == ({}, None, None)


@pytest.mark.parametrize(
    "text",
    [
        '[prices."a"]\ninput = -1\noutput = 1\n',
        '[prices."a"]\ninput = 1_000_001\noutput = 1\n',
        '[prices."a"]\ninput = nan\noutput = 1\n',
        '[prices."a"]\ninput = 0.0000000001\noutput = 1\n',
        '[prices."a\\u001b"]\ninput = 1\noutput = 1\n',
        "[ceilings]\nchapter = 0\n",
        "[ceilings]\nday = inf\n",
    ],
)
def test_an_amount_that_nobody_can_mean_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidSettingsError, match="is not valid"):
        load_settings(file)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[ceilings]\nevening = 1\n", "There is no setting ceilings.evening."),
        ("[ceiling]\nday = 1\n", "There is no setting ceiling."),
        ('[prices."a"]\ninput = 1\n', "The setting prices.a.output is missing."),
        (
            "[ceilings]\nchapter = -1\n",
            "The setting ceilings.chapter is not valid: it should be greater than or equal to 0.01.",
        ),
        (
            "[ceilings]\nday = 0.12345\n",
            "The setting ceilings.day is not valid: it should have no more than 4 decimal places.",
        ),
    ],
)
def test_a_refused_setting_is_told_in_words_of_the_program(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidSettingsError) as refused:
        load_settings(file)
    assert refused.value.message == sentence


def test_a_configuration_that_an_editor_saved_with_a_mark_of_its_encoding_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some editors write three bytes before UTF-8, which no one sees; of `.env` they hid the first line."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbfbell = true\r\nhint_minutes = 7\r\n")
    (tmp_path / ".env").write_bytes(
        b"\xef\xbb\xbfSTORYENGINE_SUMMARY_TRIES=3\r\nSTORYENGINE_AFTERTHOUGHTS=5\r\n"
    )
    settings = load_settings(file)
    assert (settings.bell, settings.hint_minutes) == (True, 7)
    assert (settings.summary_tries, settings.afterthoughts) == (3, 5)


def test_a_directory_in_place_of_the_configuration_is_named_and_not_taken_for_no_settings(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.toml"
    file.mkdir()
    with pytest.raises(InvalidSettingsError) as refused:
        load_settings(file)
    assert refused.value.message == f"{file} cannot be read: Is a directory."
