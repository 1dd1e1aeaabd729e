"""Takes a character of the library into a slot of tab 1, and keeps one of a slot there."""

from typing import TYPE_CHECKING, Any

from textual.app import App

from core.domain.clock import utc_now
from core.library.characters.character import Character
from core.library.characters.in_chapter import compared
from core.library.characters.pause import pause_text
from core.text.cleaning import is_blank
from storyengine_tui.screens.casting.compare_screen import CompareScreen, SlotTexts
from storyengine_tui.screens.casting.pick_screen import PickScreen
from storyengine_tui.theme import colour_of

if TYPE_CHECKING:
    from core.engine.library.characters import CharacterLibrary

PAUSED = "“{}” is {} in the library: once the chapter is locked it is away until that is over."
NONE_THERE = "The library has no character yet: F5, then 3 and i imports cards, n makes one."


async def take_character(app: App[Any], library: "CharacterLibrary", slot: SlotTexts) -> None:
    """Ask for a character, and take it into an empty slot; beside another one, show what differs."""
    characters = await library.listed()
    if not characters:
        app.notify(NONE_THERE, markup=False)
        return

    def take(character: Character | None) -> None:
        if character is None:
            return
        if paused := pause_text(character, utc_now()):
            app.notify(PAUSED.format(character.name, paused), markup=False)
        rows = compared(character, slot.agent_name, slot.identity, slot.profile)
        is_empty = is_blank(slot.agent_name) and is_blank(slot.identity)
        if is_empty and all(len(row.library) <= slot.room_for(row.field) for row in rows):
            for row in rows:
                slot.take(row.field, row.library)
            slot.link(character.id)
        else:
            app.push_screen(CompareScreen(library, character, slot))

    app.push_screen(PickScreen(characters, slot.called), take)


async def keep_character(app: App[Any], library: "CharacterLibrary", slot: SlotTexts) -> None:
    """Keep the character of a slot in the library; where its name is known there, show what differs."""
    known = await library.known_as(slot.called, slot.profile.character_id)
    if known is None:
        kept = await library.create(slot.called, slot.identity, slot.profile, colour_of(slot.slot))
        if slot.is_editable:
            slot.link(kept.id)
        app.notify(f"“{kept.name}” is in the library now (F5, then 3)", markup=False)
    else:
        app.push_screen(CompareScreen(library, known, slot))
