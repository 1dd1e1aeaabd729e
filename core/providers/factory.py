"""Makes the provider of an account, and what makes vectors; each is imported only when it is wanted."""

from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from core.config.files.paths import Paths
from core.config.models.accounts import Account
from core.config.models.api_keys import find_api_key
from core.config.models.assignments import ModelAssignments
from core.config.models.embedding import EmbeddingChoice
from core.providers.base import Provider
from core.providers.embedding.base import Embedder

if TYPE_CHECKING:
    from core.providers.openai.provider import OpenAIProvider

_DEFAULT_WINDOW: Final = 8_192
"""Tokens that the local server holds where no agent asks for it."""


def make_provider(account: Account, paths: Paths, choices: ModelAssignments) -> Provider:
    """Return the provider of `account`, for the calls that `choices` assign to it.

    Cheap: keys, SDK and model are looked for at the first call. Raises StoryEngineError for an address
    or a script that cannot be used.
    """
    match account.provider:
        case "openai":
            return _service(account)
        case "local":
            from core.providers.local.provider import LocalProvider

            return LocalProvider(
                paths, model_path=account.model_path, context_window=_largest_window(account, choices)
            )
        case "scripted":
            from core.providers.scripted.provider import ScriptedProvider

            return ScriptedProvider.from_file(account.script) if account.script else ScriptedProvider()


def make_embedder(choice: EmbeddingChoice, paths: Paths) -> Embedder:
    """Return what makes vectors; as cheap as `make_provider`, and raises as it does."""
    account = choice.account
    match account.provider:
        case "openai":
            from core.providers.embedding.service import ServiceEmbedder

            return ServiceEmbedder(_service(account), choice.model, account.name)
        case "local":
            from core.providers.embedding.local import LocalEmbedder

            return LocalEmbedder(paths)
        case "scripted":
            from core.providers.embedding.scripted import ScriptedEmbedder
            from core.providers.scripted.script import load_script

            return ScriptedEmbedder(load_script(account.script).synonyms if account.script else ())


def _service(account: Account) -> "OpenAIProvider":
    from core.providers.openai.provider import OpenAIProvider

    return OpenAIProvider(
        base_url=account.base_url,
        find_key=partial(_key, account),
        headers=account.headers,
        alternate_roles=account.alternate_roles,
    )


def _key(account: Account) -> SecretStr | None:
    found = find_api_key(account)
    return found.key if found else None


def _largest_window(account: Account, choices: ModelAssignments) -> int:
    """Tokens that the one local server must hold for any of the agents that it answers."""
    of_account = [
        choice.context_window
        for choice in (*choices.values(), *choices.characters.values())
        if choice.account == account.name
    ]
    return max(of_account, default=_DEFAULT_WINDOW)
