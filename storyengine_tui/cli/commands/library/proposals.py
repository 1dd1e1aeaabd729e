"""`storyengine cast assist`, `cast proposals` and `ceremony`: changes of characters, for the GM to decide."""

import re
import shlex
from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated

import typer

from core.domain.errors import IllegalCommandError, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId, SessionId
from core.domain.proposal import Proposal
from core.engine.catalog import SessionCatalog
from core.engine.engine import Engine
from core.engine.services.library.proposals import Offered
from core.engine.session.session_handle import SessionHandle
from core.library.book import Book
from core.library.characters.character import LibraryCharacter
from core.library.proposals.words import about, origin, proposed, there
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog, running_engine
from storyengine_tui.cli.commands.chapter.play import PAUSED
from storyengine_tui.cli.commands.chapter.sessions import find_session, refuse_unanswered
from storyengine_tui.cli.commands.library.cast import Name
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say, say_wrong

Numbers = Annotated[
    list[int] | None,
    typer.Option(min=1, metavar="NUMBER", help="By its number in the list.", show_default=False),
]
_ID = re.compile(r"[0-9a-f-]+\Z", re.IGNORECASE)
_END_ONE = "end one first (End Chapter on tab 2)"
HOW = "Decide with `storyengine cast proposals{}` (--take NUMBER, --drop NUMBER, --all, --undo)."


async def assist(
    name: Name,
    in_: Annotated[
        str, typer.Option("--in", metavar="SESSION", help="The chapter that records the call.")
    ] = "last",
) -> None:
    """Let a model propose what a character lacks; what you wrote stays as it is."""
    async with running_engine(await unlocked()) as engine:
        character = await engine.library.characters.find(name)
        async with aclosing(await engine.open(await find_session(engine, in_))) as opened:
            if opened.is_read_only:
                raise SessionLockedError(
                    f"“{clean_line(opened.snapshot.title)}”, which would record the call, "
                    "is open in another window; nothing was asked.",
                    "Name another chapter with --in, or press g on the character there (F5, 3).",
                )
            work = opened.cast_work
            asked = await work.fill_gaps(character)
            say(f"Asking {work.model} what “{character.name}” lacks …")
            await _answered(engine, opened, [asked])
        _list(await engine.library.proposals.offered(character.id), of=character)


async def proposals(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A character; without one, of all.", show_default=False)
    ] = "",
    take: Numbers = None,
    drop: Numbers = None,
    all_: Annotated[bool, typer.Option("--all", help="Take all that fit.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last decision about the character.")] = False,
) -> None:
    """List what is proposed for characters, take it, drop it, or undo that."""
    if both := set(take or ()).intersection(drop or ()):
        raise typer.BadParameter(f"Proposal {min(both)} cannot be taken and dropped.")
    async with running_catalog(await unlocked()) as catalog:
        library = catalog.library
        character = await library.characters.find(name) if name else None
        offered = await library.proposals.offered(character.id if character else None)
        chosen, dropped = _numbered(offered, take), _numbered(offered, drop)
        if all_:
            chosen = [one.proposal for one in offered if one.proposal not in dropped]
        if undo:
            if character is None:
                raise IllegalCommandError("Name the character whose last decision is undone.")
            again = await library.proposals.undo(character.id)
            say(f"Open again: {about(again)}")
        for one in () if all_ else chosen:
            await library.proposals.accept(one)
            say(f"Taken: {about(one)}")
        if all_:
            count, outdated = await library.proposals.accept_all(chosen)
            say(f"Taken: {count:,}; outdated and left open: {outdated:,}")
        if dropped:
            await library.proposals.drop(dropped)
            say(f"Dropped: {len(dropped):,}")
        if not (chosen or dropped or undo or all_):
            _list(offered, of=character)


