"""`storyengine bank`: whether a chapter keeps a memory bank."""

import typer

from core.domain.requests.request import BackgroundRequest
from core.engine.kinds.extraction.requests import is_extraction
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.running import command, say

app = typer.Typer(help="The memory bank of a chapter: items that are drawn from play, and recalled.")


@app.callback()
def bank() -> None:
    """The memory bank of a chapter: items that are drawn from play, and recalled."""


@command(app, "on")
async def on(session: SessionArgument) -> None:
    """Keep a memory bank of a chapter; what was played is read as soon as it is opened."""
    unread = await _keep(session, is_on=True)
    parts = "1 part" if len(unread) == 1 else f"{len(unread):,} parts"
    more = f" {parts} of it will be read, in the background, while it is open." if unread else ""
    say(f"The chapter keeps a memory bank.{more}")


@command(app, "off")
async def off(session: SessionArgument) -> None:
    """Stop keeping a memory bank of a chapter; its items stay, and are not recalled."""
    await _keep(session, is_on=False)
    say("The chapter keeps no memory bank; the items that it has stay.")


async def _keep(session: str, *, is_on: bool) -> list[BackgroundRequest]:
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, session)
        await catalog.keep_bank(session_id, is_on=is_on)
        snapshot = await catalog.store.load(session_id)
    return [one for one in snapshot.background if is_extraction(one)]
