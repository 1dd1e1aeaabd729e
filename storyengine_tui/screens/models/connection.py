"""A model as it is being connected: what the GM typed, tried out and then written to the settings."""

import asyncio
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from pydantic import SecretStr

from core.config.consent import normalise_base_url
from core.config.models.accounts import Account, Accounts, accounts_of, own_account
from core.config.models.api_keys import FoundKey, find_api_key
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.models.embedding import EmbeddingChoice, choose_embedding
from core.config.sections import (
    AgentSettings,
    EmbeddingSettings,
    ProfileName,
    ProfileSettings,
    ProviderName,
    is_account_name,
)
from core.config.settings import InvalidSettingsError, load_settings
from core.domain.agent_role import AgentRole
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.ids import SessionId
from core.domain.requests.request import TestCallRequest
from core.domain.slot import Slot
from core.engine.kinds.test_call import make_test_call, new_test_call, tested
from core.engine.session.session_handle import SessionHandle
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import Cashier
from core.gateway.lanes import lanes_of
from core.gateway.model_gateway import CallResult, ModelGateway
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.settings_file import (
    SettingKey,
    SettingsChanges,
    SettingValue,
    change_settings,
)

NO_SESSION = SessionId(UUID(int=0))
"""Session of a test call where no chapter is open; it is not stored."""
RECORD_SECONDS = 3.0
"""Longest wait of the page until a test call is stored."""
LONGEST_SHOWN = 60
OVERRIDES = ("PROFILE", "PROVIDER", "BASE_URL", "MODEL", "API_KEY")


