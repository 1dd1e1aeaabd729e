"""`storyengine slots`: lists, makes, restores and deletes the save slots of a chapter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from core.domain.ids import SessionId
from core.domain.story.save_point import AUTOMATIC, NAMED, SavePoint
from core.engine.services.save_points.save_points import SavePoints
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_any_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command, print_rows
from storyengine_tui.screens.shared.state_labels import STATE_LABELS

app = typer.Typer(
    help=f"Save slots: {len(AUTOMATIC)} automatic ones for each chapter, and {len(NAMED)} that you name."
)
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The slot's number, as `slots list` shows it.")]


@command(app, "list")
async def list_(session: SessionArgument) -> None:
    """List the save slots of a chapter, archived or not."""
    async with _points_of(session) as (points, session_id):
        taken = await points.listed(session_id)
    nothing = "This chapter has no save slot yet; the first one is taken when it is locked."
    print_rows(("Slot", "Name", "State", "Prompts", "Taken"), [_cells(point) for point in taken], nothing)


def _cells(point: SavePoint) -> tuple[str, ...]:
    taken = point.taken_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return (str(point.number), point.label, STATE_LABELS[point.state], f"{point.prompt_index:,}", taken)


@command(app)
async def save(
    session: SessionArgument,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Your name for it; the same name again replaces it.")
    ],
) -> None:
    """Save a chapter as it is now, under a name of yours."""
    async with _points_of(session) as (points, session_id):
        point = await points.keep(session_id, name)
    say(f"Saved as “{point.label}” in save slot {point.number}, at prompt {point.prompt_index:,}.")


@command(app)
async def restore(session: SessionArgument, number: Number) -> None:
    """Make a new chapter that begins where the slot was taken; nothing else is touched."""
    async with _points_of(session) as (points, session_id):
        fresh = await points.restore(session_id, number)
    say(f"Restored as chapter {fresh}")


@command(app)
async def drop(session: SessionArgument, number: Number) -> None:
    """Delete a slot that you named."""
    async with _points_of(session) as (points, session_id):
        await points.drop(session_id, number)
    say(f"Deleted save slot {number}.")


@asynccontextmanager
async def _points_of(name: str) -> AsyncIterator[tuple[SavePoints, SessionId]]:
    """Yield the save points and the id of their chapter."""
    async with running_catalog(await unlocked()) as catalog:
        yield catalog.save_points, await find_any_session(catalog, name)
