"""`storyengine consent`: the addresses that text may be sent to."""

from typing import Annotated

import typer

from storyengine_tui.bootstrap import configure
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command

app = typer.Typer(help="Where text may be sent to. Nothing leaves this machine before you say so.")

Address = Annotated[str, typer.Argument(metavar="URL", help="The base URL of the service.")]


@command(app, "list")
async def list_() -> None:
    """List the addresses that were granted."""
    granted = sorted(configure().consent.granted())
    for url in granted:
        say(url)
    if not granted:
        say("No address is granted: no text leaves this machine.")


@command(app)
async def grant(url: Address) -> None:
    """Allow text to be sent to this address."""
    address = configure().consent.grant(url)
    say(
        f"Granted. Your texts for a chapter, and its story, may now be sent to {address}. "
        "Take it back with `storyengine consent revoke`."
    )


@command(app)
async def revoke(url: Address) -> None:
    """Allow it no longer."""
    was_granted = configure().consent.revoke(url)
    say("Revoked." if was_granted else "That address was not granted.")