Agent = AgentRole | Slot
"""A role, or one character, for which a model, a length and a temperature can be set."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A provider, its address and its models. `models` has the roles with a model of their own.

    `characters` has the slots with a model of their own; the others are left to that of all characters.
    """

    provider: ProviderName
    base_url: str
    models: Mapping[AgentRole, str] = field(default_factory=dict)
    characters: Mapping[Slot, str] = field(default_factory=dict)
    lengths: Mapping[Agent, int] = field(default_factory=dict)
    """Tokens of output, of those who have their own cap."""
    temperatures: Mapping[Agent, float] = field(default_factory=dict)
    embedding: str = ""
    """The embedding model, as `service` under [embedding] has it; empty for the default."""
    key: SecretStr | None = None
    """A key that was typed now, and is not stored anywhere yet."""

    @property
    def address(self) -> str | None:
        """The address of calls; None for this machine. Raises StoryEngineError for an invalid one."""
        return normalise_base_url(self.base_url) if self.provider == "openai" else None

    def profile_name(self, configuration: Configuration) -> ProfileName:
        """Return the profile that this belongs in: the one in use if it is of this kind."""
        settings = configuration.settings
        if settings.active().provider == self.provider:
            return settings.profile
        return "production" if self.provider == "openai" else "local"

    def profile(self, configuration: Configuration) -> ProfileSettings:
        """Return the profile as it will be."""
        stored: ProfileSettings = getattr(configuration.settings.profiles, self.profile_name(configuration))
        if configuration.settings.active().provider == self.provider:
            stored = configuration.settings.active()
        changes: dict[str, object] = {"provider": self.provider}
        if self.provider == "openai":
            changes["base_url"] = normalise_base_url(self.base_url)
        if self.provider != "scripted":
            for role in AgentRole:
                changes[role.value] = self._laid_over(getattr(stored, role.value), role, configuration)
            changes["characters"] = {
                slot.value: self._laid_over(own or AgentSettings(), slot, configuration)
                for slot in Slot
                for own in [stored.characters.get(slot)]
                if own is not None or set(self.settings_of(slot).values()) != {None}
            }
        return stored.model_copy(update=changes)

    def model_of(self, agent: Agent) -> str:
        """Return the model that is named for `agent`; empty when none is."""
        named = self.models.get(agent) if isinstance(agent, AgentRole) else self.characters.get(agent)
        return named or ""

    def without_numbers_of_characters(self) -> "Connection":
        """Return this with the lengths and temperatures of the roles alone."""
        return replace(
            self,
            lengths={agent: number for agent, number in self.lengths.items() if isinstance(agent, AgentRole)},
            temperatures={
                agent: heat for agent, heat in self.temperatures.items() if isinstance(agent, AgentRole)
            },
        )

    def note_on_models(self, configuration: Configuration) -> str:
        """Return what the names of the models may not have been meant to say; nothing where all is plain."""
        accounts = self.accounts(configuration)
        for text in (*self.models.values(), *self.characters.values()):
            prefix, colon, _ = text.partition(":")
            is_looking_so = colon and is_account_name(prefix.strip().lower())
            if configuration.settings.accounts and is_looking_so and not accounts.is_named_by(text):
                return (
                    f"{clean_line(text)} is taken for a model's name: there is no account {prefix.strip()}."
                )
        return ""

    def settings_of(self, agent: Agent) -> dict[str, SettingValue | None]:
        """Return the settings of `agent` that this says; None is the default."""
        return {
            "model": self.model_of(agent) or None,
            "max_output_tokens": self.lengths.get(agent),
            "temperature": self.temperatures.get(agent),
        }

    def keeps_model(self, stored: AgentSettings, agent: Agent, configuration: Configuration) -> bool:
        """Whether a model that is set stays although this names none.

        The local model has no use for the name of a service's model, and the service finds it there again.
        """
        is_idle = self.provider == "local" and not self.model_of(agent) and stored.model is not None
        return is_idle and not configuration.accounts.is_named_by(stored.model or "")

    def kept(self, configuration: Configuration) -> list[Agent]:
        """Return the agents whose model stays as it is set; as `keeps_model`."""
        stored: ProfileSettings = getattr(configuration.settings.profiles, self.profile_name(configuration))
        agents: dict[Agent, AgentSettings] = {role: getattr(stored, role.value) for role in AgentRole}
        agents |= {slot: stored.characters.get(slot, AgentSettings()) for slot in Slot}
        return [agent for agent, own in agents.items() if self.keeps_model(own, agent, configuration)]

    def _laid_over(self, stored: AgentSettings, agent: Agent, configuration: Configuration) -> AgentSettings:
        changes = self.settings_of(agent)
        if self.keeps_model(stored, agent, configuration):
            del changes["model"]
        return stored.model_copy(update=changes)

    def account(self, configuration: Configuration) -> Account:
        """Return the profile's own account as it will be, without a key that was typed."""
        return own_account(self.profile(configuration), self.profile_name(configuration))

    def accounts(self, configuration: Configuration) -> Accounts:
        """Return the accounts as they will be, the profile's own with the key that was typed."""
        profile, name = self.profile(configuration), self.profile_name(configuration)
        if self.key is not None:
            profile = profile.model_copy(update={"api_key": self.key})
        return accounts_of(profile, name, configuration.settings.accounts)

    def choices(self, configuration: Configuration) -> ModelAssignments:
        """Return the models as they will be; raises StoryEngineError for an account that cannot answer."""
        return choose_models(self.profile(configuration), self.accounts(configuration))

    def embedding_service(self, configuration: Configuration) -> EmbeddingChoice | None:
        """Return the model of a service that makes vectors, where one does; raises StoryEngineError."""
        settings = EmbeddingSettings(service=self.embedding or None)
        choice = choose_embedding(settings, self.accounts(configuration))
        return choice if choice is not None and choice.account.provider == "openai" else None


