"""Assigns a model to each agent, with the limits of its inputs and outputs (design 7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from core.config.models import model_defaults as defaults
from core.config.models.accounts import OWN, Account, Accounts, accounts_of
from core.config.models.model_config import ModelConfig, PromptStyle
from core.config.models.model_size import is_small_by_name, is_small_file
from core.config.sections import (
    DEFAULT_LORE_PERCENT,
    AgentSettings,
    FadingName,
    ProfileSettings,
    ProviderName,
    RecentContext,
)
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.profile import Profiles
from core.domain.slot import Slot
from core.domain.story.condensed import NOT_CONDENSING, Condensing, Strategy


@dataclass(frozen=True, slots=True, eq=False)
class ModelAssignments(Mapping[AgentRole, ModelConfig]):
    """The choice of each role, and of the characters that have one of their own."""

    roles: Mapping[AgentRole, ModelConfig]
    characters: Mapping[Slot, ModelConfig] = field(default_factory=dict)
    recent_context: RecentContext = "exact"
    recent_prompts: int = 0
    """Least number of prompts in recent context; counts where it is more than a chunk."""
    elsewhere: "Elsewhere | None" = field(default=None, repr=False)
    """Other accounts at which an agent can be called; None where there are none."""
    lore_percent: float = DEFAULT_LORE_PERCENT
    """Maximum share of a character's input for lore, in percent."""
    condensing: Condensing = NOT_CONDENSING
    """When old memory is condensed."""
    recall_fading: FadingName = "prompts"
    """Clock by which items of the memory bank fade: prompts or hours."""

    def __getitem__(self, role: AgentRole) -> ModelConfig:
        return self.roles[role]

    def __iter__(self) -> Iterator[AgentRole]:
        return iter(self.roles)

    def __len__(self) -> int:
        return len(self.roles)

    @property
    def is_scripted(self) -> bool:
        """Whether a script answers in place of every model."""
        return self.elsewhere is not None and self.elsewhere.accounts.own.provider == "scripted"

    @property
    def account_names(self) -> tuple[str, ...]:
        """The accounts that are called, each once."""
        return tuple(
            dict.fromkeys(choice.account for choice in (*self.roles.values(), *self.characters.values()))
        )

    def of(self, role: AgentRole, agent_id: int) -> ModelConfig:
        """Return the choice for one of the ten agents; a character's id is its slot."""
        own = self.characters.get(Slot(agent_id)) if role is AgentRole.CHARACTER else None
        return own or self.roles[role]

    def with_model(self, role: AgentRole, slot: Slot | None, text: str) -> ModelConfig:
        """Return the choice for one call of an agent: `text` is a model of its account or `account:model`.

        An empty text is its own choice. Raises StoryEngineError for an account that cannot answer.
        """
        own = self.of(role, slot or 0)
        named = self.elsewhere and self.elsewhere.named(role, own, text)
        return named or (replace(own, model=text) if text else own)

    def for_cast(self, profiles: Profiles) -> "ModelAssignments":
        """Return the choices for a chapter, some of whose characters bring a model from the library.

        A slot for which the settings name a model keeps that, and one whose model cannot be called its own.
        """
        brought = {slot: one.model for slot, one in profiles.items() if not self.why_not(slot, one.model)}
        if self.elsewhere is None or not brought:
            return self
        made = {slot: self.elsewhere.brought(slot, text, self) for slot, text in brought.items()}
        return replace(self, characters={**self.characters, **made})

    def why_not(self, slot: Slot, text: str) -> str:
        """Return why the model `text`, which a character brings, does not play the slot; empty if it does."""
        if self.elsewhere is None or self.is_scripted or not text:
            return NOT_BROUGHT
        return self.elsewhere.why_not(slot, text)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The accounts beside an agent's own, and how the profile calls them."""

    profile: ProfileSettings
    accounts: Accounts
    lacking: dict[str, str] = field(default_factory=dict)
    """By account, what keeps it from being called, as far as that was looked for (`models.cast_models`).

    The one part that changes: all that choose for an engine learn of it at once."""

    def brought(self, slot: Slot, text: str, choices: ModelAssignments) -> ModelConfig:
        """Return the choice for a slot whose character brings the model `text`: as if F6 named it."""
        own = self.profile.characters.get(slot, AgentSettings()).model_copy(update={"model": text})
        return _of_character(self.profile, self.accounts, own, slot, choices[AgentRole.CHARACTER])

    def why_not(self, slot: Slot, text: str) -> str:
        """Return why the model that a character brings does not play the slot, as part of a sentence."""
        set_here = self.profile.characters.get(slot)
        if set_here is not None and set_here.model:
            return f"F6 sets {set_here.model} for its slot"
        prefix, colon, _ = text.partition(":")
        if colon and not self.accounts.is_named_by(text):
            return f"there is no account “{prefix.strip()}” here"
        account, model = self.accounts.split(text)
        if not account.is_enabled:
            return f"the account {account.name} is switched off"
        if account.provider == "openai" and account.name != OWN and not (model or account.model):
            return f"the account {account.name} has no default model"
        if account.provider == "local" and not colon:
            is_it = model == _defaults_of(account, AgentRole.CHARACTER).model
            return "" if is_it else "the local model alone answers here"
        return self.lacking.get(account.name, "")

    def named(self, role: AgentRole, own: ModelConfig, text: str) -> ModelConfig | None:
        """Return the choice for a call of an agent to `account:model`; None if `text` names no account.

        Another account takes over the agent's output length and temperature, and no limit of its model.
        `own` is the agent's usual choice. Raises StoryEngineError for an account that cannot answer.
        """
        if not self.accounts.is_named_by(text):
            return None
        account, model = named_account(self.accounts, text, "this call")
        if account.name == own.account:
            return replace(own, model=model or own.model)
        settings: AgentSettings = getattr(self.profile, role.value)
        taken = AgentSettings(
            max_output_tokens=settings.max_output_tokens,
            temperature=settings.temperature,
            recall_percent=own.recall_percent,
            recall_items=own.recall_items,
        )
        return _with(self.profile, account, role, _defaults_of(account, role), _at(account, taken, model))


