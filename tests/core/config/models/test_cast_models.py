"""Which model plays a character that brings one from the library, and why another does."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.agents.context_builder import ContextBuilder
from core.config.consent import Consent
from core.config.models.accounts import accounts_of
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.models.cast_models import CastModels, look_up, with_lacking
from core.config.models.model_config import PromptStyle
from core.config.sections import AccountSettings, AgentSettings, ProfileSettings
from core.domain.agent_role import AgentRole
from core.domain.session.profile import Profile, Profiles, without_models
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS
from core.domain.slot import Slot

NEAR = AccountSettings(base_url="http://127.0.0.1:9/v1", model="plain", token_limit=9_000)
FAR = AccountSettings(base_url="https://far.example/v1")
OFF = AccountSettings(base_url="https://off.example/v1", enabled=False, model="m")
KARA, JOSS = Slot.RED, Slot.ORANGE


def choices(**settings: object) -> ModelAssignments:
    profile = ProfileSettings.model_validate({"provider": "openai", **settings})
    return choose_models(profile, accounts_of(profile, "local", {"near": NEAR, "far": FAR, "off": OFF}))


def bringing(model: str) -> Profiles:
    return {KARA: Profile(model=model), JOSS: Profile(short_description="No model of his own.")}


def called(of: ModelAssignments, model: str, slot: Slot = KARA) -> str:
    return of.for_cast(bringing(model)).of(AgentRole.CHARACTER, slot).label


@pytest.mark.parametrize(
    ("brought", "label"),
    [("near:big", "near:big"), ("near:", "near:plain"), (" NEAR : big", "near:big"), ("other", "other")],
)
def test_a_character_is_played_by_the_model_that_it_brings_and_the_others_as_before(
    brought: str, label: str
) -> None:
    assert called(choices(), brought) == label
    assert called(choices(), brought, JOSS) == "o4-mini"


def test_without_a_model_of_the_library_nothing_is_chosen_anew() -> None:
    made, builder = choices(), ContextBuilder(choices())
    for profiles in ({}, bringing("")):
        assert made.for_cast(profiles) is made
        assert builder.for_chapter(NO_PROMPT_BLOCKS, profiles) is builder


def test_what_f6_names_for_the_slot_goes_before_the_library_and_a_single_call_before_both() -> None:
    named = choices(characters={1: AgentSettings(model="mine")})
    assert called(named, "near:big") == "mine"
    assert CastModels(named, bringing("near:big")).not_played({KARA: "Kara"}) == [
        "Kara is meant for near:big, but F6 sets mine for its slot: the model of its slot answers."
    ]
    once = choices().for_cast(bringing("near:big")).with_model(AgentRole.CHARACTER, KARA, "far:huge")
    assert once.label == "far:huge"


def test_a_number_of_f6_for_the_slot_holds_for_the_model_of_the_library_too() -> None:
    warm = choices(characters={1: AgentSettings(temperature=1.5, max_output_tokens=77)})
    made = warm.for_cast(bringing("near:big")).of(AgentRole.CHARACTER, KARA)
    assert (made.label, made.temperature, made.max_output_tokens) == ("near:big", 1.5, 77)


@pytest.mark.parametrize(
    ("brought", "why"),
    [
        ("gone:big", "there is no account “gone” here"),
        ("off:big", "the account off is switched off"),
        ("far:", "the account far has no default model"),
    ],
)
def test_a_model_that_cannot_be_called_is_no_failure_and_is_told(brought: str, why: str) -> None:
    assert called(choices(), brought) == "o4-mini"
    assert CastModels(choices(), bringing(brought)).not_played({KARA: "Kara"}) == [
        f"Kara is meant for {brought}, but {why}: the model of its slot answers."
    ]


def test_a_model_of_a_service_is_not_said_to_play_where_the_local_model_does() -> None:
    local = choices(provider="local")
    own = called(local, "")
    assert CastModels(local, bringing("gpt-4o")).played_by({KARA: "Kara"}) == []
    assert CastModels(local, bringing("gpt-4o")).not_played({KARA: "Kara"}) == [
        "Kara is meant for gpt-4o, but the local model alone answers here: the model of its slot answers."
    ]
    for brought in (own, "local:", "local:any"):
        assert CastModels(local, bringing(brought)).played_by({KARA: "Kara"}) == [
            f"Kara is played by {own}, as the library has it."
        ]


def test_an_account_is_called_for_the_library_once_it_has_consent_and_a_key(tmp_path: Path) -> None:
    made, kara = choices(), bringing("far:big")
    keys: list[object] = [None, "key"]

    def find_key(account: object) -> object:
        return keys.pop(0)

    consent = Consent((), tmp_path / "consent")
    assert look_up(made, kara, consent, find_key) == {
        "far": "no text may go to the account far yet (F6, then Ctrl+N, tests it)"
    }
    assert called(made, "far:big") == "o4-mini"
    assert len(keys) == 2, "no key is looked for before consent"
    consent.grant("https://far.example/v1")
    assert look_up(made, kara, consent, find_key) == {"far": "no key of the account far is found"}
    assert called(made, "far:big") == "o4-mini"
    assert look_up(made, kara, consent, find_key) == {"far": ""}
    assert look_up(made, kara, consent, find_key) == {"far": ""}
    assert called(made, "far:big") == "far:big"
    consent.revoke("https://far.example/v1")
    look_up(made, kara, consent, find_key)
    assert called(made, "far:big") == "o4-mini"
    assert called(with_lacking(choices(), {"far": "x"}), "far:big") == "o4-mini"


def test_no_key_and_no_consent_is_looked_for_where_no_character_brings_a_model() -> None:
    def find_key(account: object) -> object:
        raise AssertionError("nobody asked for a key")

    assert look_up(choices(), bringing(""), None, find_key) == {}
    assert look_up(choices(), bringing("near:big"), None, find_key) == {"near": ""}, "it is this machine"


def test_a_script_answers_for_everybody_and_nothing_is_said() -> None:
    scripted = choices(provider="scripted")
    assert called(scripted, "near:big") == "o4-mini"
    assert CastModels(scripted, bringing("near:big")).not_played({}) == []


def test_the_input_of_a_character_has_the_size_and_the_style_of_the_model_that_it_brings() -> None:
    builder = ContextBuilder(choices())
    small = builder.for_chapter(NO_PROMPT_BLOCKS, bringing("near:qwen2.5:1.5b"))
    assert small is builder.for_chapter(NO_PROMPT_BLOCKS, bringing("near:qwen2.5:1.5b"))
    made = choices().for_cast(bringing("near:qwen2.5:1.5b")).of(AgentRole.CHARACTER, KARA)
    assert (made.style, made.context_window) == (PromptStyle.SMALL, 9_000)
    outlines = [
        one.outline(NO_PROMPT_BLOCKS, AgentRole.CHARACTER, slot)
        for one in (builder, small)
        for slot in (KARA, JOSS)
    ]
    assert outlines[0] == outlines[1] == outlines[3] != outlines[2]


def test_a_chapter_from_elsewhere_chooses_no_model() -> None:
    kept = Profile(group="Lamp", model="near:big")
    assert without_models({KARA: kept, JOSS: Profile(model="far:huge")}) == {KARA: replace(kept, model="")}
