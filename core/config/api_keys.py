"""Where the key of a service comes from: settings and environment first, then the system's keyring."""

import os
from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from core.config.consent import InvalidAddressError, normalise_base_url
from core.config.paths import ENV_FILE
from core.config.settings import OPENAI_BASE_URL, ProfileSettings
from core.domain.errors import ErrorCode, StoryEngineError

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


def find_api_key(profile: ProfileSettings, profile_name: str) -> FoundKey | None:
    """Return the key for `profile`, or None when there is none; services on this machine often need no key.

    `OPENAI_API_KEY` counts only for OpenAI's own address: no other service is handed that key. May wait
    for the keyring to be unlocked, so call it outside the event loop.
    """
    if profile.api_key is not None and profile.api_key.get_secret_value().strip():
        return FoundKey(profile.api_key, "environment or settings", _named(profile.api_key, profile_name))
    ambient = os.environ.get("OPENAI_API_KEY", "").strip()
    if ambient and _is_openai(profile.base_url):
        return FoundKey(SecretStr(ambient), "environment or settings", _VARIABLE.format("OPENAI_API_KEY"))
    stored = _from_keyring(profile_name)
    return FoundKey(SecretStr(stored), "keyring", keyring_entry(profile_name)) if stored else None


def keyring_entry(profile_name: str) -> str:
    """Return what the key of a profile is called in the keyring, as part of a sentence."""
    return f"the entry {KEYRING_SERVICE}/{profile_name} of the system's keyring"


def _named(key: SecretStr, profile_name: str) -> str:
    """Return where a key of the settings stands: a variable if one holds just that, else a file."""
    for variable in ("STORYENGINE_API_KEY", f"STORYENGINE_PROFILES__{profile_name.upper()}__API_KEY"):
        if os.environ.get(variable) == key.get_secret_value():
            return _VARIABLE.format(variable)
    return f"the api_key in {ENV_FILE} or config.toml"


def store_api_key(profile_name: str, key: SecretStr) -> None:
    """Put the key of a profile into the keyring; raise StoryEngineError when there is no usable one."""
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(KEYRING_SERVICE, profile_name, key.get_secret_value())
    except (KeyringError, OSError):
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            "This system has no keyring that can be written; the key was not stored.",
            "Set STORYENGINE_API_KEY in the environment instead.",
        ) from None


def _is_openai(base_url: str) -> bool:
    try:
        return normalise_base_url(base_url) == OPENAI_BASE_URL
    except InvalidAddressError:
        return False


def _from_keyring(profile_name: str) -> str | None:
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(KEYRING_SERVICE, profile_name)
    except (KeyringError, OSError):
        return None
