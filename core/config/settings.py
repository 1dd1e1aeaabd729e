"""Settings from the environment, `.env` and `config.toml`, in that order of precedence (design 8).

Three profiles (local, staging, production) keep provider, address, key and models apart; `profile`
picks one, and the top-level `provider`, `base_url`, `api_key` and `model` override it for one run.
"""

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from core.config.bounded_file import read_bounded
from core.config.consent import normalise_base_url
from core.config.paths import ENV_FILE
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.cost import MOST_DOLLARS
from core.text.cleaning import clean_line, has_controls

ProviderName = Literal["local", "openai", "scripted"]
RecentContext = Literal["exact", "stable"]
StyleName = Literal["full", "small"]
ProfileName = Literal["local", "staging", "production"]

_LONGEST_NAME = 100
LONGEST_MODEL_NAME = 200
MAX_SECONDS = 86_400
"""A day: what is longer is a mistake, and would not fit the times and the numbers that are stored."""
Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
ModelName = Annotated[str, Field(max_length=LONGEST_MODEL_NAME)]
DollarsPerMillion = Annotated[Decimal, Field(ge=0, le=MOST_DOLLARS, max_digits=15, decimal_places=9)]
Dollars = Annotated[Decimal, Field(ge=Decimal("0.01"), le=MOST_DOLLARS, max_digits=12, decimal_places=4)]
Tries = Annotated[int, Field(ge=1, le=1_000)]
CallsPerMinute = Annotated[int, Field(gt=0, le=1_000_000)]
OPENAI_BASE_URL = "https://api.openai.com/v1"


def _refuse_controls(value: object) -> object:
    """A name or an address is shown, stored and sent: what could act on a terminal gets no further than here.

    Secrets are not looked at; they are shown nowhere, and a password may be anything.
    """
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str | Path) and has_controls(str(text)):
            raise PydanticCustomError("control_characters", "it holds control characters")
    return value


class AgentSettings(BaseModel):
    """How one kind of agent is called. What is None takes the provider's default."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: ModelName | None = None
    """Name of the model, as the service knows it; `account:model` for one of another account."""
    context_window: Tokens | None = None
    """How many tokens the model can hold, input and output together."""
    max_input_tokens: Tokens | None = None
    """Cap for the input; what is over budget is reduced in the documented order
    (`core.agents.context_builder`)."""
    max_memory_tokens: Tokens | None = None
    """Cap for structured memory within the input."""
    max_output_tokens: Tokens | None = None
    """Cap for the output, reasoning included."""
    timeout: Seconds | None = None
    """Seconds until the first token, and between two."""
    temperature: Annotated[float, Field(ge=0, le=10)] | None = None
    """Left out when None; reasoning models take none."""
    requests_per_minute: CallsPerMinute | None = None
    """Rate limit for this agent; None takes the default of the provider."""
    style: StyleName | None = None
    """`full` or `small`: the prompts that the model gets. Left out, its size decides."""

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return _refuse_controls(value)


MOST_ACCOUNTS = 100
MOST_PRICES = 200
MOST_HEADERS = 20
_LONGEST_HEADER = 4_000
_ACCOUNT_NAME = re.compile(r"(?=.{1,40}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
"""What a variable of the environment can name too: `STORYENGINE_ACCOUNTS__NAME__API_KEY`."""
_RESERVED_NAMES = frozenset({"local"})
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")
_OUR_HEADERS = re.compile(
    r"(?:host|accept(?:-.*)?|authorization|connection|content-.*|cookie|expect|keep-alive|proxy-.*|te|trailer"
    r"|transfer-encoding|upgrade|user-agent)\Z"
)


def is_account_name(name: str) -> bool:
    """Whether an account of the GM's may be called `name`."""
    return bool(_ACCOUNT_NAME.match(name)) and name not in _RESERVED_NAMES


