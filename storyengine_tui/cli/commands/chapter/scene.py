"""`storyengine present`, `scene`, `mark`, `reveal`, `roll`, `write`: the scene of a chapter, and secrets."""

from collections.abc import Iterable
from random import Random
from typing import Annotated, Final

import typer

from core.context.visibility import names_of
from core.domain.audience import EVERYONE, Audience
from core.domain.clock import utc_now
from core.domain.dice import read_dice
from core.domain.dice import roll as roll_dice
from core.domain.errors import IllegalCommandError
from core.domain.session.session_state import SessionState
from core.domain.story.context_status import ContextStatus
from core.engine.decisions.commands import build_narrative
from core.engine.scene.scene_commands import add_roll
from core.storage.snapshot import Snapshot
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    closed_chapter,
    find_character,
    open_chapter,
    refuse_unanswered,
)
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import one_of, refuse_together

To = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="NAME", help="A character, by name or number; may be repeated."),
]


SENT: Final = {
    ContextStatus.DEFAULT: "sent while it is recent, as usual",
    ContextStatus.ALWAYS: "always sent to those who witnessed it",
    ContextStatus.NEVER: "sent to no model; memory of it stays",
}


async def present(
    session: SessionArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Those in the scene from now on, by name or number."),
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="The whole cast is in the scene.")] = False,
) -> None:
    """Say who is in the scene of a chapter, or change it: those present hear what you send from now on."""
    refuse_together(**{"NAME": names, "--everyone": everyone})
    async with closed_chapter(session) as closed:
        chapter = await closed.reads.load()
        if everyone or names:
            slots = EVERYONE if everyone else _audience(chapter, names or ())
            await closed.scene.set_present(slots)
            chapter = await closed.reads.load()
    say(f"Present: {names_of(chapter.session.here, chapter.session)}")


async def scene(
    session: SessionArgument,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="Where and when, as a line of yours.")] = "",
    to: To = None,
) -> None:
    """Begin a new scene: recent context begins there, as soon as all earlier lines are in memory."""
    async with closed_chapter(session, "begin it there") as closed:
        hearers = _audience(await closed.reads.load(), to) if to else None
        await closed.scene.begin_scene(words, hearers=hearers)
    say("A new scene begins.")


async def mark(
    session: SessionArgument,
    prompt: Annotated[int, typer.Argument(metavar="PROMPT", help="The number of the prompt.", min=0)],
    status: Annotated[
        ContextStatus,
        typer.Argument(
            **one_of(ContextStatus) | {"metavar": "STATUS"},
            help="Whether models are sent it; default is while it is recent.",
        ),
    ],
    line: Annotated[
        int | None, typer.Option(help="One line alone: 0 is your text, 1 the first reply to it.", min=0)
    ] = None,
) -> None:
    """Say whether models are sent a prompt and what follows it always, never, or as usual.

    What memory says of it already stays; `never` keeps it out of later memory.
    """
    async with closed_chapter(session, "mark it there") as chapter:
        canon = await chapter.reads.canon(first=prompt, last=prompt)
        events = [event for event in canon if line in (None, event.ordinal)]
        if not canon:
            raise IllegalCommandError(f"The chapter has no prompt {prompt:,}; `storyengine show` has all.")
        if not events:
            raise IllegalCommandError(f"Prompt {prompt:,} has no line {line}; `storyengine show` has all.")
        await chapter.scene.set_status(events, status)
    what = f"Prompt {prompt:,}" if line is None else f"Line {line} of prompt {prompt:,}"
    say(f"{what}: {SENT[status]}")


async def reveal(
    session: SessionArgument,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The secret, as `show` numbers it.")],
    to: To = None,
) -> None:
    """Reveal a secret of a chapter, to everyone or to those in --to."""
    async with closed_chapter(session, "reveal it there") as closed:
        chapter = await closed.reads.load()
        audience = _audience(chapter, to) if to else EVERYONE
        await closed.scene.reveal(number, audience)
    say(f"Secret {number} is revealed to: {names_of(audience, chapter.session)}")


async def roll(
    notation: Annotated[str, typer.Argument(metavar="DICE", help="What to roll, such as d20 or 2d6+1.")],
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="The chapter that gets the roll as a line.")
    ] = "",
    to: To = None,
    seed: Annotated[int | None, typer.Option(help="The same number rolls the same dice again.")] = None,
) -> None:
    """Roll dice and print the result; with SESSION those present hear it, or those in --to."""
    dice = read_dice(notation)
    rolled = roll_dice(dice) if seed is None else roll_dice(dice, Random(seed).randrange)
    if to and not session:
        raise IllegalCommandError("--to says who hears it in a chapter; name the chapter as well.")
    if session:
        async with closed_chapter(session, "roll it there") as closed:
            hearers = _audience(await closed.reads.load(), to) if to else None
            await closed.apply(lambda now: add_roll(now, rolled, utc_now(), hearers=hearers))
    say(rolled.text)


async def write(
    session: SessionArgument,
    as_: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Tell only what this character knows.")
    ] = "",
) -> None:
    """Write another draft of a chapter that has ended, and print it; earlier drafts stay."""
    async with open_chapter(session, _refuse_unended) as (_, opened):
        viewpoint = find_character(opened.snapshot, as_) if as_ else None
        request = await opened.wait(await opened.build_narrative(viewpoint=viewpoint))
        refuse_unanswered(request)
        draft = (await opened.reads.drafts())[-1]
    say(draft.text)


def _refuse_unended(chapter: Snapshot) -> None:
    """Raise IllegalCommandError for a chapter that has not ended; an interrupted build is over then."""
    state = chapter.session.state
    if not (state.has_ended or state is SessionState.RESETTING):
        build_narrative(chapter, utc_now())


def _audience(snapshot: Snapshot, names: Iterable[str]) -> Audience:
    return snapshot.session.audience_of(find_character(snapshot, name) for name in names)


COMMANDS = (present, scene, mark, reveal, roll, write)