def setting_of(choice: ModelConfig, role: AgentRole, field: str) -> str:
    """Return the variable that sets `field` of `role`, as an error names it for the GM."""
    return f"STORYENGINE_PROFILES__{choice.profile.upper()}__{role.name}__{field.upper()}"


NOT_BROUGHT: Final = "it names no model, or a script answers"
SCRIPT = "a script"
"""Label shown in place of a model's name when a script answers, whichever model was asked for."""


def choose_model(profile: ProfileSettings, role: AgentRole, accounts: Accounts | None = None) -> ModelConfig:
    """Return the choice for `role`: the defaults of its account with the profile's settings on top.

    Unless it is set, the input cap is what the window leaves beside the output; for a model whose window
    is not known it is a cautious one. Raises StoryEngineError for an account that cannot answer.
    """
    accounts = accounts or accounts_of(profile)
    own: AgentSettings = getattr(profile, role.value)
    account, model = named_account(accounts, own.model or "", role.value)
    return _with(profile, account, role, _defaults_of(account, role), _at(account, own, model))


def choose_models(profile: ProfileSettings, accounts: Accounts | None = None) -> ModelAssignments:
    """Return the choice for every role, and for every character that the profile names; as `choose_model`."""
    accounts = accounts or accounts_of(profile)
    roles = {role: choose_model(profile, role, accounts) for role in AgentRole}
    shared = roles[AgentRole.CHARACTER]
    characters = {
        Slot(slot): _of_character(profile, accounts, own, slot, shared)
        for slot, own in profile.characters.items()
    }
    answers = accounts.of(shared.account).provider
    recent_context = profile.recent_context or _recent_context(answers)
    elsewhere = Elsewhere(profile, accounts)
    return ModelAssignments(
        roles,
        characters,
        recent_context,
        profile.recent_prompts or 0,
        elsewhere,
        profile.lore_percent,
        Condensing(Strategy(profile.memory_strategy), profile.memory_ratio),
        profile.recall_fading,
    )


def _of_character(
    profile: ProfileSettings, accounts: Accounts, own: AgentSettings, slot: int, shared: ModelConfig
) -> ModelConfig:
    """Return the choice for a character: what it has of its own over what all characters have.

    At another account than the others' it takes over how they write, and not what belongs to their model.
    """
    if not own.model:
        return _with(profile, accounts.of(shared.account), AgentRole.CHARACTER, shared, own)
    account, model = named_account(accounts, own.model, f"character {slot}")
    if account.name == shared.account:
        return _with(profile, account, AgentRole.CHARACTER, shared, _at(account, own, model))
    base = _defaults_of(account, AgentRole.CHARACTER)
    style = {
        name: getattr(profile.character, name)
        for name in ("max_output_tokens", "temperature")
        if getattr(own, name) is None
    }
    own = own.model_copy(update=style)
    return _with(profile, account, AgentRole.CHARACTER, base, _at(account, own, model))


def named_account(accounts: Accounts, text: str, agent: str) -> tuple[Account, str]:
    """Return the account and the model that `text` chooses for `agent`; the model may be the default.

    Raises StoryEngineError for an account that cannot answer.
    """
    account, model = accounts.split(text)
    if not account.is_enabled:
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND,
            f"The account {account.name}, which {agent} is set to use, is switched off.",
            f"Set `enabled = true` under [accounts.{account.name}] in config.toml, or choose another model.",
        )
    if account.provider == "openai" and account.name != OWN and not (model or account.model):
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND,
            f"The account {account.name}, which {agent} is set to use, has no default model.",
            f"Name one as {account.name}:MODEL, or set `model` under [accounts.{account.name}].",
        )
    return account, model