class AccountSettings(BaseModel):
    """A service beside the profile's own; its name is the part before the colon in `account:model`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    base_url: str
    """Address of an OpenAI-compatible service."""
    api_key: SecretStr | None = None
    """Prefer the environment or the keyring to a file."""
    model: ModelName | None = None
    """The model that answers where only the account is named: `account:`."""
    token_limit: Tokens | None = None
    """How many tokens its models can hold, input and output together, where an agent sets no window."""
    headers: Annotated[dict[str, SecretStr], Field(max_length=MOST_HEADERS)] = {}
    """Sent with every call to it, and shown nowhere."""
    concurrency: Annotated[int, Field(gt=0, le=1_000)] | None = None
    """How many calls it takes at the same time; None sets no limit."""
    requests_per_minute: CallsPerMinute | None = None
    """How many calls of all agents together may begin within a minute."""
    alternate_roles: bool | None = None
    """Whether it takes only messages of user and assistant by turns; None goes by what is known of it."""
    enabled: bool = True

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return _refuse_controls(value)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        try:
            return normalise_base_url(value)
        except StoryEngineError:
            raise PydanticCustomError("address", "it is no address such as https://host/v1") from None

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            text = value.get_secret_value()
            if not _HEADER_NAME.match(name):
                raise PydanticCustomError("header", "a name in it is no name of a header")
            if _OUR_HEADERS.match(name.lower()):
                raise PydanticCustomError("header", "a header in it is set by the program itself")
            if len(text) > _LONGEST_HEADER or not _HEADER_VALUE.match(text):
                raise PydanticCustomError("header", "a value in it cannot be sent in a header")
        if len({name.lower() for name in headers}) < len(headers):
            raise PydanticCustomError("header", "a header is in it twice")
        return headers


class ProfileSettings(BaseModel):
    """One environment: who answers, where, with which key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: ProviderName = "local"
    base_url: str = OPENAI_BASE_URL
    """Address of an OpenAI-compatible service; read by the provider `openai` only."""
    api_key: SecretStr | None = None
    """Prefer the environment or the keyring to a file."""
    model_path: Path | None = None
    """Another GGUF file for the provider `local`."""
    script: Path | None = None
    """The file of replies for the provider `scripted`."""
    recent_context: RecentContext | None = None
    """`exact`: a character reads the last seven prompts, and what is not in memory yet. `stable`: up to
    seven more, so that consecutive inputs begin alike, which a prompt cache rewards. Left out, it is what
    was measured to be better for the provider (`core.config.models`)."""
    avoid_repeats: bool = True
    """Whether a character whose reply only repeats its prompt, an earlier reply or the GM is asked again."""
    recent_prompts: Annotated[int, Field(ge=10, le=100)] | None = None
    """How many prompts a character reads at least, where that is to be more than the last seven."""
    world_lock: AgentSettings = AgentSettings()
    character: AgentSettings = AgentSettings()
    context_summary: AgentSettings = AgentSettings()
    narrative: AgentSettings = AgentSettings()
    characters: dict[Annotated[int, Field(ge=1, le=7)], AgentSettings] = {}
    """What one character has of its own, by its slot; the rest is `character`'s."""

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return _refuse_controls(value)


class Profiles(BaseModel):
    """The three environments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    local: ProfileSettings = ProfileSettings()
    staging: ProfileSettings = ProfileSettings(provider="openai")
    production: ProfileSettings = ProfileSettings(provider="openai")

    @field_validator("*", mode="before")
    @classmethod
    def _over_its_defaults(cls, value: object, info: ValidationInfo) -> object:
        """Lay what is set over the defaults of this profile, which are not those of ProfileSettings."""
        default = cls.model_fields[info.field_name or ""].default
        return {**default.model_dump(exclude_unset=True), **value} if isinstance(value, Mapping) else value


class PriceSettings(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: DollarsPerMillion
    output: DollarsPerMillion
    cached_input: DollarsPerMillion | None = None
    """Input that the service had in its cache; None where it costs what other input does."""
    reasoning: DollarsPerMillion | None = None
    """Output that is spent on reasoning; None where it costs what other output does."""


class CeilingSettings(BaseModel):
    """US dollars that may be spent before the GM is asked; None never asks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chapter: Dollars | None = None
    day: Dollars | None = None
    """From midnight to midnight, in all chapters together."""


