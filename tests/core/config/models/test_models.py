"""Which model serves whom: weights of the GM's own are not treated as the very small model."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.assignments import choose_model, choose_models, defaults_for, setting_of
from core.config.models.model_config import NO_SAMPLING, SMALL_SAMPLING, PromptStyle
from core.config.models.model_defaults import LOCAL_MODEL
from core.config.sections import AgentSettings, ProfileName, ProfileSettings, ProviderName
from core.config.settings import load_settings
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot


@pytest.mark.parametrize("role", AgentRole)
def test_other_weights_get_whole_prompts_room_to_answer_and_their_own_name(role: AgentRole) -> None:
    bundled = choose_model(ProfileSettings(provider="local"), role)
    own = choose_model(ProfileSettings(provider="local", model_path=Path("/models/llama-8b.gguf")), role)
    assert (bundled.model, bundled.style) == (LOCAL_MODEL, PromptStyle.SMALL)
    assert (own.model, own.style, own.stop) == ("llama-8b", PromptStyle.FULL, ())
    assert own.max_output_tokens > bundled.max_output_tokens
    assert own.max_input_tokens + own.max_output_tokens == own.context_window


def test_caps_that_are_set_hold_for_other_weights_too() -> None:
    profile = ProfileSettings(
        provider="local",
        model_path=Path("/models/llama-8b.gguf"),
        character=AgentSettings(context_window=32_768, max_output_tokens=600),
    )
    choice = choose_model(profile, AgentRole.CHARACTER)
    assert (choice.context_window, choice.max_output_tokens) == (32_768, 600)


def test_a_character_may_have_a_model_of_its_own_and_takes_the_rest_from_its_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[profiles.local]\nprovider = "openai"\n[profiles.local.character]\ntimeout = 7\n'
        '[profiles.local.characters.3]\nmodel = "yellows-own"\n'
    )
    monkeypatch.setenv("STORYENGINE_PROFILES__LOCAL__CHARACTERS__7__MAX_OUTPUT_TOKENS", "99")
    choices = choose_models(load_settings(file).active())
    common = choices[AgentRole.CHARACTER].model
    yellow, violet = (choices.of(AgentRole.CHARACTER, slot) for slot in (Slot.YELLOW, Slot.VIOLET))
    assert (yellow.model, yellow.timeout) == ("yellows-own", 7)
    assert (violet.model, violet.timeout, violet.max_output_tokens) == (common, 7, 99)
    assert choices.of(AgentRole.CHARACTER, Slot.RED) is choices[AgentRole.CHARACTER]
    assert choices.of(AgentRole.NARRATIVE, 9) is choices[AgentRole.NARRATIVE]
    monkeypatch.setenv("STORYENGINE_MODEL", "one-for-all")
    choices = choose_models(load_settings(file).active())
    assert {choices.of(AgentRole.CHARACTER, slot).model for slot in Slot} == {"one-for-all"}


@pytest.mark.parametrize("slot", ["0", "8", "kara"])
def test_a_character_that_there_cannot_be_is_refused(tmp_path: Path, slot: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[profiles.local.characters.{slot}]\nmodel = "x"\n')
    with pytest.raises(StoryEngineError, match="characters"):
        load_settings(file)


@pytest.mark.parametrize(
    "line",
    [
        r'model = "m\u001b]0;owned\u0007"',
        r'base_url = "https://owned.example/\u009b2J"',
        r'model_path = "/models/owned\u001b[31m.gguf"',
        r'consent = ["https://fine.example", "owned\nhttps://other.example"]',
        "[profiles.staging.narrative]\n" + r'model = "owned\u202e"',
        "[profiles.local.characters.2]\n" + r'model = "owned\t"',
    ],
)
def test_a_setting_with_control_characters_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(line)
    with pytest.raises(StoryEngineError, match="holds control characters") as refused:
        load_settings(file)
    assert "owned" not in str(refused.value)


def test_the_bundled_model_is_called_as_itself_whatever_name_is_set() -> None:
    profile = ProfileSettings(
        provider="local", character=AgentSettings(model="x"), characters={2: AgentSettings(model="y")}
    )
    for choice in (
        *choose_models(profile).values(),
        choose_models(profile).of(AgentRole.CHARACTER, Slot.ORANGE),
    ):
        assert (choice.model, choice.style) == (LOCAL_MODEL, PromptStyle.SMALL)


@pytest.mark.parametrize(
    ("provider", "role", "caps"),
    [
        ("openai", AgentRole.WORLD_LOCK, ("o4-mini", 200_000, 12_000, 188_000)),
        ("openai", AgentRole.CHARACTER, ("o4-mini", 200_000, 8_000, 192_000)),
        ("openai", AgentRole.CONTEXT_SUMMARY, ("o4-mini", 200_000, 12_000, 188_000)),
        ("openai", AgentRole.NARRATIVE, ("gpt-5.2", 400_000, 32_000, 368_000)),
        ("local", AgentRole.WORLD_LOCK, ("smollm2-135m-instruct", 8_192, 1_600, 6_592)),
        ("local", AgentRole.CHARACTER, ("smollm2-135m-instruct", 8_192, 80, 8_112)),
        ("local", AgentRole.CONTEXT_SUMMARY, ("smollm2-135m-instruct", 8_192, 1_600, 6_592)),
        ("local", AgentRole.NARRATIVE, ("smollm2-135m-instruct", 8_192, 250, 7_942)),
    ],
)
def test_the_default_caps_of_every_role(
    provider: ProviderName, role: AgentRole, caps: tuple[str, int, int, int]
) -> None:
    for choice in (defaults_for(provider)[role], choose_model(ProfileSettings(provider=provider), role)):
        assert (
            choice.model,
            choice.context_window,
            choice.max_output_tokens,
            choice.max_input_tokens,
        ) == caps


@pytest.mark.parametrize("role", AgentRole)
def test_the_input_cap_follows_the_window_of_the_default_model(role: AgentRole) -> None:
    window = 400_000 if role is AgentRole.NARRATIVE else 200_000
    choice = choose_model(ProfileSettings(provider="openai"), role)
    assert choice.context_window == window
    assert choice.max_input_tokens == window - choice.max_output_tokens


def test_the_input_cap_follows_a_window_that_is_set_and_a_cap_that_is_set_holds() -> None:
    wide = ProfileSettings(provider="openai", character=AgentSettings(model="other", context_window=64_000))
    assert choose_model(wide, AgentRole.CHARACTER).max_input_tokens == 56_000
    capped = ProfileSettings(provider="openai", character=AgentSettings(max_input_tokens=9_000))
    assert choose_model(capped, AgentRole.CHARACTER).max_input_tokens == 9_000
    shorter = ProfileSettings(
        provider="openai",
        character=AgentSettings(max_input_tokens=9_000),
        characters={2: AgentSettings(timeout=9)},
    )
    assert choose_models(shorter).of(AgentRole.CHARACTER, Slot.ORANGE).max_input_tokens == 9_000


def test_a_model_whose_window_is_not_known_gets_a_cautious_cap() -> None:
    unknown = ProfileSettings(provider="openai", character=AgentSettings(model="other"))
    assert choose_model(unknown, AgentRole.CHARACTER).max_input_tokens == 24_000
    known = ProfileSettings(provider="openai", character=AgentSettings(model="gpt-5.2"))
    assert choose_model(known, AgentRole.CHARACTER).max_input_tokens == 392_000


@pytest.mark.parametrize(
    ("role", "model", "timeout", "memory", "limit"),
    [
        (AgentRole.WORLD_LOCK, "o4-mini", 120, None, 30),
        (AgentRole.CHARACTER, "o4-mini", 120, 16_000, 240),
        (AgentRole.CONTEXT_SUMMARY, "o4-mini", 180, 32_000, 120),
        (AgentRole.NARRATIVE, "gpt-5.2", 300, 128_000, 120),
    ],
)
def test_the_defaults_for_a_service(
    role: AgentRole, model: str, timeout: float, memory: int | None, limit: int
) -> None:
    choice = choose_model(ProfileSettings(provider="openai"), role)
    assert (choice.model, choice.timeout, choice.max_memory_tokens) == (model, timeout, memory)
    assert (choice.requests_per_minute, choice.temperature, choice.stop) == (limit, None, ())
    assert choice.style is PromptStyle.FULL


@pytest.mark.parametrize(
    ("role", "temperature", "stop"),
    [
        (AgentRole.WORLD_LOCK, 0.2, ()),
        (AgentRole.CHARACTER, 0.3, ("GM:", "\n\n")),
        (AgentRole.CONTEXT_SUMMARY, 0.2, ()),
        (AgentRole.NARRATIVE, 0.2, ()),
    ],
)
def test_the_defaults_for_the_bundled_model(
    role: AgentRole, temperature: float, stop: tuple[str, ...]
) -> None:
    choice = choose_model(ProfileSettings(provider="local"), role)
    assert (choice.temperature, choice.stop, choice.timeout) == (temperature, stop, 120)
    assert (choice.max_memory_tokens, choice.requests_per_minute) == (None, None)


@pytest.mark.parametrize(
    ("role", "output", "temperature"),
    [
        (AgentRole.WORLD_LOCK, 2_000, 0.2),
        (AgentRole.CHARACTER, 1_000, 0.7),
        (AgentRole.CONTEXT_SUMMARY, 2_000, 0.2),
        (AgentRole.NARRATIVE, 3_000, 0.7),
    ],
)
def test_the_defaults_for_weights_of_the_gm_s_own(role: AgentRole, output: int, temperature: float) -> None:
    choice = choose_model(ProfileSettings(provider="local", model_path=Path("/models/llama-8b.gguf")), role)
    assert (choice.context_window, choice.max_output_tokens) == (8_192, output)
    assert (choice.timeout, choice.temperature) == (300, temperature)


@pytest.mark.parametrize(
    ("role", "most"),
    [
        (AgentRole.WORLD_LOCK, 16_000),
        (AgentRole.CHARACTER, 24_000),
        (AgentRole.CONTEXT_SUMMARY, 48_000),
        (AgentRole.NARRATIVE, 200_000),
    ],
)
def test_the_cautious_caps_of_a_model_whose_window_is_not_known(role: AgentRole, most: int) -> None:
    profile = ProfileSettings.model_validate({"provider": "openai", role.value: {"model": "other"}})
    base = defaults_for("openai")[role]
    assert choose_model(profile, role).max_input_tokens == min(
        most, base.context_window - base.max_output_tokens
    )


def test_an_answer_takes_at_most_half_of_the_window() -> None:
    narrow = AgentSettings(context_window=8_000, max_output_tokens=6_000)
    choice = choose_model(ProfileSettings(provider="openai", character=narrow), AgentRole.CHARACTER)
    assert (choice.max_output_tokens, choice.max_input_tokens) == (4_000, 4_000)


def test_every_setting_of_a_role_takes_the_place_of_its_default() -> None:
    own = AgentSettings(
        model="mine",
        context_window=50_000,
        max_input_tokens=20_000,
        max_output_tokens=3_000,
        max_memory_tokens=5_000,
        timeout=33,
        temperature=0.0,
        requests_per_minute=7,
    )
    choice = choose_model(ProfileSettings(provider="openai", narrative=own), AgentRole.NARRATIVE)
    assert (choice.model, choice.context_window, choice.max_input_tokens) == ("mine", 50_000, 20_000)
    assert (choice.max_output_tokens, choice.max_memory_tokens) == (3_000, 5_000)
    assert (choice.timeout, choice.temperature, choice.requests_per_minute) == (33, 0.0, 7)


def test_an_answer_may_have_ten_characters_a_token_and_at_least_four_thousand() -> None:
    choice = choose_model(ProfileSettings(provider="openai"), AgentRole.CHARACTER)
    assert choice.max_answer_characters == 80_000
    assert replace(choice, max_output_tokens=401).max_answer_characters == 4_010
    assert replace(choice, max_output_tokens=399).max_answer_characters == 4_000


@pytest.mark.parametrize("role", AgentRole)
def test_an_error_names_the_setting_of_its_profile_and_role(role: AgentRole) -> None:
    profile = ProfileSettings(provider="openai")
    for name in get_args(ProfileName):
        choice = choose_models(profile, accounts_of(profile, name))[role]
        said = f"STORYENGINE_PROFILES__{name.upper()}__{role.name}__TIMEOUT"
        assert setting_of(choice, role, "timeout") == said


ON_1B, ON_7B = (Path(f"/models/llama-{size}.gguf") for size in ("1b", "7b"))


@pytest.mark.parametrize(
    ("profile", "style"),
    [
        (ProfileSettings(provider="local"), PromptStyle.SMALL),
        (ProfileSettings(provider="local", model_path=ON_1B), PromptStyle.SMALL),
        (ProfileSettings(provider="local", model_path=ON_7B), PromptStyle.FULL),
        (ProfileSettings(provider="openai"), PromptStyle.FULL),
        (
            ProfileSettings(provider="openai", character=AgentSettings(model="qwen2.5:1.5b")),
            PromptStyle.SMALL,
        ),
        (ProfileSettings(provider="openai", character=AgentSettings(model="qwen2.5:14b")), PromptStyle.FULL),
        (ProfileSettings(provider="openai", character=AgentSettings(model="a-finetune")), PromptStyle.FULL),
    ],
)
def test_the_style_follows_the_size_of_the_model_and_a_style_that_is_set_goes_before_it(
    profile: ProfileSettings, style: PromptStyle
) -> None:
    assert choose_model(profile, AgentRole.CHARACTER).style is style
    for wanted in PromptStyle:
        own = profile.character.model_copy(update={"style": wanted.value})
        changed = profile.model_copy(update={"character": own})
        assert choose_model(changed, AgentRole.CHARACTER).style is wanted


def test_what_goes_with_a_style_comes_and_goes_with_it() -> None:
    full = choose_model(ProfileSettings(provider="openai"), AgentRole.CHARACTER)
    small = choose_model(
        ProfileSettings(provider="openai", character=AgentSettings(model="llama-1b")), AgentRole.CHARACTER
    )
    assert (full.sampling, full.stop, full.temperature) == (NO_SAMPLING, (), None)
    assert small.sampling == SMALL_SAMPLING
    assert small.stop
    assert small.context_window == small.max_input_tokens + small.max_output_tokens == 8_192
    assert (small.timeout, small.requests_per_minute) == (full.timeout, full.requests_per_minute)
    own = ProfileSettings(
        provider="openai",
        character=AgentSettings(model="llama-1b"),
        characters={2: AgentSettings(model="big")},
    )
    second = choose_models(own).of(AgentRole.CHARACTER, Slot.ORANGE)
    assert replace(second, max_input_tokens=0) == replace(full, model="big", max_input_tokens=0)


def test_what_is_set_holds_in_a_style_that_is_not_the_provider_s() -> None:
    own = AgentSettings(
        model="llama-1b", max_output_tokens=90, temperature=0.9, context_window=4_096, timeout=9
    )
    choice = choose_model(ProfileSettings(provider="openai", character=own), AgentRole.CHARACTER)
    assert (choice.max_output_tokens, choice.temperature, choice.context_window) == (90, 0.9, 4_096)
    assert (choice.max_input_tokens, choice.timeout) == (4_006, 9)


@pytest.mark.parametrize(
    ("profile", "avoids"),
    [
        (ProfileSettings(provider="openai"), True),
        (ProfileSettings(provider="local"), True),
        (ProfileSettings(provider="openai", avoid_repeats=False), False),
        (ProfileSettings(provider="scripted"), False),
    ],
)
def test_repeats_are_avoided_unless_that_is_set_otherwise_or_a_script_answers(
    profile: ProfileSettings, avoids: bool
) -> None:
    assert choose_model(profile, AgentRole.CHARACTER).avoids_repeats is avoids


def test_how_much_is_recalled_is_said_for_a_character_for_all_of_them_or_for_the_profile() -> None:
    profile = ProfileSettings.model_validate(
        {
            "provider": "openai",
            "recall_items": 50,
            "recall_percent": 20,
            "character": {"recall_percent": 15},
            "characters": {1: {"recall_items": 0}, 2: {"model": "other-model", "recall_percent": 5}},
        }
    )
    chosen = choose_models(profile)
    of_each = [chosen.of(AgentRole.CHARACTER, slot) for slot in (1, 2, 3)]
    assert [(one.recall_items, one.recall_percent) for one in of_each] == [(0, 15), (50, 5), (50, 15)]
    once = chosen.with_model(AgentRole.CHARACTER, Slot(2), "local:other")
    assert (once.recall_items, once.recall_percent) == (50, 5)


def test_an_error_names_the_setting_of_its_profile_where_a_model_has_prompts_of_the_other_style() -> None:
    for name in ("qwen2.5:1.5b", "qwen2.5:72b"):
        profile = ProfileSettings(provider="openai", character=AgentSettings(model=name))
        choice = choose_model(profile, AgentRole.CHARACTER, accounts_of(profile, "staging"))
        said = "STORYENGINE_PROFILES__STAGING__CHARACTER__TIMEOUT"
        assert setting_of(choice, AgentRole.CHARACTER, "timeout") == said
