"""Who answers, and where: what the GM is told before anything is sent."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.config.accounts import Account, Accounts
from core.config.models import SCRIPT, AgentRole, ModelAssignments
from core.domain.slot import Slot
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import Configuration


@dataclass(frozen=True, slots=True)
class ModelLabel:
    """The model of one role, and the address that text goes to; None when nothing leaves the machine."""

    model: str
    address: str | None
    where: str
    """Where the model is, as the end of a sentence."""


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
