"""Which model serves which agent, and how much it may read and write (design 7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from core.config.accounts import OWN, Account, Accounts, accounts_of
from core.config.model_config import ModelConfig as ModelConfig
from core.config.model_config import PromptStyle as PromptStyle
from core.config.model_size import is_small_by_name, is_small_file
from core.config.sampling import SMALL_SAMPLING
from core.config.sections import (
    DEFAULT_LORE_PERCENT,
    DEFAULT_RECALL_ITEMS,
    DEFAULT_RECALL_PERCENT,
    AgentSettings,
    ProfileSettings,
    ProviderName,
    RecentContext,
)
from core.domain.agent_role import AgentRole as AgentRole  # read from here by all that chooses models
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.slot import Slot


@dataclass(frozen=True, slots=True, eq=False)
class ModelAssignments(Mapping[AgentRole, ModelConfig]):
    """The choice of each role, and of the characters that have one of their own."""

    roles: Mapping[AgentRole, ModelConfig]
    characters: Mapping[Slot, ModelConfig] = field(default_factory=dict)
    recent_context: RecentContext = "exact"
    recent_prompts: int = 0
    """How many prompts stay in recent context at least, where that is more than a chunk."""
    elsewhere: "Elsewhere | None" = field(default=None, repr=False)
    """What an agent can be called at besides its own account; None where there is nothing else."""
    lore_percent: float = DEFAULT_LORE_PERCENT
    """How much of a character's input its lore may take."""
    recall_percent: float = DEFAULT_RECALL_PERCENT
    """How much of it the recalled items may take."""
    recall_items: int = DEFAULT_RECALL_ITEMS
    """How many items an input recalls at most."""

    def __getitem__(self, role: AgentRole) -> ModelConfig:
        return self.roles[role]

    def __iter__(self) -> Iterator[AgentRole]:
        return iter(self.roles)

    def __len__(self) -> int:
        return len(self.roles)

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


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The accounts beside an agent's own, and how the profile calls them."""

    profile: ProfileSettings
    accounts: Accounts

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
        taken = AgentSettings(max_output_tokens=settings.max_output_tokens, temperature=settings.temperature)
        return _with(self.profile, account, role, _defaults_of(account, role), _at(account, taken, model))


def setting_of(role: AgentRole, field: str) -> str:
    """Return the variable that sets `field` of `role`, as an error names it for the GM."""
    return f"STORYENGINE_PROFILES__<PROFILE>__{role.name}__{field.upper()}"


LOCAL_MODEL = "smollm2-135m-instruct"
SCRIPT = "a script"
"""What answers in place of a model; whichever was asked for, it is not named as if it had."""

_WINDOWS: Final = {"o4-mini": 200_000, "gpt-5.2": 400_000}
"""What the default models can hold. Of another one nothing is known until `context_window` is set."""


def _remote(model: str, output: int, *, timeout: float, memory: int | None = None) -> ModelConfig:
    window = _WINDOWS[model]
    return ModelConfig(
        model=model,
        context_window=window,
        max_input_tokens=window - output,
        max_output_tokens=output,
        timeout=timeout,
        max_memory_tokens=memory,
    )


_REMOTE: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _remote("o4-mini", 12_000, timeout=120),
    AgentRole.CHARACTER: _remote("o4-mini", 8_000, timeout=120, memory=16_000),
    AgentRole.CONTEXT_SUMMARY: _remote("o4-mini", 12_000, timeout=180, memory=32_000),
    AgentRole.NARRATIVE: _remote("gpt-5.2", 32_000, timeout=300, memory=128_000),
}
_CAUTIOUS_INPUT: Final = {
    AgentRole.WORLD_LOCK: 16_000,
    AgentRole.CHARACTER: 24_000,
    AgentRole.CONTEXT_SUMMARY: 48_000,
    AgentRole.NARRATIVE: 200_000,
}
"""Tokens of input for a model whose window is not known."""


def _local(
    output: int, *, temperature: float, stop: tuple[str, ...] = (), timeout: float = 120
) -> ModelConfig:
    return ModelConfig(
        model=LOCAL_MODEL,
        context_window=8_192,
        max_input_tokens=8_192 - output,
        max_output_tokens=output,
        timeout=timeout,
        temperature=temperature,
        style=PromptStyle.SMALL,
        stop=stop,
        sampling=SMALL_SAMPLING,
    )


_LOCAL: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _local(1_600, temperature=0.2),
    AgentRole.CHARACTER: _local(80, temperature=0.3, stop=("GM:", "\n\n")),
    AgentRole.CONTEXT_SUMMARY: _local(1_600, temperature=0.2),
    AgentRole.NARRATIVE: _local(250, temperature=0.2),
}

