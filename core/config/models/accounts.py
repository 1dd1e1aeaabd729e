"""Accounts: the services that models are called at, and the name that chooses one (design 18).

The service of the profile is an account without a name: a model without a prefix is one of its models.
`local` names the local model, which can answer beside a service.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from core.config.consent import is_loopback, normalise_base_url
from core.config.sections import AccountSettings, ProfileName, ProfileSettings, ProviderName
from core.domain.errors import ErrorCode, StoryEngineError

OWN: Final = ""
"""Name of the profile's own account."""
LOCAL: Final = "local"
"""Name of the local model beside a service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Address and known properties of a service; its repr has no part of the key or the headers."""

    name: str = OWN
    profile: str = "local"
    """Name of the profile that calls it."""
    provider: ProviderName
    base_url: str = ""
    """As it was set; read by the provider `openai` only."""
    keyring_name: str
    """Name of its key in the system's keyring."""
    api_key: SecretStr | None = None
    model: str | None = None
    """The model where none is named; None takes the provider's default."""
    token_limit: int | None = None
    headers: Mapping[str, SecretStr] = field(default_factory=dict)
    concurrency: int | None = None
    requests_per_minute: int | None = None
    alternate_roles: bool | None = None
    is_enabled: bool = True
    model_path: Path | None = None
    """The GGUF file of the provider `local`, where it is not the bundled one."""
    script: Path | None = None
    """The file of replies of the provider `scripted`."""

    @property
    def address(self) -> str | None:
        """The address that text is sent to, normalised; None when it stays on this machine.

        Raises InvalidAddressError.
        """
        if self.provider != "openai" or is_loopback(self.base_url):
            return None
        return normalise_base_url(self.base_url)

    @property
    def where(self) -> str:
        """The location of its models, as the end of a sentence."""
        match self.provider:
            case "openai":
                return f"at {self.base_url}"
            case "local":
                return "on this machine; nothing leaves it"
            case "scripted":
                return "on this machine, in place of a model"


def setting_of_account(account: str, name: str) -> str:
    """Return the variable of the environment that sets `name` of `account`."""
    of = "" if account == OWN else f"ACCOUNTS__{account.upper()}__"
    return f"STORYENGINE_{of}{name.upper()}"


def labelled(account: str, model: str) -> str:
    """Return how a model is named beside those of other accounts: as it is set, `account:model`."""
    return model if account == OWN else f"{account}:{model}"


def account_keyring_name(name: str) -> str:
    """Return the name of an account's key in the keyring; no profile has one like it."""
    return f"account:{name}"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The profile's own account, and the others by name."""

    own: Account
    named: Mapping[str, Account] = field(default_factory=dict)

    def of(self, name: str) -> Account:
        """Return the account `name`, the profile's own for `OWN`; raise StoryEngineError without one."""
        if name == OWN:
            return self.own
        account = self.named.get(name.lower())
        if account is None:
            known = ", ".join(sorted(self.named)) or "none"
            raise StoryEngineError(
                ErrorCode.ILLEGAL_COMMAND,
                f"There is no account “{name}”; the accounts are: {known}.",
                "Accounts are set in config.toml as [accounts.NAME].",
            )
        return account

    def is_named_by(self, text: str) -> bool:
        """Whether `text` is the `account:model` of a known account."""
        prefix, colon, _ = text.partition(":")
        return bool(colon) and prefix.strip().lower() in self.named

    def split(self, text: str) -> tuple[Account, str]:
        """Return the account and the model that `account:model` names; the model may be empty.

        The part before the first colon counts only when it is an account's name: names of models have
        colons too. Everything else is a model of the profile's own account.
        """
        if not self.is_named_by(text):
            return self.own, text
        prefix, _, model = text.partition(":")
        return self.named[prefix.strip().lower()], model.strip()


def accounts_of(
    profile: ProfileSettings,
    profile_name: ProfileName = "local",
    named: Mapping[str, AccountSettings] | None = None,
) -> Accounts:
    """Return the accounts of `profile` and of the settings.

    A script answers in place of every account, so that a chapter played with one sends nothing.
    """
    own = own_account(profile, profile_name)
    if own.provider == "scripted":
        return Accounts(own)
    local = (
        own
        if own.provider == "local"
        else Account(
            name=LOCAL,
            profile=profile_name,
            provider="local",
            keyring_name=LOCAL,
            model_path=profile.model_path,
        )
    )
    others = {name: _account(name, profile_name, settings) for name, settings in (named or {}).items()}
    return Accounts(own, {LOCAL: local, **others})


def own_account(profile: ProfileSettings, profile_name: str) -> Account:
    """Return the profile's own account, which is what was configured before there were others."""
    return Account(
        profile=profile_name,
        provider=profile.provider,
        base_url=profile.base_url,
        keyring_name=profile_name,
        api_key=profile.api_key,
        model_path=profile.model_path,
        script=profile.script,
    )


def _account(name: str, profile_name: str, settings: AccountSettings) -> Account:
    return Account(
        name=name,
        profile=profile_name,
        provider="openai",
        base_url=settings.base_url,
        keyring_name=account_keyring_name(name),
        api_key=settings.api_key,
        model=settings.model,
        token_limit=settings.token_limit,
        headers=settings.headers,
        concurrency=settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        alternate_roles=settings.alternate_roles,
        is_enabled=settings.enabled,
    )
