"""Makes the provider that a profile asks for; each implementation is imported only when it is wanted."""

from functools import partial

from pydantic import SecretStr

from core.config.api_keys import find_api_key
from core.config.models import choose_models
from core.config.paths import Paths
from core.config.settings import ProfileSettings
from core.providers.base import Provider


def make_provider(profile: ProfileSettings, paths: Paths, *, profile_name: str = "local") -> Provider:
    """Return the provider of `profile`; `profile_name` is the user name under which the keyring is asked.

    Cheap: keys, SDK and model are looked for at the first call. Raises StoryEngineError for an address
    or a script that cannot be used.
    """
    match profile.provider:
        case "openai":
            from core.providers.openai.provider import OpenAIProvider

            return OpenAIProvider(base_url=profile.base_url, find_key=partial(_key, profile, profile_name))
        case "local":
            from core.providers.local.provider import LocalProvider

            return LocalProvider(
                paths, model_path=profile.model_path, context_window=_largest_window(profile)
            )
        case "scripted":
            from core.providers.scripted.provider import ScriptedProvider

            return ScriptedProvider.from_file(profile.script) if profile.script else ScriptedProvider()


def _key(profile: ProfileSettings, profile_name: str) -> SecretStr | None:
    found = find_api_key(profile, profile_name)
    return found.key if found else None


def _largest_window(profile: ProfileSettings) -> int:
    """Tokens that the one local server must hold for any of the agents."""
    choices = choose_models(profile)
    return max(choice.context_window for choice in (*choices.values(), *choices.characters.values()))
