"""Chooses the embedding model and its account (design 15)."""

from dataclasses import dataclass
from typing import Final

from core.config.models.accounts import LOCAL, Account, Accounts
from core.config.models.assignments import named_account
from core.config.sections import EmbeddingSettings
from core.domain.errors import ErrorCode, StoryEngineError

OFF: Final = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChoice:
    """The embedding model and its parameters."""

    account: Account
    """The account that texts are sent to; the local one for the bundled model, whatever the story has."""
    model: str = ""
    """The model, as its service knows it; empty for the bundled one and for a script."""
    batch: int
    """Texts in one call beside the play."""
    is_set: bool
    """Whether the GM chose it; else it is used where its weights are."""


def choose_embedding(settings: EmbeddingSettings, accounts: Accounts) -> EmbeddingChoice | None:
    """Return what makes vectors; None where it is switched off.

    A script answers in place of every model. Where the profile's own account is the local model, a name
    without an account means the bundled one, as names of models mean nothing there.

    Raises StoryEngineError for an account that cannot answer.
    """
    service = (settings.service or LOCAL).strip()
    is_set = settings.service is not None
    if service.lower() == OFF:
        return None
    if accounts.own.provider == "scripted":
        return EmbeddingChoice(account=accounts.own, batch=settings.batch, is_set=is_set)
    if service.lower() == LOCAL or accounts.split(service)[0].provider == "local":
        return EmbeddingChoice(account=accounts.of(LOCAL), batch=settings.batch, is_set=is_set)
    account, model = named_account(accounts, service, "embedding")
    if not model:  # the default of an account writes text, and makes no vectors
        raise StoryEngineError(
            ErrorCode.ILLEGAL_COMMAND,
            f"The service “{service}” that is set for embedding names no model; nothing was sent.",
            f"Set `service` under [embedding] in config.toml to {account.name}:MODEL, to local or to off.",
        )
    return EmbeddingChoice(account=account, model=model, batch=settings.batch, is_set=is_set)
