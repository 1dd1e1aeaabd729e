"""`storyengine bank on`, `off`, `read`, `language`: whether a chapter has a memory bank, and its reading."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError, SessionLockedError
from core.domain.requests.cost import FREE
from core.domain.requests.request import BackgroundRequest
from core.domain.session.language import LANGUAGES, read_language
from core.engine.kinds.bank.requests import is_extraction
from core.engine.services.bank.bank import NO_BANK
from core.engine.services.bank.keeping import set_language
from core.engine.services.bank.words import failed_in_words
from core.engine.session.closed_session import ClosedSession
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_engine
from storyengine_tui.cli.asking import confirm
from storyengine_tui.cli.commands.chapter.play import PAUSED
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    closed_chapter,
    find_session,
    open_chapter,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say, say_wrong
from storyengine_tui.cli.running import command

if TYPE_CHECKING:
    from core.engine.session.money import ReadingForecast

app = typer.Typer(help="The memory bank: people, places, threads, facts and quotes of a chapter, one by one.")


@command(app, "on")
async def on(
    session: SessionArgument, is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Keep a memory bank of a chapter; what was played is read as soon as it is opened.

    Where that costs money it says how much at most, and asks first.
    """
    async with running_engine(await unlocked()) as engine:
        session_id = await find_session(engine, session)
        if not _may_cost(await engine.forecast_of_bank(session_id), is_sure=is_sure):
            say("Nothing was changed.")
            return
        unread = await _keep(engine.closed(session_id), is_on=True)
    parts = counted(len(unread), "part")
    more = f" {parts} of it will be read, in the background, while it is open." if unread else ""
    say(f"The chapter keeps a memory bank.{more}")


@command(app, "off")
async def off(session: SessionArgument) -> None:
    """Stop keeping a memory bank of a chapter; its items stay, and are not recalled."""
    async with closed_chapter(session) as chapter:
        await _keep(chapter, is_on=False)
    say("The chapter keeps no memory bank; the items that it has stay.")


@command(app)
async def read(session: SessionArgument) -> None:
    """Read the parts of a chapter that its memory bank lacks, and wait for that.

    What it has is then found by its meaning too, where a model makes vectors.
    """
    async with open_chapter(session) as (engine, opened):
        if opened.is_read_only:
            raise SessionLockedError()
        if not opened.snapshot.session.keeps_bank:
            raise IllegalCommandError(NO_BANK)
        if engine.queue.is_paused:
            say_wrong(PAUSED)
        parts = len(opened.keeping.unread)
        await opened.keeping.wait_until_read()
        if not engine.queue.is_paused and await engine.embeddings.is_available():
            await opened.vectors.wait_until_made()
        failed = failed_in_words(opened.snapshot.requests)
    if failed:
        raise IllegalCommandError(f"{failed[0].upper()}{failed[1:]}; `storyengine queue list` says why.")
    say(f"Read {counted(parts, 'part')}." if parts else "Everything in memory has been read already.")


@command(app)
async def language(
    session: SessionArgument,
    wanted: Annotated[
        str, typer.Argument(metavar="LANGUAGE", help=f"One of {LANGUAGES}; without it, the current one.")
    ] = "",
) -> None:
    """Say in which language a story is told: recall and search know the forms of its words."""
    if wanted and read_language(wanted) is None:
        raise IllegalCommandError(f"“{clean_line(wanted)}” is not among the languages: {LANGUAGES}.")
    async with closed_chapter(session) as chapter:
        if (language := read_language(wanted)) is not None:
            await chapter.apply(partial(set_language, language=language, now=utc_now()))
        stored = (await chapter.reads.load()).session.language
    say(f"The language of the chapter is {stored.value}.")


async def _keep(chapter: ClosedSession, *, is_on: bool) -> list[BackgroundRequest]:
    await chapter.keep_bank(is_on=is_on)
    snapshot = await chapter.reads.load()
    return [one for one in snapshot.background if is_extraction(one)]


def _may_cost(forecast: "ReadingForecast", *, is_sure: bool) -> bool:
    """Say what reading a chapter costs, and return whether it may; what is free is not spoken of."""
    if forecast.amount == FREE:
        return True
    say(forecast.costs)
    return is_sure or confirm(forecast.question, otherwise="Add --yes to have it read.")
