"""`storyengine search`: finds words in transcript, memory, bank and drafts of a chapter or a book."""

from dataclasses import asdict
from typing import Annotated

import typer

from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.engine.engine import Engine
from core.engine.recall.hits import Hit
from core.engine.recall.search import LONGEST_SEARCH
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import running_engine
from storyengine_tui.cli.commands.chapter.sessions import WHICH_CHAPTER, find_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say, say_wrong
from storyengine_tui.cli.running import START_SECONDS, print_json, refuse_together


async def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The words to find; each may be a beginning.")],
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="SESSION", help=f"{WHICH_CHAPTER} Left out, the last.", show_default=False
        ),
    ] = None,
    book: Annotated[
        str | None,
        typer.Option("--book", metavar="BOOK", help="All chapters of this book.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the hits as JSON, with whole texts.")
    ] = False,
) -> None:
    """Find words in a chapter or a book: in transcript, memory, memory bank and drafts.

    Items of the memory bank are found by their meaning too.
    """
    refuse_together(**{"--session": session, "--book": book})
    if not text.strip() or len(text) > LONGEST_SEARCH:
        raise IllegalCommandError(f"Nothing was searched: give 1 to {LONGEST_SEARCH} characters to find.")
    async with running_engine(await unlocked()) as engine:
        chapters = await _chapters(engine, session or "last", book)
        hits, _ = searched = await engine.search(chapters, text, start_seconds=START_SECONDS)
    if searched.gap:
        say_wrong(f"Not searched: {searched.gap}; `storyengine doctor --verify` says why.")
    if as_json:
        print_json([_plain(hit) for hit in hits])
        return
    instead = next((hit.instead for hit in hits if hit.instead), "")
    if instead:
        say(f"Nothing has “{clean_line(text)}”; this is for “{instead}”:")
    for hit in hits:
        say(line_of(hit, with_chapter=len(chapters) > 1))
    if not hits:
        say("Nothing was found.")


async def _chapters(engine: Engine, session: str, book: str | None) -> tuple[SessionId, ...]:
    if book is None:
        return (await find_session(engine, session),)
    return (await engine.library.books.find(book)).chapters


def line_of(hit: Hit, *, with_chapter: bool) -> str:
    """Return a hit as one line: where it is, how near by meaning alone, who says it, and its words."""
    where = [f"chapter {hit.chapter}"] if with_chapter else []
    where += filter(None, (hit.place.value, hit.prompts))
    who = f"{hit.who}: " if hit.who else ""
    return f"{', '.join(where)}  {hit.by_meaning}{who}{hit.excerpt}"


def _plain(hit: Hit) -> dict[str, object]:
    return {**asdict(hit), "session_id": str(hit.session_id), "place": hit.place.value}
