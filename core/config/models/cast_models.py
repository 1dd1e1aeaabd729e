"""The models that characters of a chapter bring from the library: whether they can be called (design 14).

What the GM chooses for one call goes first, then what F6 names for the slot, then what the character brings,
and then what all characters have. One that cannot be called is no failure: the model of the slot answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core.config.consent import Consent, InvalidAddressError
from core.config.models.accounts import OWN, Account
from core.config.models.api_keys import find_api_key
from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.session.profile import Profiles
from core.domain.slot import Slot

FindKey = Callable[[Account], object]
"""Returns the key of an account; None for an account without one."""


def look_up(
    choices: ModelAssignments, profiles: Profiles, consent: Consent | None, find_key: FindKey = find_api_key
) -> Mapping[str, str]:
    """Find out, and return by account, what those lack that these characters bring: consent, or a key.

    May wait for the keyring to be unlocked, so call it outside the event loop.
    """
    elsewhere = choices.elsewhere
    texts = [one.model for one in profiles.values() if one.model]
    if elsewhere is None or not texts:
        return {}
    accounts, lacking = elsewhere.accounts, elsewhere.lacking
    named = {account.name: account for account, _ in map(accounts.split, texts) if account.name != OWN}
    for name, account in named.items():
        # Consent can be withdrawn at any time; a key that was found once is not looked for again.
        has_key = lacking.get(name) == ""
        lacking[name] = _lacks(account, consent, (lambda _: True) if has_key else find_key)
    return lacking


def _lacks(account: Account, consent: Consent | None, find_key: FindKey) -> str:
    """Return what keeps an account from being called, as part of a sentence; empty if nothing does."""
    try:
        if account.address is None:
            return ""
        if consent is None or not consent.is_granted(account.address):
            return f"no text may go to the account {account.name} yet (F6, then Ctrl+N, tests it)"
    except InvalidAddressError:
        return f"the account {account.name} has no valid address"
    return "" if find_key(account) else f"no key of the account {account.name} is found"


def with_lacking(choices: ModelAssignments, lacking: Mapping[str, str]) -> ModelAssignments:
    """Return the choices with the already known reasons why accounts cannot be called."""
    if choices.elsewhere is None or not lacking:
        return choices
    return replace(choices, elsewhere=replace(choices.elsewhere, lacking={**lacking}))


class CastModels:
    """Models that the characters of a chapter bring, with messages for the GM."""

    def __init__(self, choices: ModelAssignments, profiles: Profiles) -> None:
        self._settings, self._profiles = choices, profiles
        self.choices = choices.for_cast(profiles)
        """The choices with which the chapter is called."""
        self._why_not = {
            slot: choices.why_not(slot, one.model) for slot, one in profiles.items() if one.model
        }

    @property
    def played(self) -> frozenset[Slot]:
        """The slots that are played by the model that their character brings."""
        return frozenset(slot for slot, why in self._why_not.items() if not why)

    def played_by(self, names: Mapping[Slot, str]) -> list[str]:
        """Return a sentence for each of these characters that is played by the model it brings."""
        labels = {slot: self.choices.of(AgentRole.CHARACTER, slot).label for slot in sorted(self.played)}
        return [
            f"{_named(slot, names)} is played by {label}, as the library has it."
            for slot, label in labels.items()
        ]

    def not_played(self, names: Mapping[Slot, str]) -> list[str]:
        """Return a sentence for each whose model does not play it, and why; none where a script answers."""
        if self._settings.is_scripted:
            return []
        return [
            f"{_named(slot, names)} is meant for {self._profiles[slot].model}, but {why}: "
            "the model of its slot answers."
            for slot, why in sorted(self._why_not.items())
            if why
        ]


def _named(slot: Slot, names: Mapping[Slot, str]) -> str:
    return names.get(slot) or slot.default_name
