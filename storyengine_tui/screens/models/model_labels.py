"""Who answers, and where: what the GM is told before anything is sent."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    profile = configuration.settings.active()
    match profile.provider:
        case "openai":
            return ModelLabel(configuration.choices[role].model, profile.base_url, f"at {profile.base_url}")
        case "local":
            return ModelLabel(configuration.choices[role].model, None, "on this machine; nothing leaves it")
        case "scripted":
            return ModelLabel(SCRIPT, None, "on this machine, in place of a model")


def models_named(choices: ModelAssignments, names: Mapping[Slot, str]) -> str:
    """Return every model and what it is called for, such as `a (world and chapter, characters), b (Mira)`.

    A character is named, as in `names`, where its model is not the one of all characters.
    """
    shared = choices[AgentRole.CHARACTER].model
    of_slot = {slot: choices.of(AgentRole.CHARACTER, slot.value).model for slot in names}
    own = [(names[slot], model) for slot, model in of_slot.items() if model != shared]
    served = [("world and chapter", choices[AgentRole.WORLD_LOCK].model)]
    if len(own) < len(names):
        served.append(("the other characters" if own else "characters", shared))
    served += [*own, ("memory", choices[AgentRole.CONTEXT_SUMMARY].model)]
    served.append(("narrative", choices[AgentRole.NARRATIVE].model))
    models = dict.fromkeys(model for _, model in served)
    return ", ".join(
        f"{clean_line(model)} ({', '.join(clean_line(what) for what, by in served if by == model)})"
        for model in models
    )


def address_without_consent(configuration: Configuration) -> str | None:
    """Return the address that text would go to and may not yet; raises StoryEngineError when invalid."""
    profile = configuration.settings.active()
    if profile.provider != "openai" or configuration.consent.is_granted(profile.base_url):
        return None
    return profile.base_url