class Settings(BaseSettings):
    """Everything that can be set; names of variables begin with `STORYENGINE_`, `__` goes one level down."""

    model_config = SettingsConfigDict(
        env_prefix="STORYENGINE_",
        env_nested_delimiter="__",
        env_file=ENV_FILE,
        extra="ignore",
        frozen=True,
        defer_build=True,
    )

    profile: ProfileName = "local"
    profiles: Profiles = Profiles()
    provider: ProviderName | None = None
    """Overrides the profile's provider."""
    base_url: str | None = None
    """Overrides the profile's address."""
    api_key: SecretStr | None = None
    """Overrides the profile's key."""
    model: ModelName | None = None
    """Overrides the model of every agent; `account:model` for one of an account."""
    accounts: Annotated[dict[str, AccountSettings], Field(max_length=MOST_ACCOUNTS)] = {}
    """Services beside the profile's own, by name."""
    model_path: Path | None = None
    """Overrides the profile's GGUF file."""
    script: Path | None = None
    """Overrides the profile's file of replies."""
    consent: tuple[str, ...] = ()
    """Addresses that text may be sent to, besides those granted in the app."""
    database_url: SecretStr | None = None
    """A PostgreSQL server; without it the private one is used."""
    password_hash: SecretStr | None = None
    """Argon2 hash of the password that guards the chapters; `storyengine password` sets it."""
    password: SecretStr | None = None
    """The password itself, for commands without a terminal; never in a file."""
    summary_backoff: Seconds = 5.0
    """Seconds until a failed summary is first tried again; doubles each time, to five minutes."""
    summary_tries: Tries = 20
    """How often a summary is tried by itself; after that it waits for the GM."""
    background_backoff: Annotated[float, Field(gt=0, le=30)] = 2.0
    """Seconds until failed work beside the play is first tried again; doubles each time, to 30 seconds."""
    background_tries: Tries = 5
    """How often work beside the play is tried by itself; after that it is a dead letter."""
    afterthoughts: Annotated[int, Field(ge=0, le=20)] = 2
    """How often a character adds something unasked to one reply, where it may; 0 for never."""

    prices: Annotated[dict[ModelName, PriceSettings], Field(max_length=MOST_PRICES)] = {}
    """What models cost, by the name that chooses them: `account:model`. They count before all others."""
    ceilings: CeilingSettings = CeilingSettings()
    """How much may be spent before the GM is asked."""

    bell: bool = False
    """Ring the terminal's bell when a reply is done."""

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return _refuse_controls(value)

    @field_validator("prices")
    @classmethod
    def _has_prices_of_plain_names(cls, value: dict[str, PriceSettings]) -> dict[str, PriceSettings]:
        _refuse_controls(tuple(value))
        return value

    @field_validator("accounts", mode="before")
    @classmethod
    def _has_plain_names(cls, value: object) -> object:
        if isinstance(value, Mapping) and not all(is_account_name(str(name)) for name in value):
            raise PydanticCustomError(
                "account_name",
                "an account has a name of up to 40 lower-case letters, digits and single _, beginning with "
                "a letter, and not “local”",
            )
        return value

    def active(self) -> ProfileSettings:
        """Return the chosen profile with the top-level overrides applied."""
        chosen: ProfileSettings = getattr(self.profiles, self.profile)
        changes = {
            name: value
            for name in ("provider", "base_url", "api_key", "model_path", "script")
            if (value := getattr(self, name)) is not None
        }
        if self.model is not None:
            for name in ("world_lock", "character", "context_summary", "narrative"):
                changes[name] = getattr(chosen, name).model_copy(update={"model": self.model})
            changes["characters"] = {
                slot: own.model_copy(update={"model": self.model}) for slot, own in chosen.characters.items()
            }
        return chosen.model_copy(update=changes)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment before `.env` before `config.toml`."""
        return (init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls))


class InvalidSettingsError(StoryEngineError):
    """A setting, or a file of settings, that cannot be used; no value is repeated, it may be a key."""

    def __init__(self, message: str, config_file: Path) -> None:
        hint = f"Fix it in the environment, in {ENV_FILE} or in {config_file}."
        super().__init__(ErrorCode.ILLEGAL_COMMAND, clean_line(message), hint)


def load_settings(config_file: Path) -> Settings:
    """Read the settings; raise InvalidSettingsError when one of them, or a file, is not valid."""

    class FromFile(Settings):
        model_config = SettingsConfigDict(**{**Settings.model_config, "toml_file": config_file})

    try:
        for file in (config_file, Path(ENV_FILE)):
            if file.is_file():
                read_bounded(file)
        return FromFile()
    except (ValueError, RecursionError, OSError, SettingsError) as error:
        # Not `from error`: a traceback would show the content of the file.
        raise InvalidSettingsError(_complaint(error, config_file), config_file) from None


def _complaint(error: Exception, config_file: Path) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_input=False)[0]
            where = _shortened(".".join(str(step) for step in first["loc"]))
            return f"The setting {where} is not valid: {first['msg'].lower()}."
        case tomllib.TOMLDecodeError():
            return f"{config_file.name} is not valid TOML: {error}."
        case UnicodeDecodeError():
            return f"{ENV_FILE} or {config_file.name} is not UTF-8; save it as UTF-8 and try again."
        case OSError():
            return f"{error.filename or config_file} cannot be read: {error.strerror}."
        case SettingsError():
            return f"A setting of the environment or of {ENV_FILE} cannot be read: {error}."
        case _:
            return f"{config_file.name} has a number too long, or brackets too deep, to be read."


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "…"
