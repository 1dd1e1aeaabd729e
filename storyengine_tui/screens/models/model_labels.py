"""Names of the models that answer, and their locations, as the GM is told before anything is sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config.consent import is_loopback
from core.config.models.accounts import Account, Accounts
from core.config.models.assignments import SCRIPT, ModelAssignments
from core.config.models.model_defaults import LOCAL_MODEL
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import Configuration

if TYPE_CHECKING:
    from storyengine_tui.screens.models.connection import Connection


@dataclass(frozen=True, slots=True)
class ModelLabel:
    """The model of one role, and the address that text goes to; None when nothing leaves the machine."""

    model: str
    address: str | None
    where: str
    """Location of the model, as the end of a sentence."""


def model_label_for(configuration: Configuration, role: AgentRole) -> ModelLabel:
    """Return who answers for `role`."""
    choice, accounts = configuration.choices[role], configuration.accounts
    account = accounts.of(choice.account)
    if account.provider == "scripted":
        return ModelLabel(SCRIPT, None, account.where)
    address = account.base_url if account.provider == "openai" else None
    return ModelLabel(choice.label, address, account.where)


def models_named(choices: ModelAssignments, names: Mapping[Slot, str], account: str | None = None) -> str:
    """Return every model and what it is called for, such as `a (world and chapter, characters), b (Mira)`.

    A character is named, as in `names`, where its model is not the one of all characters. With `account`
    only the models of that account are named.
    """
    shared = choices[AgentRole.CHARACTER]
    of_slot = {slot: choices.of(AgentRole.CHARACTER, slot.value) for slot in names}
    own = [(names[slot], choice) for slot, choice in of_slot.items() if choice.label != shared.label]
    served = [("world and chapter", choices[AgentRole.WORLD_LOCK])]
    if len(own) < len(names):
        served.append(("the other characters" if own else "characters", shared))
    served += [*own, ("memory", choices[AgentRole.CONTEXT_SUMMARY])]
    served.append(("narrative", choices[AgentRole.NARRATIVE]))
    named = [(what, choice.label) for what, choice in served if account in (None, choice.account)]
    return ", ".join(
        f"{clean_line(model)} ({', '.join(clean_line(what) for what, by in named if by == model)})"
        for model in dict.fromkeys(model for _, model in named)
    )


def services_called(accounts: Accounts, choices: ModelAssignments) -> list[Account]:
    """Return the accounts that are services, and that an agent calls."""
    called = [accounts.of(name) for name in choices.account_names]
    return [account for account in called if account.provider == "openai"]


def without_consent(configuration: Configuration) -> list[Account]:
    """Return the accounts that text would go to and may not yet; raises StoryEngineError when invalid."""
    consent = configuration.consent
    services = services_called(configuration.accounts, configuration.choices)
    return [account for account in services if not consent.is_granted(account.base_url)]


def said_without_service(typed: "Connection", configuration: Configuration) -> str:
    """Return who answers where no service does."""
    if typed.provider == "scripted":
        return "Replies come from a script, or are made up. Nothing leaves this machine."
    weights = typed.profile(configuration).model_path
    return (
        f"{weights.stem if weights else LOCAL_MODEL} plays every character, keeps the memory and writes "
        "the chapter. Nothing leaves this machine, and no key is needed."
    )


def said_of_consent(typed: "Connection", configuration: Configuration) -> str:
    """Return whether text may go to the address that is entered."""
    try:
        address = typed.address
    except StoryEngineError as error:
        return error.message
    if address is None or is_loopback(address):
        return "That is this machine; no consent is needed."
    if configuration.consent.is_granted(address):
        return "Text may go there (storyengine consent revoke ends it)."
    return "No text may go there yet; you are asked before any does."
