"""Settings from the environment, `.env` and `config.toml`, in that order of precedence (design 8).

Three profiles (local, staging, production) keep provider, address, key and models apart; `profile`
picks one, and the top-level `provider`, `base_url`, `api_key` and `model` override it for one run.
"""

import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from core.config.files.bounded_file import read_bounded
from core.config.files.paths import ENCODING, ENV_FILE
from core.config.sections import (
    LONGEST_SHOWN_NAME,
    MOST_ACCOUNTS,
    MOST_PRICES,
    AccountSettings,
    CeilingSettings,
    EmbeddingSettings,
    ModelName,
    PriceSettings,
    ProfileName,
    Profiles,
    ProfileSettings,
    ProviderName,
    Seconds,
    Tries,
    is_account_name,
    refuse_controls,
)
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.session import USUAL_HINT_MINUTES
from core.text.cleaning import clean_line

_NOTHING: Mapping[str, Any] = {}
_in_file: ContextVar[Mapping[str, Any]] = ContextVar("in_file", default=_NOTHING)
"""The settings of the file that `load_settings` has read."""


class Settings(BaseSettings):
    """Everything that can be set; names of variables begin with `STORYENGINE_`, `__` goes one level down."""

    model_config = SettingsConfigDict(
        env_prefix="STORYENGINE_",
        env_nested_delimiter="__",
        env_file=ENV_FILE,
        env_file_encoding=ENCODING,
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
    """Maximum automatic tries of a summary; after that it waits for the GM."""
    background_backoff: Annotated[float, Field(gt=0, le=30)] = 2.0
    """Seconds until failed work beside the play is first tried again; doubles each time, to 30 seconds."""
    background_tries: Tries = 5
    """Maximum automatic tries of work beside the play; after that it is a dead letter."""
    afterthoughts: Annotated[int, Field(ge=0, le=20)] = 2
    """Maximum unasked additions of a character to one reply, where it may make any; 0 for none."""
    hint_minutes: Annotated[int, Field(ge=1, le=10_080)] = USUAL_HINT_MINUTES
    """Minutes of play after which a character counts as silent for long, in chapters with hints."""
    hints_by_model: bool = False
    """Whether the model of such a character is asked what it would speak about; a call each."""

    prices: Annotated[dict[ModelName, PriceSettings], Field(max_length=MOST_PRICES)] = {}
    """Prices of models, by the name that chooses them: `account:model`. They precede all others."""
    ceilings: CeilingSettings = CeilingSettings()
    """Amounts that may be spent before the GM is asked."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """Settings of the embedding model."""

    bell: bool = False
    """Ring the terminal's bell when a reply is done."""

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return refuse_controls(value)

    @field_validator("prices")
    @classmethod
    def _has_prices_of_plain_names(cls, value: dict[str, PriceSettings]) -> dict[str, PriceSettings]:
        refuse_controls(tuple(value))
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
        in_file = InitSettingsSource(settings_cls, dict(_in_file.get()))
        return (init_settings, env_settings, dotenv_settings, in_file)


class InvalidSettingsError(StoryEngineError):
    """A setting, or a file of settings, that cannot be used; no value is repeated, it may be a key."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, clean_line(message), hint)


def load_settings(config_file: Path) -> Settings:
    """Read the settings; raise InvalidSettingsError when one of them, or a file, is not valid."""
    before = _in_file.get()
    try:
        # Building a class for each file takes longer than reading the file.
        _in_file.set(_read_config(config_file))
        if Path(ENV_FILE).is_file():
            read_bounded(Path(ENV_FILE))
        return Settings()
    except (ValueError, RecursionError, OSError, SettingsError) as error:
        # Not `from error`: a traceback would show the content of the file.
        raise InvalidSettingsError(_complaint(error, config_file), _remedy(error, config_file)) from None
    finally:
        _in_file.set(before)


def _read_config(file: Path) -> dict[str, Any]:
    """Return the settings in `file`; empty if there is no such file.

    Raises OSError, ValueError and RecursionError. Raises InvalidSettingsError for a name that no setting has:
    what it was to set, such as a ceiling, would not hold.
    """
    try:
        content = read_bounded(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    found = tomllib.loads(content.decode(ENCODING))
    for name in found:
        if name not in Settings.model_fields:
            raise InvalidSettingsError(
                _invalid(_shortened(name), "extra_forbidden", ""), f"Fix it in {file}."
            )
    return found


def _complaint(error: Exception, config_file: Path) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_input=False)[0]
            where = _shortened(".".join(str(step) for step in first["loc"]))
            return _invalid(where, first["type"], first["msg"])
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


def _remedy(error: Exception, config_file: Path) -> str:
    """Return what the GM can do: where it may be fixed, as far as that is known."""
    match error:
        case UnicodeDecodeError():
            return f"Fix it in {ENV_FILE} or in {config_file}."
        case OSError():
            return f"Let the program read {error.filename or config_file}, or move it away."
        case SettingsError():
            return f"Fix it in the environment or in {ENV_FILE}."
        case ValidationError():
            return f"Fix it in the environment, in {ENV_FILE} or in {config_file}."
        case _:
            return f"Fix it in {config_file}, or move it away."


def _invalid(where: str, fault: str, message: str) -> str:
    """Return what is wrong with a setting; `fault` and `message` are pydantic's."""
    if fault == "extra_forbidden":
        return f"There is no setting {where}."
    if fault == "missing":
        return f"The setting {where} is missing."
    said = (message[:1].lower() + message[1:]).replace("decimal input", "input")
    return f"The setting {where} is not valid: {said.replace('input should', 'it should')}."


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN_NAME else text[:LONGEST_SHOWN_NAME] + "…"
