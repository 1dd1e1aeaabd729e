"""Keys: where they come from, in which order, and that none shows."""

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from pydantic import SecretStr

from core.config.models.accounts import Account, accounts_of, own_account
from core.config.models.api_keys import KEYRING_SERVICE, find_api_key, store_api_key
from core.config.sections import AccountSettings, ProfileSettings
from core.domain.errors import ErrorCode, StoryEngineError


class Memory(KeyringBackend):
    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library's
        self.stored: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.stored.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.stored[service, username] = password


class Closed(Memory):
    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    def get_password(self, service: str, username: str) -> str | None:
        raise self._error

    def set_password(self, service: str, username: str, password: str) -> None:
        raise self._error


class BusError(Exception):
    """An error of a library below the keyring, which does not derive from the keyring's own error."""


@pytest.fixture(autouse=True)
def ring(monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = keyring.get_keyring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", before)
    backend = Memory()
    keyring.set_keyring(backend)
    return backend


def of_profile(name: str) -> Account:
    return own_account(ProfileSettings(), name)


def named(**settings: object) -> Account:
    read = AccountSettings.model_validate({"base_url": "https://api.openai.com/v1", **settings})
    return accounts_of(ProfileSettings(), "local", {"work": read}).of("work")


def value(profile: ProfileSettings, name: str = "production") -> tuple[str, str] | None:
    found = find_api_key(own_account(profile, name))
    return (found.key.get_secret_value(), found.source) if found else None


def test_settings_come_first(ring: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    store_api_key(of_profile("production"), SecretStr("ringed"))
    monkeypatch.setenv("OPENAI_API_KEY", "ambient")
    assert value(ProfileSettings(api_key=SecretStr("set"))) == ("set", "environment or settings")
    assert value(ProfileSettings(api_key=SecretStr(" "))) == ("ambient", "environment or settings")


def test_a_key_is_named_by_where_it_stands(ring: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def name(profile: ProfileSettings) -> str:
        found = find_api_key(own_account(profile, "production"))
        return "" if found is None else found.name

    typed = ProfileSettings(api_key=SecretStr("set"))
    store_api_key(of_profile("production"), SecretStr("ringed"))
    assert name(ProfileSettings()) == "the entry storyengine/production of the system's keyring"
    monkeypatch.setenv("OPENAI_API_KEY", "ambient")
    assert name(ProfileSettings()) == "the environment variable OPENAI_API_KEY"
    assert name(typed) == "the api_key in .env or config.toml"
    monkeypatch.setenv("STORYENGINE_PROFILES__PRODUCTION__API_KEY", "set")
    assert name(typed) == "the environment variable STORYENGINE_PROFILES__PRODUCTION__API_KEY"
    monkeypatch.setenv("STORYENGINE_API_KEY", "set")
    assert name(typed) == "the environment variable STORYENGINE_API_KEY"


@pytest.mark.parametrize(
    ("base_url", "is_given"),
    [
        ("https://api.openai.com/v1", True),
        ("https://API.openai.com/v1/", True),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://openrouter.ai/api/v1", False),
        ("http://api.openai.com/v1", False),
        ("http://localhost:11434/v1", False),
        ("not an address", False),
    ],
)
def test_the_ambient_key_is_for_openai_alone(
    base_url: str, is_given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ambient")
    assert (value(ProfileSettings(base_url=base_url)) is not None) is is_given


def test_the_keyring_is_asked_by_profile(ring: Memory) -> None:
    store_api_key(of_profile("staging"), SecretStr("ringed"))
    assert ring.stored == {(KEYRING_SERVICE, "staging"): "ringed"}
    assert value(ProfileSettings(), "staging") == ("ringed", "keyring")
    assert value(ProfileSettings(), "production") is None


@pytest.mark.parametrize("error", [KeyringLocked, BusError])
def test_a_keyring_that_does_not_open_is_none(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    keyring.set_keyring(Closed(error))
    assert value(ProfileSettings()) is None
    with pytest.raises(StoryEngineError) as caught:
        store_api_key(of_profile("production"), SecretStr("SECRET"))
    assert caught.value.code is ErrorCode.STORAGE_SAVE_FAILED
    assert "SECRET" not in str(caught.value) + caplog.text
    assert caplog.text.count(error.__name__) == 2, "the log says why, once for each"


def test_a_found_key_does_not_show() -> None:
    account = own_account(ProfileSettings(api_key=SecretStr("SECRET")), "production")
    assert "SECRET" not in repr(find_api_key(account))
    assert "SECRET" not in repr(account)


def test_an_account_has_a_key_of_its_own_and_takes_one_for_openai_last(
    ring: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(account: Account) -> tuple[str, str] | None:
        key = find_api_key(account)
        return (key.key.get_secret_value(), key.name) if key else None

    assert found(named()) is None
    monkeypatch.setenv("OPENAI_API_KEY", "ambient")
    assert found(named()) == ("ambient", "the environment variable OPENAI_API_KEY")
    assert found(named(base_url="https://elsewhere.example/v1")) is None
    store_api_key(named(), SecretStr("ringed"))
    assert ring.stored == {(KEYRING_SERVICE, "account:work"): "ringed"}
    assert found(named()) == ("ringed", "the entry storyengine/account:work of the system's keyring")
    monkeypatch.setenv("STORYENGINE_ACCOUNTS__WORK__API_KEY", "set")
    assert found(named(api_key="set")) == (
        "set",
        "the environment variable STORYENGINE_ACCOUNTS__WORK__API_KEY",
    )
    assert value(ProfileSettings()) == ("ambient", "environment or settings"), "the profile has its own"


def test_a_keyring_that_does_not_open_names_the_variable_of_the_account() -> None:
    keyring.set_keyring(Closed(KeyringLocked))
    with pytest.raises(StoryEngineError) as caught:
        store_api_key(named(), SecretStr("SECRET"))
    assert "STORYENGINE_ACCOUNTS__WORK__API_KEY" in caught.value.hint
    assert "SECRET" not in str(caught.value)
