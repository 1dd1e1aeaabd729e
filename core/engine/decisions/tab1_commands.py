"""The GM's commands on tab 1 and lore, as pure functions: texts, names, cast, title, lorebooks (design 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from core.domain.errors import IllegalCommandError, LimitExceededError, valid
from core.domain.ids import new_uuid
from core.domain.requests.request import Content
from core.domain.session.carry_over import CarryOver, marked
from core.domain.session.limits import LONGEST_TITLE, Limits
from core.domain.session.lore import (
    ChapterLorebook,
    labelled,
    problems_of_chapter_lore,
    with_book,
    without_book,
)
from core.domain.session.profile import Profiles, cleaned_profile, problems_of_profile
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.slot import Slot, first_slots
from core.engine.changes.moves import move
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean, clean_line
from core.text.name_list import name_key

DOUBLE_NAME: Final = "Two characters cannot both be called {}; choose another name."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab1Edit:
    """The GM's changes of tab 1; None, and slots that are not named, stay unchanged."""

    world: str | None = None
    chapter: str | None = None
    identities: Mapping[Slot, str] = field(default_factory=dict)
    names: Mapping[Slot, str] = field(default_factory=dict)
    character_count: int | None = None
    title: str | None = None
    profiles: Profiles = field(default_factory=dict)
    carried: CarryOver | None = None
    """The same lines as before, some of them pinned or struck."""


def edit_tab1(snapshot: Snapshot, edit: Tab1Edit, now: datetime) -> Changes:
    """Store the texts; raise errors for texts that are too long and names that are not unique."""
    session = move(snapshot, snapshot.session, Command.EDIT_TAB1, now)
    limits = session.limits
    tab1 = snapshot.tab1
    tab1 = replace(
        tab1,
        world=tab1.world if edit.world is None else within("world", edit.world, limits.world),
        chapter=tab1.chapter if edit.chapter is None else within("chapter", edit.chapter, limits.chapter),
        carried=marked(tab1.carried, edit.carried),
        profiles=_with_profiles(tab1.profiles, edit.profiles),
    )
    for slot, text in edit.identities.items():
        name = f"identity of {session.name_of(slot)}"
        tab1 = tab1.with_identity(slot, within(name, text, limits.identity))
    names = {**session.names, **{slot: checked_name(name, limits) for slot, name in edit.names.items()}}
    session = replace(
        session,
        names={slot: name for slot, name in names.items() if name and name != slot.default_name},
        title=session.title if edit.title is None else _checked_title(edit.title),
        slots=session.slots
        if edit.character_count is None
        else _checked_slots(edit.character_count, session),
    )
    _refuse_double_names(session, edit.names)
    return Changes(session_id=session.id, session=session, tab1=tab1)


def within(field_name: str, text: str, limit: int) -> str:
    """Return `text` cleaned; raise LimitExceededError when it is longer than its field."""
    text = clean(text)
    if len(text) > limit:
        raise LimitExceededError(field_name, len(text), limit)
    return text


def _with_profiles(stored: Profiles, edited: Profiles) -> Profiles:
    """Return the profiles with those that were edited; an empty one is not stored."""
    for slot, profile in edited.items():
        stored = {**stored, slot: valid(cleaned_profile(profile), problems_of_profile)}
    return {slot: profile for slot, profile in sorted(stored.items()) if profile}


def checked_name(name: str, limits: Limits) -> str:
    """Return a character's name on one line; empty means the default."""
    return within("name", clean_line(name), limits.name)


def _checked_title(title: str) -> str:
    return within("title", clean_line(title), LONGEST_TITLE)


def _checked_slots(count: int, session: Session) -> tuple[Slot, ...]:
    if not 1 <= count <= len(Slot):
        raise IllegalCommandError(f"A chapter has 1 to {len(Slot)} characters; choose another number.")
    if session.prompt_index and count < len(session.slots):
        raise IllegalCommandError(
            f"The {len(session.slots)} characters of this chat have spoken; the cast can only grow."
        )
    return first_slots(count)


def _refuse_double_names(session: Session, changed: Mapping[Slot, str]) -> None:
    taken: dict[str, Slot] = {}
    for slot in Slot:
        name = name_key(session.name_of(slot))
        other = taken.setdefault(name, slot)
        if other is not slot and (slot in changed or other in changed):
            raise IllegalCommandError(DOUBLE_NAME.format(session.name_of(slot)))


def retitle(snapshot: Snapshot, title: str, now: datetime) -> Changes:
    """Change the chapter's title, in any state; an empty one is derived from the chapter text."""
    session = replace(snapshot.session, title=_checked_title(title), updated_at=now)
    return Changes(session_id=session.id, session=session)


@dataclass(frozen=True, slots=True)
class LoreCopy:
    """A copy of a lorebook for chapters; its label and seed are settled where it is attached."""

    book: ChapterLorebook
    content: Content


def attach_lore(snapshot: Snapshot, copy: LoreCopy, now: datetime) -> Changes:
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


def detach_lore(snapshot: Snapshot, name: str, now: datetime) -> Changes:
    """Detach the lorebook of this name: later inputs have nothing of it, and what was played stays."""
    books = without_book(snapshot.lore, name)
    if len(books) == len(snapshot.lore):
        there = ", ".join(f"“{book.name}”" for book in snapshot.lore) or "none"
        raise IllegalCommandError(f"No lorebook of this chapter is called “{name}”; it has {there}.")
    session = move(snapshot, snapshot.session, Command.EDIT_LORE, now)
    return Changes(session_id=session.id, session=session, lore=books)