async def ceremony(
    chapter: Annotated[
        str,
        typer.Argument(metavar="SESSION|BOOK", help="A chapter, or a book for the last one that has ended."),
    ],
    only_changes: Annotated[
        bool, typer.Option("--only-changes", help="What the chapter changed, and nothing else.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Ask also what was answered before.")] = False,
) -> None:
    """Propose what a chapter that has ended means for its characters: changed, faded, the same, neglected."""
    async with running_engine(await unlocked()) as engine:
        async with aclosing(await engine.open(await _chapter(engine, chapter))) as opened:
            work = opened.cast_work
            begun = await work.propose_changes(with_ceremony=not only_changes, again=again)
            say(f"Looking back at “{clean_line(opened.snapshot.title)}”.")
            for line in begun.left_alone:
                say(f"Left alone: {line}")
            if begun.answered:
                count = counted(begun.answered, "question was", "questions were")
                say(f"{count} answered before; --again asks once more.")
            if begun.asked:
                count = counted(len(begun.asked), "question")
                say(f"Asking {work.model} {count} …")
            await _answered(engine, opened, begun.asked)
        _list(await engine.library.proposals.offered(), after=opened.id)


async def _chapter(catalog: SessionCatalog, name: str) -> SessionId:
    """Return the chapter that a session means, or the last one that has ended: of all, or of a book."""
    over = [one.id for one in await catalog.sessions() if one.is_readable and one.state.has_ended]
    if name == "last":
        if not over:
            raise IllegalCommandError(f"No chapter has ended yet; {_END_ONE}.")
        return over[0]
    try:
        return await find_session(catalog, name)
    except StoryEngineError as refused:
        book = await _book(catalog, name, refused)
    found = next((one for one in reversed(book.chapters) if one in over), None)
    if found is None:
        raise IllegalCommandError(f"No chapter of “{book.title}” has ended yet; {_END_ONE}.")
    return found


async def _book(catalog: SessionCatalog, name: str, no_session: StoryEngineError) -> Book:
    """Return the book that a name means; raise `no_session` for none where the name looks like an id."""
    try:
        return await catalog.library.books.find(name)
    except StoryEngineError as no_book:
        raise (no_session if _ID.match(name.strip()) else no_book) from None


async def _answered(engine: Engine, opened: SessionHandle, asked: Sequence[RequestId]) -> None:
    """Wait until all was answered; raise what the first failure says once all are settled."""
    if asked and engine.queue.is_paused:
        say_wrong(PAUSED)
    settled = [await opened.wait(one) for one in asked]
    for request in settled:
        refuse_unanswered(request, "Earlier proposals are kept; run it again.")


def _numbered(offered: Sequence[Offered], numbers: Sequence[int] | None) -> list[Proposal]:
    """Return the proposals with these numbers in the list; raise IllegalCommandError for any other."""
    found = []
    for number in dict.fromkeys(numbers or ()):
        if number > len(offered):
            raise IllegalCommandError(f"There is no proposal {number:,}; nothing was decided.")
        found.append(offered[number - 1].proposal)
    return found


def _list(
    offered: Sequence[Offered], *, after: SessionId | None = None, of: LibraryCharacter | None = None
) -> None:
    """List proposals, or those after one chapter, with their numbers among all of these.

    Those of one character have numbers of their own, which count only beside its name.
    """
    numbered = [
        (number, one)
        for number, one in enumerate(offered, start=1)
        if after is None or one.proposal.is_after(after)
    ]
    if not numbered:
        say("Nothing is proposed.")
        return
    for number, one in numbered:
        mark = " (outdated: that part has changed since)" if one.is_outdated else ""
        say(f"{number}. {one.character.name}: {about(one.proposal)}, {origin(one.proposal)}{mark}")
        say(f"   there:    {clean_line(there(one.proposal))}")
        say(f"   proposed: {clean_line(proposed(one.proposal))}")
        if one.chapter:
            say(f"   chapter:  {clean_line(one.chapter)}")
        if one.proposal.why:
            say(f"   because:  {clean_line(one.proposal.why)}")
    say(HOW.format("" if of is None else f" {shlex.quote(of.name)}"))