_SMALL: dict[AgentRole, ModelConfig] = {
    AgentRole.WORLD_LOCK: _local(1_600, temperature=0.2, timeout=300),
    AgentRole.CHARACTER: _local(220, temperature=0.6, stop=("GM:", "\n\n"), timeout=300),
    AgentRole.CONTEXT_SUMMARY: _local(1_600, temperature=0.2, timeout=300),
    AgentRole.NARRATIVE: replace(
        _local(300, temperature=0.5, timeout=300),
        # Prose has to name what the transcript names, so only long runs of its words count as a loop.
        sampling=replace(SMALL_SAMPLING, dry_allowed_length=6, dry_penalty_last_n=2048),
    ),
}
"""How a small model of the GM's own or of a service is called: it has more to say than the bundled one."""

_OWN_WEIGHTS_OUTPUT = {
    AgentRole.WORLD_LOCK: 2_000,
    AgentRole.CHARACTER: 1_000,
    AgentRole.CONTEXT_SUMMARY: 2_000,
    AgentRole.NARRATIVE: 3_000,
}
"""Tokens of output for any other GGUF, within the context that the local server has by default."""


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
    recent_prompts, lore_percent = profile.recent_prompts or 0, profile.lore_percent
    return ModelAssignments(
        roles,
        characters,
        recent_context,
        recent_prompts,
        elsewhere,
        lore_percent,
        profile.recall_percent,
        profile.recall_items,
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
    return replace(base or defaults_for(account.provider)[role], account=account.name)


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
    window = own.context_window or _WINDOWS.get(own.model or "", base.context_window)
    output = min(own.max_output_tokens or base.max_output_tokens, window // 2)
    return ModelConfig(
        model=own.model or base.model,
        account=base.account,
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
        # A script answers as it is written, however often it is asked.
        avoids_repeats=profile.avoid_repeats and account.provider != "scripted",
    )


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
            _SMALL[role], model=base.model, timeout=base.timeout, requests_per_minute=base.requests_per_minute
        )
    elif account.provider == "local":
        styled = _own_weights(role, base.model)
    else:
        styled = defaults_for(account.provider)[role]
    return replace(styled, account=account.name)


def _most_input(role: AgentRole, base: ModelConfig, own: AgentSettings) -> int:
    """Return the cap for input that is not set: all that the window leaves, where the window is known."""
    if own.context_window is not None:
        return own.context_window
    if own.model in (None, base.model):
        return base.max_input_tokens
    return _WINDOWS.get(own.model or "", _CAUTIOUS_INPUT[role])


def _with_own_weights(model_path: Path | None, role: AgentRole) -> ModelConfig | None:
    """Return the defaults for weights of the GM's own: better than ours, so that they are not cut short."""
    if model_path is None:
        return None
    if is_small_file(model_path):
        return replace(_SMALL[role], model=model_path.stem)
    return _own_weights(role, model_path.stem)


def _own_weights(role: AgentRole, name: str) -> ModelConfig:
    output = _OWN_WEIGHTS_OUTPUT[role]
    return ModelConfig(
        model=name,
        context_window=8_192,
        max_input_tokens=8_192 - output,
        max_output_tokens=output,
        timeout=300,
        temperature=0.7 if role in (AgentRole.CHARACTER, AgentRole.NARRATIVE) else 0.2,
    )


DEFAULT_LIMITS = {
    AgentRole.WORLD_LOCK: 30,
    AgentRole.CHARACTER: 240,
    AgentRole.CONTEXT_SUMMARY: 120,
    AgentRole.NARRATIVE: 120,
}
"""Calls a minute to a service, by role, where the settings say nothing else.

They stop a fault that would call without end, and disturb no play. The calls of a chapter follow each other.
The fastest service known writes a short reply in about a quarter of a second, network included: 240 in a
minute, for all characters together, with one summary for every seven of them, two calls each when its JSON
has to be asked for again. A lock is made once a chapter, and the parts of a narrative take more than a half
second each. A GM at the keyboard needs a tenth of that. Services with a lower limit of their own say so, and
their wait is kept; a limit in the settings that matches theirs saves the refused calls.
"""


def defaults_for(provider: ProviderName) -> ModelAssignments:
    """Return the defaults of a provider by role.

    The model of this machine and a script have no limit: their calls cost nothing, and they take one
    at a time.
    """
    match provider:
        case "local":
            return ModelAssignments(_LOCAL)
        case "scripted":
            return ModelAssignments(_REMOTE)
        case "openai":
            return ModelAssignments(
                {
                    role: replace(choice, requests_per_minute=DEFAULT_LIMITS[role])
                    for role, choice in _REMOTE.items()
                }
            )
