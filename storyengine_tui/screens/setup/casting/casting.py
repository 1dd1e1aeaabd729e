"""Takes a character of the library into a slot of tab 1, and keeps one of a slot there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Input, Static

from core.domain.clock import utc_now
from core.library.characters.character import LibraryCharacter, pause_text
from core.library.characters.from_card import tags_of
from core.library.characters.in_chapter import compared
from core.library.characters.offers import offers_of
from core.text.cleaning import clean_line, is_blank
from core.text.graphemes import head
from core.text.letters import folded
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.setup.casting.compare_screen import CompareScreen
from storyengine_tui.screens.setup.casting.offers_screen import OffersScreen
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.shared.list_screen import ChoosingScreen, cut
from storyengine_tui.theme import colour_of
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import EntryField

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary
    from core.engine.services.library.library import Library


PAUSED = "“{}” is {} in the library: once the chapter is locked it is away until that is over."
MODEL = "“{}” is meant for the model {}: F6 says whether that answers here, and can set another."
NOTHING_MORE = "The card of “{}” has nothing else that a chapter could take."
NONE_THERE = "The library has no character yet: F5, then 3 and i imports cards, n makes one."


async def take_character(app: App[Any], library: "Library", slot: CharacterPanel) -> None:
    """Ask for a character, and take it into an empty slot; beside another one, show what differs."""
    pane, characters = _pane_of(slot), await library.characters.listed()
    if not characters:
        app.notify(NONE_THERE, markup=False)
        return

    def answered(character: LibraryCharacter | None) -> None:
        if character is None or not slot.is_editable:
            return
        if paused := pause_text(character, utc_now()):
            app.notify(PAUSED.format(character.name, paused), markup=False)
        if character.model:
            app.notify(MODEL.format(character.name, character.model), markup=False)
        rows = compared(character, slot.character_name, slot.identity, slot.profile)
        is_empty = is_blank(slot.character_name) and is_blank(slot.identity)
        if is_empty and all(len(row.library) <= slot.room_for(row.field) for row in rows):
            for row in rows:
                slot.set_field(row.field, row.library)
            slot.link(character.id)
            pane.do(offer_more(app, library, slot))
        else:
            before = slot.profile.character_id

            def offer(_: None) -> None:
                if before != slot.profile.character_id == character.id:
                    pane.do(offer_more(app, library, slot))

            app.push_screen(CompareScreen(library.characters, character, slot, pane.kept_text), offer)

    app.push_screen(PickScreen(characters, slot.called), answered)


def _pane_of(panel: CharacterPanel) -> SetupPane:
    return next(one for one in panel.ancestors if isinstance(one, SetupPane))


async def offer_more(
    app: App[Any], library: "Library", slot: CharacterPanel, *, is_asked: bool = False
) -> None:
    """Offer what else the card has of the character in a slot; if there is nothing, say so where asked."""
    pane, origin = _pane_of(slot), slot.profile.character_id
    if origin is None:
        return
    character = next((one for one in await library.characters.listed() if one.id == origin), None)
    card = None if character is None else (await library.characters.card(character)).card
    tags = () if card is None else tags_of(card)
    if slot.is_editable and tags != slot.profile.tags:
        slot.link(origin, tags)
    await pane.flush()
    offers = () if card is None else offers_of(card, origin, slot.called)
    lore = await library.lore.copy_in_card(origin, slot.slot, slot.called)
    if offers or lore is not None:
        chapter = pane.query_one("#chapter", CappedTextArea)
        app.push_screen(OffersScreen(pane.session, slot, chapter, offers, lore, pane.kept_text))
    elif is_asked:
        app.notify(NOTHING_MORE.format(slot.called), markup=False)


async def keep_character(app: App[Any], library: "CharacterLibrary", slot: CharacterPanel) -> None:
    """Keep the character of a slot in the library; where its name is known there, show what differs."""
    known = await library.known_as(slot.called, slot.profile.character_id)
    if known is None:
        kept = await library.create(slot.called, slot.identity, slot.profile, colour_of(slot.slot))
        if slot.is_editable:
            slot.link(kept.id)
        app.notify(f"“{kept.name}” is in the library now (F5, then 3)", markup=False)
    else:
        app.push_screen(CompareScreen(library, known, slot, _pane_of(slot).kept_text))


NO_MATCH = "No character has these words in its name or its description."
_SHOWN = 200


class PickScreen(ChoosingScreen[LibraryCharacter, LibraryCharacter]):
    """Ends with the character that was chosen, or without one."""

    CSS_PATH = "casting.tcss"
    HELP = (
        "Type a part of a name or a description; the list narrows with each letter. "
        "Enter takes the character under the cursor into the panel that shows on tab 1, as a copy: play does "
        "not change the library."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Take", priority=True),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, characters: Sequence[LibraryCharacter], into: str) -> None:
        super().__init__()
        self._characters = characters
        self._into = into

    def compose(self) -> ComposeResult:
        """Compose the field above the list."""
        yield Static(f"Take a character from the library as {self._into}", id="heading", markup=False)
        yield EntryField(placeholder="Words to find", id="find")
        yield from self.compose_list("characters", NO_MATCH)

    async def reload(self) -> None:
        """Show the list, in columns for this width."""
        self._narrow()

    @on(Input.Changed, "#find")
    def _narrow(self) -> None:
        words = folded(self.query_one("#find", EntryField).value).split()
        found = [one for one in self._characters if all(word in _words_of(one) for word in words)]
        names = max(16, min(30, self.size.width // 4))
        columns = {"Name": names, "What it is": max(20, self.size.width - names - 6)}
        # By its row: what fits better comes first as more is typed.
        self.fill(found, columns, _cells_of, cursor=self._table.cursor_row, takes_focus=False)

    @on(DataTable.RowSelected)
    def action_take(self) -> None:
        """Close with the character under the cursor, once all letters that came before are in the field."""
        self.first_field.call_later(self._accept)

    def _accept(self) -> None:
        self._narrow()
        if self.chosen is not None:
            self.dismiss(self.chosen)


def _words_of(character: LibraryCharacter) -> str:
    texts = (*character.names, character.group, character.short_description, head(character.identity, _SHOWN))
    return folded(" ".join(texts))


def _cells_of(character: LibraryCharacter) -> tuple[Text, Text]:
    about = character.short_description or clean_line(head(character.identity, _SHOWN))
    about = " · ".join(filter(None, (pause_text(character, utc_now()), about)))
    return cut(character.name), cut(about)
