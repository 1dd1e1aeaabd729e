"""Takes a character of the library into a chapter, with the GM's choice from its card; pure (design 14)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from core.agents.context_builder import ContextBuilder
from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.tab1_commands import LoreCopy, Tab1Edit, edit_tab1
from core.library.characters.character import LibraryCharacter
from core.library.characters.in_chapter import identity_for
from core.library.characters.offers import Offer, with_offer, with_text
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenCard:
    """A character for a slot, under the name that it has there, and what was chosen of its card."""

    character: LibraryCharacter
    slot: Slot
    name: str
    tags: tuple[str, ...] = ()
    """Those of its card."""
    offers: Sequence[Offer] = ()
    lore: LoreCopy | None = None


class Where(NamedTuple):
    """A slot, and the name that a character has there."""

    slot: Slot
    name: str


def slot_for(snapshot: Snapshot, character: LibraryCharacter, wanted: Slot | None) -> Where:
    """Return the slot for a character, and the name that it has there.

    Without a wanted one it is the one where it is, else the first empty one. Raises IllegalCommandError
    where another character is in the slot, or none is empty.
    """
    for slot in Slot if wanted is None else (wanted,):
        if snapshot.tab1.profile_of(slot).character_id == character.id:
            return Where(slot, snapshot.session.name_of(slot))
    for slot in Slot if wanted is None else (wanted,):
        if slot not in snapshot.session.names and is_blank(snapshot.tab1.identities.get(slot, "")):
            return Where(slot, character.name)
    if wanted is None:
        raise IllegalCommandError("All slots have a character; empty one on tab 1 first. Nothing was taken.")
    there = snapshot.session.name_of(wanted)
    raise IllegalCommandError(
        f"“{there}” is in slot {wanted:d}; choose another slot, or compare the two on tab 1. "
        "Nothing was taken."
    )


def apply_card(snapshot: Snapshot, taken: TakenCard, builder: ContextBuilder, now: datetime) -> Changes:
    """Store a character in its slot, with the chosen texts; all of it or nothing. Memory is known.

    One that is there already stays as it is. Refused is what the commands of tab 1, of prompt blocks and of
    lorebooks refuse.
    """
    character, slot = taken.character, taken.slot
    made = Changes(session_id=snapshot.session.id)
    is_there = snapshot.tab1.profile_of(slot).character_id == character.id
    texts = [one.text for one in taken.offers if not one.is_block]
    if texts or not is_there:
        chapter = snapshot.tab1.chapter
        for text in texts:
            chapter = with_text(chapter, text)
        edit = Tab1Edit(chapter=chapter if texts else None)
        if not is_there:
            edit = replace(
                edit,
                names={slot: taken.name},
                identities={slot: identity_for(character, taken.name)},
                profiles={slot: replace(character.profile, tags=taken.tags)},
                character_count=max(slot, len(snapshot.session.slots)),
            )
        made = edit_tab1(snapshot, edit, now)
    blocks = snapshot.prompt_blocks
    for one in taken.offers:
        if one.is_block:
            blocks = with_offer(blocks, one, slot, taken.name)
    if blocks != snapshot.prompt_blocks:
        more = commands.edit_prompt_blocks(snapshot.after(made), builder, blocks, now)
        made = replace(made, session=more.session, prompt_blocks=more.prompt_blocks)
    if taken.lore is not None:
        more = tab1_commands.attach_lore(snapshot.after(made), taken.lore, now)
        made = replace(made, session=more.session, lore=more.lore, contents=more.contents)
    return made
