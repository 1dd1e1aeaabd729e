"""`storyengine away`, `silence`, `hint`: who left for a while, may be silent, or was silent for long."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from core.domain.audience import EVERYONE, NOBODY
from core.domain.clock import utc_now
from core.engine.scene import staging
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    away_line,
    closed_chapter,
    find_character,
    find_session,
    silence_line,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import refuse_together

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Characters, by name or number.", show_default=False),
]


async def away(
    session: SessionArgument,
    names: Names = None,
    until: Annotated[int, typer.Option(help="The prompt at which they are back; 0 until --back.")] = 0,
    back: Annotated[bool, typer.Option("--back", help="They are back now.")] = False,
) -> None:
    """Say who is away from a chapter, send characters away, or bring them back."""
    refuse_together(**{"--until": until, "--back": back})
    if (back or until) and not names:
        raise typer.BadParameter(f"Name who is {'back' if back else 'away'}.")
    async with closed_chapter(session) as closed:
        if names:
            await closed.apply(_leaving(names, until, is_back=back))
        chapter = (await closed.reads.load()).session
    say(away_line(chapter) or "Away: no one")


def _leaving(names: Sequence[str], until: int, *, is_back: bool) -> Callable[[Snapshot], Changes]:
    """Return the decision to send all of these characters away, or to bring them back; or none of them."""

    def decide(snapshot: Snapshot) -> Changes:
        made, now = Changes(session_id=snapshot.session.id), utc_now()
        for slot in dict.fromkeys(find_character(snapshot, name) for name in names):
            if is_back:
                made = staging.bring_back(snapshot, slot, now)
            else:
                made = staging.send_away(snapshot, slot, until, now)
            snapshot = replace(snapshot, session=made.session or snapshot.session)
        return made

    return decide


async def silence(
    session: SessionArgument,
    names: Names = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="The whole cast may.")] = False,
    off: Annotated[bool, typer.Option("--off", help="Everyone answers in words.")] = False,
) -> None:
    """Say which characters of a chapter may act without words or say nothing, or choose them."""
    refuse_together(**{"NAME": names, "--everyone": everyone, "--off": off})
    async with closed_chapter(session) as closed:
        if names or everyone or off:
            told = await closed.reads.load()
            slots = {find_character(told, name) for name in names or ()}
            chosen = NOBODY if off else EVERYONE if everyone else slots
            await closed.scene.set_silence(chosen)
        chapter = (await closed.reads.load()).session
    say(silence_line(chapter) or "May be silent: no one")


async def hint(
    session: SessionArgument,
    prompts: Annotated[
        int | None,
        typer.Argument(
            metavar="PROMPTS", help="After how many prompts to point a character out; 0 for never."
        ),
    ] = None,
) -> None:
    """Say which characters of a chapter were silent for long; with a number, point them out on tab 2."""
    configuration = await unlocked()
    rules = configuration.play.hints
    async with running_catalog(configuration) as catalog:
        closed = catalog.closed(await find_session(catalog, session))
        if prompts is not None:
            await closed.scene.set_hint(prompts)
        chapter, hints = await closed.reads.hints(rules)
    if not chapter.hint_after:
        say("No hints: name a number of prompts, such as 9.")
        return
    for one in hints:
        say(f"{chapter.name_of(one.slot)}: {one.text}")
    if not hints:
        silence, minutes = counted(chapter.hint_after, "prompt"), counted(rules.minutes, "minute")
        say(f"No one was silent for {silence} or {minutes} of play.")


COMMANDS = (away, silence, hint)
