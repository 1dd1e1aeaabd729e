"""Who answers, and where: what the GM is told before anything is sent."""

from dataclasses import dataclass

from core.model_choice import AgentRole
from storyengine_tui.bootstrap import Configuration


@dataclass(frozen=True, slots=True)
class Answering:
    """The model of one role, and the address that text goes to; None when nothing leaves the machine."""

    model: str
    address: str | None
    where: str
    """Where the model is, as the end of a sentence."""


def answering(configuration: Configuration, role: AgentRole) -> Answering:
    """Return who answers for `role`."""
    profile = configuration.settings.active()
    match profile.provider:
        case "openai":
            return Answering(configuration.choices[role].model, profile.base_url, f"at {profile.base_url}")
        case "local":
            return Answering(configuration.choices[role].model, None, "on this machine; nothing leaves it")
        case "scripted":
            return Answering("a script", None, "on this machine, in place of a model")


def address_without_consent(configuration: Configuration) -> str | None:
    """Return the address that text would go to and may not yet; raises StoryEngineError when it is none."""
    profile = configuration.settings.active()
    if profile.provider != "openai" or configuration.consent.is_granted(profile.base_url):
        return None
    return profile.base_url
