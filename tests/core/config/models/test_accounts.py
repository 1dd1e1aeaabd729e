"""Accounts: how they are set, what names one, and that no account speaks for another."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.config.models.accounts import LOCAL, OWN, Accounts, accounts_of, labelled, setting_of_account
from core.config.models.assignments import choose_models
from core.config.models.model_config import PromptStyle
from core.config.models.model_defaults import LOCAL_MODEL
from core.config.sections import MOST_ACCOUNTS, MOST_HEADERS, AccountSettings, AgentSettings, ProfileSettings
from core.config.settings import InvalidSettingsError, load_settings
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot

ADDRESS = "https://openrouter.example/api/v1"
FIELDS: dict[str, object] = {
    "base_url": "https://elsewhere.example/v1",
    "api_key": "sk-of-this-account",
    "model": "a/model",
    "token_limit": 32_000,
    "headers": {"X-Title": "a chapter"},
    "concurrency": 2,
    "requests_per_minute": 12,
    "alternate_roles": True,
    "enabled": False,
}


def account(**settings: object) -> AccountSettings:
    return AccountSettings.model_validate({"base_url": ADDRESS, **settings})


def accounts(profile: ProfileSettings | None = None, /, **named: AccountSettings) -> Accounts:
    return accounts_of(profile or ProfileSettings(provider="openai"), "production", named)


# Settings


def in_environment(field: str, value: object, _: Path, patch: pytest.MonkeyPatch) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    patch.setenv(f"STORYENGINE_ACCOUNTS__OPEN_ROUTER__{field.upper()}", text)
    if field != "base_url":
        patch.setenv("STORYENGINE_ACCOUNTS__OPEN_ROUTER__BASE_URL", ADDRESS)


def in_file(field: str, value: object, file: Path, _: pytest.MonkeyPatch) -> None:
    address = "" if field == "base_url" else f'base_url = "{ADDRESS}"\n'
    shown = '{"X-Title" = "a chapter"}' if isinstance(value, dict) else json.dumps(value)
    file.write_text(f"[accounts.open_router]\n{address}{field} = {shown}\n")


def test_the_list_of_fields_is_complete() -> None:
    assert set(FIELDS) == set(AccountSettings.model_fields)


@pytest.mark.parametrize("place", [in_environment, in_file])
@pytest.mark.parametrize("field", FIELDS)
def test_one_field_that_is_set_holds_and_leaves_every_other_at_its_default(
    field: str,
    place: Callable[[str, object, Path, pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "config.toml"
    place(field, FIELDS[field], file, monkeypatch)
    assert load_settings(file).accounts == {"open_router": account(**{field: FIELDS[field]})}


def test_the_file_has_an_account_and_the_environment_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[accounts.work]\nbase_url = "{ADDRESS}"\n')
    monkeypatch.setenv("STORYENGINE_ACCOUNTS__WORK__API_KEY", "123456")
    key = load_settings(file).accounts["work"].api_key
    assert key is not None
    assert key.get_secret_value() == "123456"


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("token_limit", 1, 100_000_000),
        ("concurrency", 1, 1_000),
        ("requests_per_minute", 1, 1_000_000),
        ("model", "", "m" * 200),
    ],
)
def test_the_least_and_the_most_of_each_setting_are_taken_and_nothing_beyond(
    name: str, least: int | str, most: int | str
) -> None:
    for value in (least, most):
        assert getattr(account(**{name: value}), name) == value
    for beyond in [most + "m"] if isinstance(most, str) else [0, most + 1]:
        with pytest.raises(ValidationError):
            account(**{name: beyond})


@pytest.mark.parametrize("name", ["a", "open_router", "a1", "x" * 40])
def test_a_plain_word_names_an_account(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[accounts.{name}]\nbase_url = "{ADDRESS}"\n')
    assert set(load_settings(file).accounts) == {name}


@pytest.mark.parametrize(
    "name",
    ["local", "Work", "my-router", "1st", "_a", "a_", "a__b", "x" * 41, '"a:b"', '"a b"', '""', '"a\\n"'],
)
def test_a_name_that_could_be_misread_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[accounts.{name}]\nbase_url = "{ADDRESS}"\n')
    with pytest.raises(InvalidSettingsError, match="lower-case letters"):
        load_settings(file)


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Basic secret"},
        {"user-agent": "secret"},
        {"HOST": "secret"},
        {"Content-Length": "secret"},
        {"Accept-Language": "secret"},
        {"Transfer-Encoding": "secret"},
        {"X Title": "secret"},
        {"X-Title:": "secret"},
        {"": "secret"},
        {"X-Title": ""},
        {"X-Title": " secret"},
        {"X-Title": "secret\r\nX-Other: 1"},
        {"X-Title": "secret\n"},
        {"X-Title": "secret\0"},
        {"X-Title": "sécret"},
        {"X-Title": "secret" * 1_000},
        {"X-Title": "secret", "x-title": "secret"},
        {f"X-{number}": "secret" for number in range(MOST_HEADERS + 1)},
    ],
    ids=lambda headers: next(iter(headers))[:20] or "empty",
)
def test_a_header_that_is_ours_or_cannot_be_sent_is_refused_and_not_repeated(
    headers: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_ACCOUNTS__WORK__BASE_URL", ADDRESS)
    monkeypatch.setenv("STORYENGINE_ACCOUNTS__WORK__HEADERS", json.dumps(headers))
    with pytest.raises(InvalidSettingsError, match=r"accounts\.work\.headers") as refused:
        load_settings(tmp_path / "config.toml")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["ftp://host/v1", "https://name:secret@host/v1", "host", ""])
def test_an_address_that_cannot_be_used_is_refused_with_the_account_s_name(
    address: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[accounts.work]\nbase_url = "{address}"\n')
    with pytest.raises(InvalidSettingsError, match=r"accounts\.work\.base_url") as refused:
        load_settings(file)
    assert "secret" not in str(refused.value)


def test_there_may_be_many_accounts_and_not_any_number(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    tables = [f'[accounts.a{number}]\nbase_url = "{ADDRESS}"\n' for number in range(MOST_ACCOUNTS + 1)]
    file.write_text("".join(tables[:-1]))
    assert len(load_settings(file).accounts) == MOST_ACCOUNTS
    file.write_text("".join(tables))
    with pytest.raises(InvalidSettingsError, match="accounts"):
        load_settings(file)


def test_neither_key_nor_headers_of_an_account_show() -> None:
    secret = account(api_key="SECRET", headers={"X-Token": "SECRET"})
    known = accounts(work=secret)
    assert "SECRET" not in repr(secret) + repr(known) + repr(known.of("work"))


# Names


SLUGS = st.from_regex(r"[a-z][a-z0-9]{0,8}(_[a-z0-9]{1,4})?", fullmatch=True).filter(
    lambda name: name != LOCAL
)


@given(SLUGS, st.text(max_size=50), st.text(max_size=50))
def test_only_the_name_of_an_account_before_the_first_colon_names_one(
    name: str, prefix: str, model: str
) -> None:
    known = accounts(**{name: account()})
    chosen, rest = known.split(f"{name}:{model}")
    assert (chosen.name, rest) == (name, model.strip())
    for text in (model, f"{prefix}:{model}"):
        chosen, rest = known.split(text)
        head, colon, _ = text.partition(":")
        if colon and head.strip().lower() in (name, LOCAL):
            assert chosen.name == head.strip().lower()
        else:
            assert (chosen.name, rest) == (OWN, text), "a model's name is kept as it is, colons included"


@given(SLUGS, st.text(st.characters(categories=["L", "N"], include_characters="/:.-"), max_size=40))
def test_what_a_model_is_labelled_with_names_it_again(name: str, model: str) -> None:
    known = accounts(**{name: account()})
    assert known.split(labelled(name, model))[0].name == name
    assert known.split(labelled(name, model))[1] == model
    assert labelled(OWN, model) == model


@pytest.mark.parametrize(
    "model", ["llama3:8b", "hf.co/user/model:Q4_K_M", "qwen2.5:1.5b-instruct", "gpt-5.2"]
)
def test_a_colon_in_the_name_of_a_model_names_no_account(model: str) -> None:
    profile = ProfileSettings(provider="openai", character=AgentSettings(model=model))
    choice = choose_models(profile, accounts(profile, router=account()))[AgentRole.CHARACTER]
    assert (choice.account, choice.model, choice.label) == (OWN, model, model)


def test_an_account_that_there_is_not_is_named_in_a_sentence() -> None:
    assert accounts(work=account()).of("Work").name == "work"
    with pytest.raises(StoryEngineError, match=r"no account “wrok”.*local, work"):
        accounts(work=account()).of("wrok")


def test_the_settings_of_an_account_are_named_by_it() -> None:
    assert setting_of_account(OWN, "api_key") == "STORYENGINE_API_KEY"
    assert setting_of_account("work", "base_url") == "STORYENGINE_ACCOUNTS__WORK__BASE_URL"


# Models of accounts


def test_every_agent_and_every_character_may_be_at_an_account_of_its_own() -> None:
    profile = ProfileSettings(
        provider="openai",
        context_summary=AgentSettings(model="cheap:tiny"),
        narrative=AgentSettings(model="router:big/one"),
        characters={
            2: AgentSettings(model="router:"),
            3: AgentSettings(model="local:"),
            4: AgentSettings(model="x"),
        },
    )
    choices = choose_models(
        profile,
        accounts(profile, cheap=account(token_limit=16_000), router=account(model="its/default")),
    )
    named: dict[object, str] = {
        "lock": choices[AgentRole.WORLD_LOCK].label,
        "summary": choices[AgentRole.CONTEXT_SUMMARY].label,
        "narrative": choices[AgentRole.NARRATIVE].label,
        **{slot.value: choices.of(AgentRole.CHARACTER, slot).label for slot in list(Slot)[:4]},
    }
    assert named == {
        "lock": "o4-mini",
        "summary": "cheap:tiny",
        "narrative": "router:big/one",
        1: "o4-mini",
        2: "router:its/default",
        3: f"local:{LOCAL_MODEL}",
        4: "x",
    }
    assert choices.account_names == (OWN, "cheap", "router", LOCAL)
    summary = choices[AgentRole.CONTEXT_SUMMARY]
    assert (summary.context_window, summary.max_input_tokens) == (16_000, 8_000)
    local = choices.of(AgentRole.CHARACTER, Slot.YELLOW)
    assert (local.style, local.context_window, local.requests_per_minute) == (PromptStyle.SMALL, 8_192, None)
    assert choices.of(AgentRole.CHARACTER, Slot.ORANGE).style is PromptStyle.FULL


def test_a_character_at_another_account_takes_over_how_the_others_write_and_not_their_model_s_limits() -> (
    None
):
    profile = ProfileSettings(
        provider="openai",
        character=AgentSettings(
            model="one", context_window=64_000, max_output_tokens=300, temperature=0.9, timeout=7
        ),
        characters={1: AgentSettings(model="local:"), 2: AgentSettings(model="local:", max_output_tokens=50)},
    )
    choices = choose_models(profile)
    red, orange = (choices.of(AgentRole.CHARACTER, slot) for slot in (Slot.RED, Slot.ORANGE))
    assert (red.max_output_tokens, red.temperature) == (300, 0.9)
    assert (red.context_window, red.timeout) == (8_192, 120)
    assert orange.max_output_tokens == 50


def test_a_service_beside_the_local_model_answers_those_who_name_it() -> None:
    profile = ProfileSettings(
        provider="local",
        narrative=AgentSettings(model="work:big"),
        character=AgentSettings(model="llama3:8b"),
    )
    choices = choose_models(profile, accounts(profile, work=account()))
    assert choices[AgentRole.NARRATIVE].label == "work:big"
    assert choices[AgentRole.CHARACTER].label == LOCAL_MODEL
    assert choices[AgentRole.NARRATIVE].style is PromptStyle.FULL
    named = ProfileSettings(provider="local", character=AgentSettings(model="local:anything"))
    assert choose_models(named)[AgentRole.CHARACTER].account == OWN, "one local server is enough"


def test_one_model_for_all_may_be_an_account_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        f'[accounts.work]\nbase_url = "{ADDRESS}"\n[profiles.local.characters.3]\nmodel = "own"\n'
    )
    monkeypatch.setenv("STORYENGINE_MODEL", "work:one/for-all")
    settings = load_settings(file)
    known = accounts_of(settings.active(), settings.profile, settings.accounts)
    assert choose_models(settings.active(), known).account_names == ("work",)


def test_a_script_answers_in_place_of_every_account() -> None:
    profile = ProfileSettings(provider="scripted", character=AgentSettings(model="work:one"))
    assert choose_models(profile, accounts(profile, work=account())).account_names == (OWN,)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"enabled": False}, "work, which character is set to use, is switched off"), ({}, "no default model")],
)
def test_an_account_that_cannot_answer_is_one_sentence(settings: dict[str, object], words: str) -> None:
    profile = ProfileSettings(provider="openai", character=AgentSettings(model="work:"))
    with pytest.raises(StoryEngineError, match=words) as refused:
        choose_models(profile, accounts(profile, work=account(**settings)))
    assert "[accounts.work]" in refused.value.hint


def test_an_account_that_is_switched_off_disturbs_nobody_who_does_not_use_it() -> None:
    profile = ProfileSettings(provider="openai")
    assert choose_models(profile, accounts(profile, work=account(enabled=False))).account_names == (OWN,)