def connection_of(configuration: Configuration) -> Connection:
    """Return what is connected now."""
    profile, accounts = configuration.settings.active(), configuration.accounts
    roles: dict[Agent, AgentSettings] = {role: getattr(profile, role.value) for role in AgentRole}
    slots: dict[Agent, AgentSettings] = {Slot(slot): own for slot, own in profile.characters.items()}
    agents = roles | slots
    models = {
        agent: own.model
        for agent, own in agents.items()
        if own.model is not None and (profile.provider != "local" or accounts.is_named_by(own.model))
    }
    return Connection(
        provider=profile.provider,
        base_url=profile.base_url,
        models={role: models[role] for role in AgentRole if role in models},
        characters={slot: models[slot] for slot in Slot if slot in models},
        lengths={
            agent: own.max_output_tokens for agent, own in agents.items() if own.max_output_tokens is not None
        },
        temperatures={agent: own.temperature for agent, own in agents.items() if own.temperature is not None},
        embedding=configuration.settings.embedding.service or "",
    )


def connection_with(provider: ProviderName, configuration: Configuration) -> Connection:
    """Return what is connected, or what was before another provider was."""
    settings = configuration.settings
    if settings.active().provider != provider:
        profile = "production" if provider == "openai" else "local"
        settings = settings.model_copy(update={"profile": profile, "provider": provider})
    return connection_of(replace(configuration, settings=settings))


async def find_key(account: Account) -> FoundKey | None:
    """Return the key that would be used; the keyring may have to be unlocked, so it is asked in a thread."""
    return await asyncio.to_thread(find_api_key, account)


async def describe_key(account: Account, typed: SecretStr | None) -> str:
    """Return the names of the key and the headers that would be sent along, and none of their values."""
    if typed is not None:
        name: str | None = "the one typed just now"
    else:
        found = await find_key(account)
        name = None if found is None else found.name
    headers = f" Headers sent with it: {', '.join(account.headers)}." if account.headers else ""
    if name is None:
        return f"No key is sent: none is set.{headers}"
    return f"The key that is sent with it: {name}.{headers}"


@dataclass(frozen=True, slots=True)
class TestCallResult:
    """Result of a test call; `note` says why it is not on record, where it is not."""

    result: CallResult
    note: str = ""

    def __str__(self) -> str:
        [artifact] = self.result.call_records.artifacts
        answer = clean_line(self.result.text)
        if len(answer) > LONGEST_SHOWN:
            answer = answer[: LONGEST_SHOWN - 1] + "…"
        tokens = ""
        if artifact.usage.input_tokens is not None and artifact.usage.output_tokens is not None:
            tokens = f"; {artifact.usage.input_tokens:,} tokens in, {artifact.usage.output_tokens:,} out"
        return (
            f"{clean_line(artifact.model)} answered “{answer}” in {_seconds(artifact.total_ms)}, "
            f"first word after {_seconds(artifact.first_token_ms)}{tokens}.{_not_taken(self.result)}"
        )


def _not_taken(result: CallResult) -> str:
    names = " and ".join(result.refused_fields)
    return f" It does not take {names}; calls leave that out." if names else ""


def _seconds(milliseconds: int | None) -> str:
    return f"{(milliseconds or 0) / 1000:.2f} s"


async def run_test_call(
    accounts: Accounts, choices: ModelAssignments, configuration: Configuration, session: SessionHandle | None
) -> TestCallResult:
    """Make one tiny call to the model of the characters, and store it with the calls of `session`.

    A call that was made is stored also when it failed, or when the caller is cancelled meanwhile. Raises
    StoryEngineError when none could be made.
    """
    cancellation = Cancellation()
    call = asyncio.create_task(_run_test_call(accounts, choices, configuration, session, cancellation))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        cancellation.request()
        await asyncio.wait({call})
        raise


async def _run_test_call(
    accounts: Accounts,
    choices: ModelAssignments,
    configuration: Configuration,
    session: SessionHandle | None,
    cancellation: Cancellation,
) -> TestCallResult:
    if accounts.of(tested(choices).account).provider == "openai":
        from core.providers.openai.provider import preload

        await asyncio.to_thread(preload)  # It takes a second that must not count as the service's time.
    from core.providers.factory import make_provider

    paths = configuration.paths
    provider = make_provider(accounts.own, paths, choices)
    lanes = lanes_of(accounts, paths, choices)
    cashier = Cashier(configuration.prices, None, utc_now)
    gateway = ModelGateway(provider, choices, configuration.consent, utc_now, lanes=lanes, cashier=cashier)
    test = new_test_call(session.id if session is not None else NO_SESSION, utc_now())
    try:
        result = await make_test_call(gateway, test, cancellation)
    finally:
        await gateway.aclose()
    return TestCallResult(result, await _record(session, test, result))


