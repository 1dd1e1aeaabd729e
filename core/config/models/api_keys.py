"""Finds the key of a service: in settings and environment first, then in the system's keyring."""

import logging
import os
from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from core.config.consent import InvalidAddressError, normalise_base_url
from core.config.files.paths import ENV_FILE
from core.config.models.accounts import OWN, Account, setting_of_account
from core.config.sections import OPENAI_BASE_URL
from core.domain.errors import ErrorCode, StoryEngineError

log = logging.getLogger(__name__)

KEYRING_SERVICE = "storyengine"
_VARIABLE = "the environment variable {}"

KeySource = Literal["environment or settings", "keyring"]


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key and where it was found; its repr shows no part of it.

    `name` tells it from every other key, such as `the environment variable OPENAI_API_KEY`.
    """

    key: SecretStr
    source: KeySource
    name: str


def find_api_key(account: Account) -> FoundKey | None:
    """Return the key for `account`, or None when there is none; services on this machine often need no key.

    `OPENAI_API_KEY` counts only for OpenAI's own address: no other service is handed that key. An account
    with a name is handed it only when it has no key of its own. May wait for the keyring to be unlocked, so
    call it outside the event loop.
    """
    if account.api_key is not None and account.api_key.get_secret_value().strip():
        return FoundKey(account.api_key, "environment or settings", _named(account.api_key, account))
    finders = (_ambient, _stored) if account.name == OWN else (_stored, _ambient)
    return next((found for find in finders if (found := find(account)) is not None), None)


def _ambient(account: Account) -> FoundKey | None:
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key or not _is_openai(account.base_url):
        return None
    return FoundKey(SecretStr(key), "environment or settings", _VARIABLE.format("OPENAI_API_KEY"))


def _stored(account: Account) -> FoundKey | None:
    key = _from_keyring(account.keyring_name)
    return FoundKey(SecretStr(key), "keyring", keyring_entry(account.keyring_name)) if key else None


def keyring_entry(name: str) -> str:
    """Return what the key of an account is called in the keyring, as part of a sentence."""
    return f"the entry {KEYRING_SERVICE}/{name} of the system's keyring"


def _named(key: SecretStr, account: Account) -> str:
    """Return where the settings have the key from: a variable if one holds just that, else a file."""
    variables = [setting_of_account(account.name, "api_key")]
    if account.name == OWN:
        variables.append(f"STORYENGINE_PROFILES__{account.keyring_name.upper()}__API_KEY")
    for variable in variables:
        if os.environ.get(variable) == key.get_secret_value():
            return _VARIABLE.format(variable)
    return f"the api_key in {ENV_FILE} or config.toml"


def store_api_key(account: Account, key: SecretStr) -> None:
    """Put the key of an account into the keyring; raise StoryEngineError when there is no usable one."""
    import keyring

    try:
        keyring.set_password(KEYRING_SERVICE, account.keyring_name, key.get_secret_value())
    except Exception as error:  # noqa: BLE001 - as in `_from_keyring`
        log.warning("the system's keyring cannot be written: %s", type(error).__name__)
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            "This system has no keyring that can be written; the key was not stored.",
            f"Set {setting_of_account(account.name, 'api_key')} in the environment instead.",
        ) from None


def _is_openai(base_url: str) -> bool:
    try:
        return normalise_base_url(base_url) == OPENAI_BASE_URL
    except InvalidAddressError:
        return False


def _from_keyring(name: str) -> str | None:
    import keyring

    try:
        return keyring.get_password(KEYRING_SERVICE, name)
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no key
        # A backend passes on the errors of its own libraries, such as those of D-Bus.
        log.warning("the system's keyring cannot be read: %s", type(error).__name__)
        return None
