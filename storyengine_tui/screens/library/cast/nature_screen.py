"""The traits and topics of one character of the library: added, edited and deleted."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.session.limits import LONGEST_NAME
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.characters.checks import BOUNDS, LONGEST_TEXT
from core.library.characters.nature import (
    TITLES,
    Nature,
    is_number,
    items_of,
    kind_of,
    shown_fields,
    typed,
    with_item,
    without_item,
)
from core.text.cleaning import clean_line
from core.text.graphemes import head
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.one_line import LineField

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary

_LONGEST_NUMBER = 24


class NatureModal(FormModal[bool, dict[str, str]]):
    """Ends with True once what was typed is stored."""

    AUTO_FOCUS = "LineField"
    HELP = (
        "Sentiment says how the character feels about it, from -1 to 1. Strength says how strong a trait is, "
        "exposure how much a topic is talked about: now, and as much as you want it; each from 0 to 1. "
        "Exposure moves with play, by proposals that you take."
    )

    def __init__(
        self,
        item: Nature,
        store: Callable[[Nature], Awaitable[None]],
        kept: UnstoredText | None = None,
        *,
        is_new: bool,
    ) -> None:
        super().__init__(kept)
        self._item = item
        self._store = store
        kind = kind_of(item)
        self.heading = f"A new {kind}" if is_new else f"The {kind} “{item.name}”"

    def compose_fields(self) -> ComposeResult:
        """Compose a line for each field, and the bounds."""
        item = self._item
        for name, text in shown_fields(item).items():
            limit = LONGEST_NAME if name == "name" else LONGEST_TEXT
            limit = _LONGEST_NUMBER if is_number(item, name) else limit
            yield field_row(TITLES[name], LineField(clean_line(text), limit=limit, id=name))
        yield Static(Content(BOUNDS[type(item)]), classes="dialog--muted")

    @property
    def typed(self) -> dict[str, str]:
        """The texts of the fields, by their names."""
        return {name: self.query_one(f"#{name}", LineField).text for name in shown_fields(self._item)}

    async def store(self, texts: dict[str, str]) -> bool:
        """Store what was edited; a text of several lines is shown on one, and otherwise stays as it is."""
        changed = {name: text for name, text in texts.items() if text != self.begun[name]}
        await self._store(typed(self._item, changed))
        return True


NONE_YET = "No traits or topics yet; n writes a trait, t a topic."
_SHOWN = 200


class NatureScreen(ListScreen[None, Nature]):
    """Lists traits, and then topics.

    `kept_text` returns the file for something of the character that is being written.
    """

    CSS_PATH = "nature_screen.tcss"
    HELP = (
        "Traits are what a character is like, topics what it cares about. n writes a trait, t a topic, Enter "
        "edits the one under the cursor, d deletes it. They stay in the library, where the ceremony and the "
        "proposals use them, and go into cards; a chapter takes none of them."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Edit", key_display="⏎"),
        Binding("n", "add_trait", "New trait"),
        Binding("t", "add_topic", "New topic"),
        Binding("d,delete", "delete", "Delete", key_display="d"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(
        self,
        library: "CharacterLibrary",
        character: LibraryCharacter,
        kept_text: Callable[[str], UnstoredText],
    ) -> None:
        super().__init__()
        self._library = library
        self._character = character
        self._kept_text = kept_text

    def compose(self) -> ComposeResult:
        """Compose the heading above the table."""
        yield Static(Content(f"Traits and topics of {self._character.name}"), id="heading")
        yield from self.compose_list("nature", NONE_YET)

    async def reload(self) -> None:
        """Read the character again."""
        self._character = await self._library.by_id(self._character.id)
        names = max(14, min(30, self.size.width // 4))
        room = max(16, self.size.width - names - 36)
        columns = {"": 5, "Name": names, "Numbers": 22, "What it is": room}
        self.fill(items_of(self._character), columns, _cells_of)

    def key_of(self, row: Nature) -> object:
        """Return kind and name."""
        return kind_of(row), row.name

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Edit what is under the cursor."""
        if self.chosen is not None and self.is_active:  # Enter may come twice.
            self._edit(self.chosen, self.chosen)

    def action_add_trait(self) -> None:
        """Write a new trait."""
        self._edit(Trait(name=""), None)

    def action_add_topic(self) -> None:
        """Write a new topic."""
        self._edit(Topic(name=""), None)

    def _edit(self, item: Nature, begun: Nature | None) -> None:
        async def store(made: Nature) -> None:
            await self._library.change(self._character.id, lambda one: with_item(one, made, begun))

        # Its name may have any characters, and a file not.
        place = "" if begun is None else f".{sha256(begun.name.encode()).hexdigest()[:16]}"
        kept = self._kept_text(f"{kind_of(item)}{place}")
        ask_first(self.app, NatureModal(item, store, kept, is_new=begun is None), self.read_again)

    def action_delete(self) -> None:
        """Delete what is under the cursor, after a question."""
        row = self.chosen
        if row is None:
            return
        text = f"“{row.name}” of “{self._character.name}” is deleted from the library."
        question = ConfirmModal(f"Delete this {kind_of(row)}?", text, confirm="Delete", is_destructive=True)
        change = self._library.change
        self.ask(question, lambda _: change(self._character.id, lambda one: without_item(one, row)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        return bool(self.rows) if action in ("open", "delete") else True


def _cells_of(row: Nature) -> tuple[Text, ...]:
    texts = shown_fields(row)
    numbers = " ".join(
        f"{_SHORT.get(name, TITLES[name].lower())} {text}"
        for name, text in texts.items()
        if is_number(row, name)
    )
    about = " · ".join(
        clean_line(head(text, _SHOWN))
        for name, text in texts.items()
        if text and name != "name" and not is_number(row, name)
    )
    cells = (kind_of(row), row.name, numbers, about)
    return tuple(cut(cell) for cell in cells)


_SHORT = {"strength": "str", "sentiment": "sent", "exposure_now": "exp", "exposure_desired": "of"}
