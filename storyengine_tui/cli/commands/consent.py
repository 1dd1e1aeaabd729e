"""`storyengine consent`: the addresses that text may be sent to."""

from typing import Annotated

import typer

from storyengine_tui.bootstrap import configure
from storyengine_tui.cli.running import run, say

app = typer.Typer(help="Where text may be sent to. Nothing leaves this machine before you say so.")

Address = Annotated[str, typer.Argument(metavar="URL", help="The base URL of the service.")]


@app.command("list")
def list_() -> None:
    """List the addresses that were granted."""
    run(_list())


async def _list() -> None:
    granted = sorted(configure().consent.granted())
    for url in granted:
        say(url)
    if not granted:
        say("No address is granted: no text leaves this machine.")


@app.command()
def grant(url: Address) -> None:
    """Allow text to be sent to this address."""
    run(_grant(url))


async def _grant(url: str) -> None:
    address = configure().consent.grant(url)
    say(
        f"Granted. What you write for a chapter, and what was played, may now be sent to {address}. "
        "Take it back with `storyengine consent revoke`."
    )


@app.command()
def revoke(url: Address) -> None:
    """Allow it no longer."""
    run(_revoke(url))


async def _revoke(url: str) -> None:
    was_granted = configure().consent.revoke(url)
    say("Revoked." if was_granted else "That address was not granted.")
