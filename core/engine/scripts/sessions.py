"""The sessions in which a chapter script is played: its chapter and branches, with book and lorebooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.domain.ids import SessionId
from core.domain.session.carry_over import NOTHING_CARRIED
from core.engine.catalog import SessionCatalog
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScript
from core.text.canonical_json import canonical, checksum
from core.text.name_list import name_key

if TYPE_CHECKING:
    from core.engine.services.library.library import Library


async def first_session(
    catalog: SessionCatalog, script: ChapterScript, book_title: str, *, is_new: bool
) -> SessionId:
    """Return the session in which a script is played, created if it does not exist, or with `is_new`.

    A new one takes over what the last chapter of the book hands on. Where an attempt at the script that has
    not ended is in the book, it takes that one's place, and what the last chapter before it hands on.
    Raises IllegalCommandError where that last chapter has not ended.
    """
    known = await catalog.find_script(script.key)
    if known is not None and not is_new:
        return known
    carried, attempt = NOTHING_CARRIED, list[SessionId]()
    if book_title:
        book = await catalog.library.books.find_or_create(book_title)
        played = [] if known is None else await _not_ended(catalog, script, known)
        attempt = [one for one in played if one in book.chapters]
        carried = await catalog.library.books.handed_on_by(book, before=attempt)
    if not is_new:
        return (await catalog.find_or_create(script.key, carried=carried))[0]
    made = await catalog.create(script_key=script.key, carried=carried)
    if attempt:
        await join_book(catalog, book_title, [*attempt, made])
    return made


async def _not_ended(catalog: SessionCatalog, script: ChapterScript, first: SessionId) -> list[SessionId]:
    """Return the sessions in which a script was played from `first` on; none if its last one has ended."""
    branches = ScriptBranches(catalog, script)
    _, last = await branches.furthest(first)
    state = (await catalog.reader(last).load()).session.state
    return [] if state.has_ended else branches.path


async def join_book(catalog: SessionCatalog, book_title: str, path: Sequence[SessionId]) -> None:
    """Make the chapter that a script is played in the last one of its book, unless it is in a book already.

    It is the last of `path`; those before it are what it branches off from, and it takes their place. To be
    called before it is played: what its characters recall of earlier chapters depends on its place.
    """
    books, (*before, played) = catalog.library.books, path
    if await books.of(played) is not None:
        return
    for one in reversed(before):
        if await books.put_in_place(one, played) is not None:
            return
    await books.add_behind_last(book_title, played)


async def attach_lore_of(script: ChapterScript, session: SessionHandle, library: "Library") -> None:
    """Attach the lorebooks of a script that its chapter does not have yet; the others stay as they are.

    Raises StoryEngineError for one that the library does not have, before any is attached.
    """
    present = {book.key for book in session.snapshot.lore}
    wanted = [await library.lore.find(name) for name in script.lore if name_key(name) not in present]
    for book in wanted:
        await session.edits.attach_lore(await library.lore.copy_of(book))


class ScriptBranches:
    """Finds the branches of a script again, by keys of their own, and makes those that are missing.

    A run that stopped goes on in the last existing branch: what is before it was played to its end.
    """

    def __init__(self, catalog: SessionCatalog, script: ChapterScript) -> None:
        self._catalog = catalog
        self._script = script
        self.lines = script.lines
        self.path: list[SessionId] = []
        """The chapter and its branches in order, as far as they were found or made."""

    async def furthest(self, first: SessionId) -> tuple[int, SessionId]:
        """Return the place in `lines` where play goes on, and its session; `first` is that of the chapter."""
        at, session_id = 0, first
        self.path = [first]
        while at + 1 < len(self.lines):
            found = await self._catalog.find_script(self._key(at + 1, session_id))
            if found is None:
                break
            at, session_id = at + 1, found
            self.path.append(found)
        return at, session_id

    async def branch(self, at: int, before: SessionId) -> SessionId:
        """Return the session of line `at`, which branches off from session `before`; make it if missing."""
        branching = self.lines[at].branching
        if branching is None:
            raise ValueError("the first line of a script is no branch")
        made = await self._catalog.branch(
            before, branching.branch_at, title=branching.branch_title, script_key=self._key(at, before)
        )
        self.path.append(made)
        return made

    def _key(self, at: int, before: SessionId) -> str:
        branching = self.lines[at].branching
        where = branching.branch_at if branching else 0
        return checksum(canonical([self._script.key, at, where, str(before)]))
