"""`storyengine branch`, `undo`, `redo`, `take`, `reroll`: what was played, played otherwise."""

from typing import Annotated

import typer

from core.domain.requests.request import RequestState
from core.domain.story.event import Event, Role
from core.engine.services.takes import take_commands
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.play import PAUSED
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    closed_chapter,
    find_session,
    open_chapter,
    refuse_unanswered,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say, say_wrong


async def branch(
    session: SessionArgument,
    at: Annotated[int, typer.Option("--at", min=1, help="The last prompt that the branch has.")],
) -> None:
    """Make a new chapter that begins with another up to a prompt; the other one stays as it is."""
    async with running_catalog(await unlocked()) as catalog:
        fresh = await catalog.branch(await find_session(catalog, session), at)
    say(f"Branched at prompt {at:,} as chapter {fresh}")


async def undo(session: SessionArgument) -> None:
    """Take the newest prompt of a chapter back; `redo` brings it back."""
    async with closed_chapter(session, "undo it there") as chapter:
        await chapter.takes.undo()
        last = (await chapter.reads.load()).session.prompt_index
    now = counted(last, "prompt")
    say(f"Undone: the chapter has {now} now. The text is in its panel; `redo` brings it back.")


async def redo(session: SessionArgument) -> None:
    """Bring back the prompt that was undone last."""
    async with closed_chapter(session, "redo it there") as chapter:
        await chapter.takes.redo()
        last = (await chapter.reads.load()).session.prompt_index
    say(f"Prompt {last} is back.")


async def take(
    session: SessionArgument,
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", min=1, help="The take that is to count.")
    ] = None,
) -> None:
    """List the takes of the newest prompt, or choose the one that counts."""
    async with closed_chapter(session, "choose it there") as chapter:
        prompt, _ = take_commands.newest(await chapter.reads.load())
        if number is not None:
            await chapter.takes.choose(number)
            say(f"Take {number} counts now.")
            return
        takes = await chapter.takes.listed()
    for events in takes:
        mark = "*" if events[0].take == prompt.take else " "
        say(f"{mark} {events[0].take}  {' '.join(_reply(events).split())}")


async def reroll(
    session: SessionArgument,
    model: Annotated[
        str, typer.Option(help="Another model, or ACCOUNT:MODEL, for this take alone.", show_default=False)
    ] = "",
) -> None:
    """Ask for another take of the newest prompt, and print it."""
    async with open_chapter(session) as (engine, opened):
        if engine.queue.is_paused:
            say_wrong(PAUSED)
        request = await opened.wait(await opened.takes.reroll(model=model))
        while request.state is RequestState.DONE and (further := opened.snapshot.further_reply):
            request = await opened.wait(further.id)
        refuse_unanswered(request)
        newest = await opened.reads.canon(first=opened.snapshot.session.prompt_index)
    say(_reply(tuple(newest)))


def _reply(events: tuple[Event, ...]) -> str:
    return "\n\n".join(event.text for event in events if event.role is Role.AGENT)


COMMANDS = (branch, undo, redo, take, reroll)
