"""Asking for what a call needs: consent, once for each address, and the local model's weights (design 8)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from core.config.paths import Paths
    from core.config.settings import ProfileSettings
    from storyengine_tui.bootstrap import Configuration
    from storyengine_tui.screens.models.connection import Connection


async def ensure_callable(app: App[Any], configuration: "Configuration") -> bool:
    """Return whether the model that is connected can be called, after asking; raises StoryEngineError."""
    from storyengine_tui.screens.models.connection import connection_of
    from storyengine_tui.screens.models.model_labels import address_without_consent

    address = address_without_consent(configuration)
    if address is not None:
        return await ask(app, configuration, connection_of(configuration), address)
    return await have_weights(app, configuration.settings.active(), configuration.paths)


async def repair_after_failure(app: App[Any], configuration: "Configuration") -> bool:
    """After a call that failed, ask for what it lacked; return whether something was lacking and is there."""
    from storyengine_tui.screens.models.local_weights import are_missing
    from storyengine_tui.screens.models.model_labels import address_without_consent

    is_lacking = address_without_consent(configuration) is not None or await are_missing(
        configuration.settings.active(), configuration.paths
    )
    return is_lacking and await ensure_callable(app, configuration)


async def have_weights(app: App[Any], profile: "ProfileSettings", paths: "Paths") -> bool:
    """Return whether the local model, where it is to answer, has its weights; offer to fetch them."""
    from storyengine_tui.screens.models.fetch_modal import FetchModal
    from storyengine_tui.screens.models.local_weights import are_missing

    return not await are_missing(profile, paths) or await app.push_screen_wait(FetchModal(paths))


async def ask(app: App[Any], configuration: "Configuration", connection: "Connection", address: str) -> bool:
    """Ask whether text may go to `address`, saying which models and which key; store that it may."""
    from core.config.models import choose_models
    from core.domain.slot import Slot
    from storyengine_tui.screens.models.connection import name_key
    from storyengine_tui.screens.models.consent_modal import ConsentModal
    from storyengine_tui.screens.models.model_labels import models_named

    models = models_named(
        choose_models(connection.profile(configuration)),
        {slot: f"character {slot.value} {slot.name.capitalize()}" for slot in Slot},
    )
    modal = ConsentModal(address, models, partial(name_key, connection, configuration))
    if not await app.push_screen_wait(modal):
        return False
    configuration.consent.grant(address)
    return True