async def _record(session: SessionHandle | None, test: TestCallRequest, result: CallResult) -> str:
    """Store a test call and return why it could not be; nothing when it is stored."""
    if session is None:
        return "This test is not recorded: no chapter is open."
    if session.is_read_only:
        return "This test is not recorded: another window writes in this chapter."
    try:
        # The record goes on in a task of its own: the GM need not wait for a database that is away.
        await asyncio.wait_for(session.record_test_call(test, result), RECORD_SECONDS)
    except TimeoutError:
        return "This test is recorded as soon as the database takes it."
    except StoryEngineError as error:
        return f"This test is not recorded: {error.message}"
    return ""


def connect(connection: Connection, configuration: Configuration) -> tuple[Configuration, str]:
    """Write the settings and return what holds from now on, with a note where the environment goes first.

    Raises StoryEngineError when the file cannot be written. May take a moment: call it in a thread.
    """
    name = connection.profile_name(configuration)
    wanted = connection.profile(configuration)
    change_settings(
        configuration.paths.config_file, changes_of(connection, name, connection.kept(configuration))
    )
    try:
        loaded = load_settings(configuration.paths.config_file)
    except InvalidSettingsError as error:
        raise IllegalCommandError(
            "The settings were written, but something else in config.toml or the environment is not valid.",
            f"Fix {configuration.paths.config_file} by hand; until then the program will not start again.",
        ) from error
    before = configuration.settings
    settings = before.model_copy(
        update={
            "profile": name,
            "profiles": before.profiles.model_copy(update={name: wanted}),
            "embedding": before.embedding.model_copy(update={"service": connection.embedding or None}),
            "provider": None,
            "base_url": None,
            "model": None,
        }
    )
    note = ""
    if _told_apart(loaded.active()) != _told_apart(wanted):
        first = [f"STORYENGINE_{part}" for part in OVERRIDES if f"STORYENGINE_{part}" in os.environ]
        note = (
            f"This holds until you quit: at the next start {' and '.join(first) or 'the environment'} "
            "overrides config.toml."
        )
    return replace(configuration, settings=settings), note


def _told_apart(profile: ProfileSettings) -> tuple[object, ...]:
    agents = [getattr(profile, role.value) for role in AgentRole]
    agents += [profile.characters.get(slot, AgentSettings()) for slot in Slot]
    return (
        profile.provider,
        profile.base_url if profile.provider == "openai" else "",
        *((own.model, own.max_output_tokens, own.temperature) for own in agents),
    )


def changes_of(connection: Connection, name: ProfileName, kept: Collection[Agent] = ()) -> SettingsChanges:
    """Return the settings to write; what would go before the profile in the same file is taken out.

    `kept` are the agents whose model stays as it is set.
    """
    changes: dict[SettingKey, SettingValue | None] = {
        ("provider",): None,
        ("base_url",): None,
        ("model",): None,
        ("profile",): name,
        ("profiles", name, "provider"): connection.provider,
        ("embedding", "service"): connection.embedding or None,
    }
    if connection.provider == "openai":
        changes["profiles", name, "base_url"] = normalise_base_url(connection.base_url)
    for agent in (*AgentRole, *Slot) if connection.provider != "scripted" else ():
        where = (agent.value,) if isinstance(agent, AgentRole) else ("characters", str(agent.value))
        for setting, value in connection.settings_of(agent).items():
            if setting != "model" or agent not in kept:
                changes["profiles", name, *where, setting] = value
    return changes
