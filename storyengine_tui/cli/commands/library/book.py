"""`storyengine book` and `storyengine next`: books, their chapters, and what one hands on to the next."""

from dataclasses import replace
from typing import Annotated

import typer

from core.domain.errors import BookGoesOnError, IllegalCommandError, UnreadPartsError
from core.domain.ids import SessionId
from core.domain.session.session import SessionSummary
from core.engine.catalog import SessionCatalog
from core.library.book import Book
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_session
from storyengine_tui.cli.commands.library.shelf import Archived, add_archive_commands
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command, given, print_rows
from storyengine_tui.screens.shared.state_labels import STATE_LABELS

app = typer.Typer(help="Books: chapters in order. `storyengine next` begins the next chapter of one.")
TITLE = typer.Argument(metavar="BOOK", help="Its title, or the beginning of its id.")
Title = Annotated[str, TITLE]
Author = Annotated[str | None, typer.Option(help="The name of its author.", show_default=False)]
Description = Annotated[str | None, typer.Option(help="What it is about.", show_default=False)]
ChapterNumber = Annotated[
    int | None, typer.Option("--as", min=1, help="As which chapter; the last, if not given.")
]


@command(app, "list")
async def list_(archived: Archived = False) -> None:
    """List the books."""
    async with running_catalog(await unlocked()) as catalog:
        listed = await catalog.library.books.listed(is_archived=archived)
    nothing = (
        "No book is archived." if archived else "There is no book yet; `storyengine book new` makes one."
    )
    print_rows(("Book", "Author", "Chapters"), [_cells(one) for one in listed], nothing)


def _cells(one: Book) -> tuple[str, ...]:
    return (one.title, one.author, str(len(one.chapters)), str(one.id))


@command(app)
async def new(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Its title.")],
    author: Author = None,
    description: Description = None,
) -> None:
    """Make a book."""
    async with running_catalog(await unlocked()) as catalog:
        made = await catalog.library.books.create(title, author or "", description or "")
    say(f"Made the book “{made.title}”. Put chapters into it with `storyengine book add`.")


@command(app)
async def edit(
    name: Title,
    title: Annotated[str | None, typer.Option(help="Another title.", show_default=False)] = None,
    author: Author = None,
    description: Description = None,
) -> None:
    """Change the title, the author or the description of a book."""
    async with running_catalog(await unlocked()) as catalog:
        books = catalog.library.books
        found = await books.find(name)
        saved = await books.save(replace(found, **given(title=title, author=author, description=description)))
    say(f"Saved “{saved.title}”.")


@command(app)
async def show(name: Title) -> None:
    """Show a book with its chapters."""
    async with running_catalog(await unlocked()) as catalog:
        found = await catalog.library.books.find(name)
        known = await _summaries(catalog)
    say(found.title)
    for line in (found.author, found.description):
        if line:
            say(line)
    for number, chapter in enumerate(found.chapters, start=1):
        say(f"{number}. {_described(known.get(chapter))}  {chapter}")
    if not found.chapters:
        say("It has no chapter yet.")


def _described(one: SessionSummary | None) -> str:
    if one is None or not one.is_readable:
        return "cannot be read"
    archived = ", archived" if one.archived_at is not None else ""
    return f"{one.title} ({STATE_LABELS[one.state]}, {counted(one.prompt_index, 'prompt')}{archived})"


async def _summaries(catalog: SessionCatalog) -> dict[SessionId, SessionSummary]:
    return {one.id: one for flag in (False, True) for one in await catalog.sessions(is_archived=flag)}


@command(app)
async def add(name: Title, session: SessionArgument, number: ChapterNumber = None) -> None:
    """Put a chapter into a book; it leaves the book that it was in."""
    async with running_catalog(await unlocked()) as catalog:
        books, session_id = catalog.library.books, await find_session(catalog, session)
        before = await books.of(session_id)
        changed = await books.add(await books.find(name), session_id, number)
    say(f"{session_id} is chapter {changed.number_of(session_id)} of “{changed.title}”.")
    if before is not None and before.id != changed.id:
        say(f"It is no longer in “{before.title}”.")


@command(app)
async def remove(name: Title, session: SessionArgument) -> None:
    """Take a chapter out of a book; it is in none then."""
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, session)
        changed = await catalog.library.books.remove(await catalog.library.books.find(name), session_id)
    say(f"{session_id} is no longer in “{changed.title}”.")


add_archive_commands(
    app,
    "book",
    TITLE,
    lambda catalog: catalog.library.books,
    noun="book",
    is_kept="its chapters stay, and ",
    is_lost="; its chapters are kept",
    asked="the book “{}”",
    effect="Its chapters are kept, in no book.",
)


async def next_(
    session: SessionArgument,
    again: Annotated[
        bool, typer.Option("--again", help="Also where the book goes on already: in between.")
    ] = False,
) -> None:
    """Begin the next chapter of a book: world and cast come along, and what this chapter hands on."""
    async with running_catalog(await unlocked()) as catalog:
        books = catalog.library.books
        before, unread = await find_session(catalog, session), ""
        try:
            try:
                fresh = await books.next_chapter(before, again=again, only_if_read=True)
            except UnreadPartsError as error:
                unread = error.message
                fresh = await books.next_chapter(before, again=again)
        except BookGoesOnError as error:
            raise IllegalCommandError(f"{error.message} With --again one begins in between.") from error
        of_book = await books.of(fresh)
        carried = (await catalog.reader(fresh).load()).tab1.carried
    where = f"chapter {of_book.number_of(fresh)} of “{of_book.title}”" if of_book else "the next chapter"
    if unread:
        say(f"{unread} `storyengine bank read {before}` reads what is left.")
    say(f"Began {where}: {fresh}")
    for line in carried.lines:
        known = ", ".join(line.known_to) or "no one"
        say(f"  {line.kind.value}, known to {known}: {line.text}")
    say("Write its chapter text on tab 1, where you pin and strike these lines, and lock it.")