def _defaults_of(account: Account, role: AgentRole) -> ModelConfig:
    base = _with_own_weights(account.model_path, role) if account.provider == "local" else None
    base = base or defaults_for(account.provider)[role]
    return replace(base, account=account.name, profile=account.profile)


def _at(account: Account, own: AgentSettings, model: str) -> AgentSettings:
    """Return the settings of an agent with the model and the window that they mean at `account`.

    Names of models mean nothing to the one file of weights that the local provider has.
    """
    name = None if account.provider == "local" else model or account.model
    return own.model_copy(update={"model": name, "context_window": own.context_window or account.token_limit})


def _recent_context(provider: ProviderName) -> RecentContext:
    """Return the default: `exact`, unless `stable` is a fifth cheaper or faster (bench/NOTES.md).

    With the bundled model the first word comes in 0.67 of the time; at a service 70 replies cost 0.98.
    """
    return "stable" if provider == "local" else "exact"


def _with(
    profile: ProfileSettings, account: Account, role: AgentRole, base: ModelConfig, own: AgentSettings
) -> ModelConfig:
    base = _in_style(account, role, base, own)
    window = own.context_window or defaults.WINDOWS.get(own.model or "", base.context_window)
    output = min(own.max_output_tokens or base.max_output_tokens, window // 2)
    return ModelConfig(
        model=own.model or base.model,
        account=base.account,
        profile=base.profile,
        context_window=window,
        max_input_tokens=min(own.max_input_tokens or _most_input(role, base, own), window - output),
        max_output_tokens=output,
        timeout=own.timeout or base.timeout,
        temperature=base.temperature if own.temperature is None else own.temperature,
        requests_per_minute=own.requests_per_minute or base.requests_per_minute,
        max_memory_tokens=own.max_memory_tokens or base.max_memory_tokens,
        style=base.style,
        stop=base.stop,
        sampling=base.sampling,
        recall_percent=_first(own.recall_percent, profile.character.recall_percent, profile.recall_percent),
        recall_items=_first(own.recall_items, profile.character.recall_items, profile.recall_items),
        # A script answers as it is written, however often it is asked.
        avoids_repeats=profile.avoid_repeats and account.provider != "scripted",
    )


def _first(*settings: int | None) -> int:
    """Return the first setting that is there; the last one is always."""
    return next(one for one in settings if one is not None)


def _in_style(account: Account, role: AgentRole, base: ModelConfig, own: AgentSettings) -> ModelConfig:
    """Return `base` in the style that is set, else in that of the model's size, and called as fits it."""
    style = base.style
    if own.style is not None:
        style = PromptStyle(own.style)
    elif own.model is not None:
        style = PromptStyle.SMALL if is_small_by_name(own.model) else PromptStyle.FULL
    if style is base.style:
        return base
    if style is PromptStyle.SMALL:
        styled = replace(
            defaults.SMALL[role],
            model=base.model,
            timeout=base.timeout,
            requests_per_minute=base.requests_per_minute,
        )
    elif account.provider == "local":
        styled = _own_weights(role, base.model)
    else:
        styled = defaults_for(account.provider)[role]
    return replace(styled, account=account.name, profile=account.profile)


def _most_input(role: AgentRole, base: ModelConfig, own: AgentSettings) -> int:
    """Return the cap for input that is not set: all that the window leaves, where the window is known."""
    if own.context_window is not None:
        return own.context_window
    if own.model in (None, base.model):
        return base.max_input_tokens
    return defaults.WINDOWS.get(own.model or "", defaults.CAUTIOUS_INPUT[role])


def _with_own_weights(model_path: Path | None, role: AgentRole) -> ModelConfig | None:
    """Return the defaults for weights of the GM's own: better than ours, so that they are not cut short."""
    if model_path is None:
        return None
    if is_small_file(model_path):
        return replace(defaults.SMALL[role], model=model_path.stem)
    return _own_weights(role, model_path.stem)


def _own_weights(role: AgentRole, name: str) -> ModelConfig:
    output = defaults.OWN_WEIGHTS_OUTPUT[role]
    return ModelConfig(
        model=name,
        context_window=8_192,
        max_input_tokens=8_192 - output,
        max_output_tokens=output,
        timeout=300,
        temperature=0.7 if role in (AgentRole.CHARACTER, AgentRole.NARRATIVE) else 0.2,
    )


def defaults_for(provider: ProviderName) -> ModelAssignments:
    """Return the defaults of a provider by role.

    The model of this machine and a script have no limit: their calls cost nothing, and they take one
    at a time.
    """
    match provider:
        case "local":
            return ModelAssignments(defaults.LOCAL)
        case "scripted":
            return ModelAssignments(defaults.REMOTE)
        case "openai":
            return ModelAssignments(
                {
                    role: replace(choice, requests_per_minute=defaults.DEFAULT_LIMITS[role])
                    for role, choice in defaults.REMOTE.items()
                }
            )
