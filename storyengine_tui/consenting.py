"""Asking, once for each address, whether text may leave this machine (design 8)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from storyengine_tui.bootstrap import Configuration

if TYPE_CHECKING:
    from storyengine_tui.connection import Connection


async def may_send(app: App[Any], configuration: Configuration) -> bool:
    """Return whether text may go to the model that is connected; raises StoryEngineError."""
    from storyengine_tui.answering import address_without_consent
    from storyengine_tui.connection import connection_of

    address = address_without_consent(configuration)
    return address is None or await ask(app, configuration, connection_of(configuration), address)


async def ask(app: App[Any], configuration: Configuration, connection: "Connection", address: str) -> bool:
    """Ask whether text may go to `address`, saying which key goes with it; store that it may."""
    from storyengine_tui.connection import name_key
    from storyengine_tui.screens.consent_modal import ConsentModal

    if not await app.push_screen_wait(ConsentModal(address, partial(name_key, connection, configuration))):
        return False
    configuration.consent.grant(address)
    return True
