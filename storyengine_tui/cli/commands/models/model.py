"""`storyengine model`: which model answers, and keys in the keyring."""

import asyncio
from dataclasses import replace
from typing import Annotated

import typer

from core.config.models.accounts import LOCAL, OWN, Account, setting_of_account
from core.config.models.model_config import ModelConfig
from core.config.sections import ProfileName
from core.domain.agent_role import AgentRole
from core.text.numbers import counted
from storyengine_tui.bootstrap import configure
from storyengine_tui.cli.asking import ask_hidden
from storyengine_tui.cli.commands.models import model_catalogue
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command

app = typer.Typer(help="Who answers: the local model's weights, keys, and what is set now.")
model_catalogue.register(app)


@command(app)
async def show() -> None:
    """Show which model serves which agent, and where."""
    configuration = configure()
    profile = configuration.settings.active()
    say(f"Profile {configuration.settings.profile}, provider {profile.provider}")
    if profile.provider == "openai":
        say(f"Address {profile.base_url}")
        say(await said_of_key(configuration.accounts.own))
    choices, accounts = configuration.choices, configuration.accounts
    agents = [(role.value, choices[role]) for role in AgentRole]
    agents += [(f"character {slot.value}", choice) for slot, choice in sorted(choices.characters.items())]
    for name, choice in agents:
        where = f" {accounts.of(choice.account).where}" if len(choices.account_names) > 1 else ""
        room = f"{choice.max_input_tokens:,} tokens in{_memory(choice)} and {choice.max_output_tokens:,} out"
        limit = _limit(choice.requests_per_minute)
        say(", ".join(filter(None, (f"{name}: {choice.label}{where}", f"up to {room}", limit))))


async def said_of_key(account: Account) -> str:
    """Return where the key of an account comes from, and nothing of the key itself."""
    from core.config.models.api_keys import find_api_key

    key = await asyncio.to_thread(find_api_key, account)
    return f"Key: {'from the ' + key.source if key else 'none'}"


@command(app)
async def accounts() -> None:
    """List the accounts: address, where the key comes from, limits; nothing of keys and headers."""
    configuration = configure()
    services = [
        one for name, one in sorted(configuration.accounts.named.items()) if one.name == name != LOCAL
    ]
    for account in services:
        limits = [
            "" if account.is_enabled else "switched off",
            f"default model {account.model}" if account.model else "",
            f"{counted(account.concurrency, 'call')} at once" if account.concurrency else "",
            _limit(account.requests_per_minute),
            f"headers {', '.join(account.headers)}" if account.headers else "",
        ]
        facts = [account.base_url, await said_of_key(account), *filter(None, limits)]
        say(f"{account.name}: {', '.join(facts)}")
    if not services:
        say("There is no account besides the profile's own; [accounts.NAME] in config.toml sets one.")


def _memory(choice: ModelConfig) -> str:
    cap = choice.max_memory_tokens
    return "" if cap is None else f" (at most {cap:,} of them memory)"


def _limit(rate: int | None) -> str:
    return "" if rate is None else f"at most {counted(rate, 'call')} a minute"


@command(app, "key")
async def key_(
    name: Annotated[
        str, typer.Argument(metavar="ACCOUNT", help="An account; left out, the profile's own.")
    ] = OWN,
    profile: Annotated[
        ProfileName | None, typer.Option(help="The profile that it belongs to; left out, the active one.")
    ] = None,
) -> None:
    """Store a key in the system's keyring; it is read from a hidden prompt."""
    from core.config.models.api_keys import store_api_key

    configuration, is_given = configure(), profile is not None
    profile = profile or configuration.settings.profile
    account = configuration.accounts.of(name)
    if account.name == OWN:
        account = replace(account, keyring_name=profile)
    elif is_given:
        raise typer.BadParameter("Every profile uses the same key of an account; leave --profile out.")
    variable = setting_of_account(account.name, "api_key")
    key = ask_hidden("Key", otherwise=f"Start it at a terminal, or set {variable}.")
    await asyncio.to_thread(store_api_key, account, key)
    whose = f"account {account.name}" if account.name else f"profile {profile}"
    say(f"Saved in the keyring for the {whose}.")
