"""Chooses a character of the library for a slot: a list that narrows with each letter."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from core.domain.clock import utc_now
from core.library.characters.character import LibraryCharacter
from core.library.characters.pause import pause_text
from core.text.cleaning import clean_line
from core.text.graphemes import head
from storyengine_tui.screens.shared.list_screen import ListScreen
from storyengine_tui.widgets.fields.one_line import EntryField

NO_MATCH = "No character has these words in its name or its description."
_SHOWN = 200


class PickScreen(ListScreen[LibraryCharacter, LibraryCharacter]):
    """Ends with the character that was chosen, or without one."""

    CSS_PATH = "casting.tcss"
    HELP = (
        "Type a part of a name or a description; the list narrows with each letter. "
        "Enter takes the character under the cursor into the panel that shows on tab 1, as a copy: play does "
        "not change the library."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: the cursor of the list moves while the field has the focus.
        Binding("up", "step(-1)", "Choose", show=False, priority=True),
        Binding("down", "step(1)", "Choose", show=False, priority=True),
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

    @property
    def first_field(self) -> Widget:
        """The field, in which a name can be typed at once."""
        return self.query_one("#find")

    async def reload(self) -> None:
        """Show the list, in columns for this width."""
        self._narrow()

    @on(Input.Changed, "#find")
    def _narrow(self) -> None:
        words = self.query_one("#find", EntryField).value.casefold().split()
        found = [one for one in self._characters if all(word in _words_of(one) for word in words)]
        names = max(16, min(30, self.size.width // 4))
        columns = {"Name": names, "What it is": max(20, self.size.width - names - 6)}
        # By its row: what fits better comes first as more is typed.
        self.fill(found, columns, _cells_of, cursor=self._table.cursor_row, takes_focus=False)

    def action_step(self, step: int) -> None:
        """Move the cursor of the list."""
        self._table.move_cursor(row=self._table.cursor_row + step, animate=False)

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
    return " ".join(texts).casefold()


def _cells_of(character: LibraryCharacter) -> tuple[Text, Text]:
    about = character.short_description or clean_line(head(character.identity, _SHOWN))
    about = " · ".join(filter(None, (pause_text(character, utc_now()), about)))
    return (
        Text(character.name, no_wrap=True, overflow="ellipsis"),
        Text(about, no_wrap=True, overflow="ellipsis"),
    )
