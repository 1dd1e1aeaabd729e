"""Asks for the preconditions of a call: consent, once for each address, and local weights (design 8)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from pydantic import SecretStr

    from core.config.files.paths import Paths
    from core.config.models.accounts import Account
    from core.config.models.assignments import ModelAssignments
    from core.config.sections import ProfileSettings
    from core.domain.errors import StoryEngineError
    from core.domain.requests.request import Request
    from core.engine.session.money import Money
    from core.engine.session.session_handle import SessionHandle
    from core.ledger.ceilings import Reached
    from storyengine_tui.bootstrap import Configuration


async def ensure_callable(app: App[Any], configuration: "Configuration") -> bool:
    """Return whether every model that is connected can be called, after asking; raises StoryEngineError."""
    from storyengine_tui.screens.models.model_labels import without_consent

    for account in without_consent(configuration):
        if not await ask(app, configuration, configuration.choices, account):
            return False
    return await have_weights(app, _answering(configuration), configuration.paths)


def is_repairable(session: "SessionHandle | None", request: "Request", error: "StoryEngineError") -> bool:
    """Whether a call may have failed because consent, money or the local model's weights were missing.

    A call that is retried automatically must not ask for the weights each time.
    """
    from core.domain.errors import ErrorCode

    if session is None or session.is_read_only or request.spec.is_background:
        return False
    is_refused = error.code is ErrorCode.LLM_REQUEST_ERROR and not request.spec.retry.is_automatic
    return is_refused or error.code in (ErrorCode.CONSENT_REQUIRED, ErrorCode.CEILING_REACHED)


async def repair_after_failure(
    app: App[Any], configuration: "Configuration", session: "SessionHandle"
) -> bool:
    """Ask for a missing precondition of a failed call; return whether one was missing and is met now."""
    if (reached := session.money.reached) is not None:
        return await _may_go_on(app, session.money, reached)
    from storyengine_tui.screens.models.model_labels import without_consent
    from storyengine_tui.screens.models.permission.local_weights import are_missing

    is_lacking = bool(without_consent(configuration)) or await are_missing(
        _answering(configuration), configuration.paths
    )
    return is_lacking and await ensure_callable(app, configuration)


async def _may_go_on(app: App[Any], money: "Money", reached: "Reached") -> bool:
    """Ask whether more may be spent than the ceiling that was reached; until the program ends."""
    from core.ledger.sums import dollars
    from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

    more = dollars(reached.next_limit)
    question = ConfirmModal(
        "Go on beyond your ceiling?",
        f"{reached.sentence}\n\nUp to {more} may be spent then, until you quit. The ceiling itself stays as "
        f"it is set: `{reached.what}` under [ceilings] in config.toml.",
        confirm=f"Allow {more}",
        cancel="Not now",
        is_unasked=True,
    )
    if not await app.push_screen_wait(question):
        return False
    money.go_on()
    return True


def _answering(configuration: "Configuration") -> "ProfileSettings":
    """Return the profile; as one of the local model where an agent calls that beside a service."""
    from core.config.models.accounts import LOCAL

    profile = configuration.settings.active()
    is_beside = LOCAL in configuration.choices.account_names
    return profile.model_copy(update={"provider": "local"}) if is_beside else profile


async def have_weights(app: App[Any], profile: "ProfileSettings", paths: "Paths") -> bool:
    """Return whether the local model, where it is to answer, has its weights; offer to fetch them."""
    from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
    from storyengine_tui.screens.models.permission.local_weights import are_missing

    return not await are_missing(profile, paths) or await app.push_screen_wait(FetchModal(paths))


async def ask(
    app: App[Any],
    configuration: "Configuration",
    choices: "ModelAssignments",
    account: "Account",
    key: "SecretStr | None" = None,
    also: str = "",
) -> bool:
    """Ask whether text may go to `account`, saying which models and which key; store that it may.

    `key` is one that was typed just now, `also` names what is called there beside the models of agents.
    """
    from core.config.consent import normalise_base_url
    from core.domain.slot import Slot
    from storyengine_tui.screens.models.connection import describe_key
    from storyengine_tui.screens.models.model_labels import models_named
    from storyengine_tui.screens.models.permission.consent_modal import ConsentModal

    address = normalise_base_url(account.base_url)
    models = models_named(
        choices, {slot: f"character {slot.value} {slot.name.capitalize()}" for slot in Slot}, account.name
    )
    models = ", ".join(filter(None, (models, also)))
    if not await app.push_screen_wait(ConsentModal(address, models, partial(describe_key, account, key))):
        return False
    configuration.consent.grant(address)
    return True
