"""An account as it is being set: what was typed, checked and written to the settings (design 18)."""

import asyncio
import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr, ValidationError

from core.config.consent import normalise_base_url
from core.config.models.accounts import Account, Accounts, account_keyring_name, accounts_of
from core.config.models.api_keys import find_api_key, store_api_key
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import MOST_ACCOUNTS, AccountSettings, AgentSettings, is_account_name
from core.domain.errors import IllegalCommandError
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.settings_file import SettingKey, SettingValue, change_settings

_LONGEST_KIND = 32
OPTIONAL = ("model", "token_limit", "concurrency", "requests_per_minute")
"""Fields that may be left blank."""
WRITTEN = ("base_url", *OPTIONAL, "enabled")
"""Fields that can be edited on the screen; key and headers of an account go to no file from here."""


@dataclass(frozen=True, kw_only=True)
class TypedAccount:
    """The name of an account and the texts of its fields; an empty one is the default."""

    name: str
    base_url: str
    model: str = ""
    token_limit: str = ""
    concurrency: str = ""
    requests_per_minute: str = ""
    is_enabled: bool = True
    key: SecretStr | None = None
    """A key that was typed now, and is not stored anywhere yet."""
    is_new: bool = False
    """Whether it is to be one more account, and never a change of one that exists."""

    def settings(self, configuration: Configuration) -> AccountSettings:
        """Return the settings of the account; raise StoryEngineError for invalid ones."""
        if not is_account_name(self.name):
            raise IllegalCommandError(
                "An account needs a name of up to 40 lower-case letters, digits and single _, beginning with "
                "a letter, and not “local”."
            )
        before = configuration.settings.accounts.get(self.name)
        if before is not None and self.is_new:
            raise IllegalCommandError(
                f"There is an account {self.name} already; nothing was changed.",
                "Choose it above to change it, or give the new one another name.",
            )
        if before is None and len(configuration.settings.accounts) >= MOST_ACCOUNTS:
            raise IllegalCommandError(
                f"There are {MOST_ACCOUNTS} accounts, and no more can be added; nothing was changed.",
                "Take one out of config.toml first.",
            )
        kept = before.model_dump(exclude_unset=True) if before is not None else {}
        try:
            return AccountSettings.model_validate({**kept, **self._values()})
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            field = str(first["loc"][0]).replace("_", " ")
            raise IllegalCommandError(
                f"The {field} of the account is not valid: {first['msg'].lower()}."
            ) from None

    def _values(self) -> dict[str, object]:
        texts = {name: getattr(self, name).strip() or None for name in OPTIONAL}
        return {"base_url": self.base_url.strip(), "enabled": self.is_enabled, **texts}

    def laid_over(self, configuration: Configuration) -> Configuration:
        """Return the configuration with this account; raise StoryEngineError when an agent cannot go on."""
        accounts = {**configuration.settings.accounts, self.name: self.settings(configuration)}
        settings = configuration.settings.model_copy(update={"accounts": accounts})
        changed = replace(configuration, settings=settings)
        _ = changed.choices
        return changed

    def for_test(self, configuration: Configuration) -> tuple[Accounts, ModelAssignments]:
        """Return the accounts, this one with the key that was typed, and choices that are all at it."""
        settings = self.settings(configuration).model_copy(update={"enabled": True})
        if self.key is not None:
            settings = settings.model_copy(update={"api_key": self.key})
        profile = configuration.settings.active().model_copy(
            update={"provider": "local", "character": AgentSettings(model=f"{self.name}:"), "characters": {}}
        )
        accounts = accounts_of(profile, configuration.settings.profile, {self.name: settings})
        return accounts, choose_models(profile, accounts)

    def save(self, configuration: Configuration) -> Configuration:
        """Write the account to config.toml, a key to the keyring, and return what holds from now on.

        Raises StoryEngineError. May take a moment: call it in a thread.
        """
        changed = self.laid_over(configuration)
        if self.key is not None:
            store_api_key(changed.accounts.of(self.name), self.key)
        settings = changed.settings.accounts[self.name]
        values: dict[SettingKey, SettingValue | None] = {
            ("accounts", self.name, name): getattr(settings, name) for name in WRITTEN
        }
        if settings.enabled:
            values["accounts", self.name, "enabled"] = None
        change_settings(configuration.paths.config_file, values)
        return changed


def account_of_server(
    kind: str, address: str, model: str, configuration: Configuration
) -> TypedAccount | None:
    """Return a new account for a server of this machine, named after its kind; None if it has one.

    `model` becomes the account's default model.
    """
    accounts = configuration.settings.accounts
    if any(known.base_url == normalise_base_url(address) for known in accounts.values()):
        return None
    plain = re.sub("[^a-z0-9]+", "_", kind.lower()).strip("_")[:_LONGEST_KIND].strip("_")
    plain = plain if is_account_name(plain) else "server"
    names = (plain, *(f"{plain}_{number}" for number in range(2, len(accounts) + 2)))
    name = next(name for name in names if name not in accounts)
    return TypedAccount(name=name, base_url=address, model=model, is_new=True)


def account_as_typed(name: str, settings: AccountSettings) -> TypedAccount:
    """Return the texts of an existing account."""
    values = {name: getattr(settings, name) for name in OPTIONAL}
    texts: dict[str, Any] = {name: "" if value is None else str(value) for name, value in values.items()}
    return TypedAccount(name=name, base_url=settings.base_url, is_enabled=settings.enabled, **texts)


async def said_of_key(name: str, settings: AccountSettings) -> str:
    """Return where the key of an account comes from and which headers it has, and nothing that they hold."""
    account = Account(
        name=name,
        provider="openai",
        base_url=settings.base_url,
        api_key=settings.api_key,
        keyring_name=account_keyring_name(name),
    )
    found = await asyncio.to_thread(find_api_key, account)
    key = f"key from the {found.source}" if found else "no key"
    return f"{key}, headers {', '.join(settings.headers)}" if settings.headers else key
