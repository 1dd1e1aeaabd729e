"""Commands of the GM about the lorebooks of a chapter; pure."""

from dataclasses import dataclass, replace
from datetime import datetime

from core.domain.errors import IllegalCommandError
from core.domain.ids import new_uuid
from core.domain.requests.request import Content
from core.domain.session.lore import (
    ChapterLorebook,
    labelled,
    problems_of_chapter_lore,
    with_book,
    without_book,
)
from core.domain.session.state_machine import Command
from core.engine.changes.moves import move
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LoreCopy:
    """A copy of a lorebook for chapters; its label and seed are settled where it is attached."""

    book: ChapterLorebook
    content: Content


def attach(snapshot: Snapshot, copy: LoreCopy, now: datetime) -> Changes:
    """Attach a lorebook, or take its content over again where one of its name is attached.

    Who may know it follows from its groups now; before the lock, from those at the lock.
    """
    session = move(snapshot, snapshot.session, Command.EDIT_LORE, now)
    seed = snapshot.lore[0].seed if snapshot.lore else new_uuid().hex
    [book] = labelled((replace(copy.book, seed=seed),), session, snapshot.tab1.profiles)
    books = with_book(snapshot.lore, book)
    for problem in problems_of_chapter_lore(books):
        raise IllegalCommandError(f"{problem} Nothing was attached.")
    return Changes(session_id=session.id, session=session, lore=books, contents=(copy.content,))


def detach(snapshot: Snapshot, name: str, now: datetime) -> Changes:
    """Detach the lorebook of this name: later inputs have nothing of it, and what was played stays."""
    books = without_book(snapshot.lore, name)
    if len(books) == len(snapshot.lore):
        there = ", ".join(f"“{book.name}”" for book in snapshot.lore) or "none"
        raise IllegalCommandError(f"No lorebook of this chapter is called “{name}”; it has {there}.")
    session = move(snapshot, snapshot.session, Command.EDIT_LORE, now)
    return Changes(session_id=session.id, session=session, lore=books)
