"""A character in a slot beside the one in the library: what differs, and what is taken over by field."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.errors import LimitExceededError
from core.library.characters.character import LibraryCharacter
from core.library.characters.in_chapter import Compared, SharedField, compared, with_field
from core.text.cleaning import clean_line, is_blank
from core.text.graphemes import head
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary

LABELS = {
    SharedField.NAME: "Name",
    SharedField.IDENTITY: "Identity",
    SharedField.SHORT_DESCRIPTION: "Short description",
    SharedField.ALIASES: "Other names",
    SharedField.GROUP: "Group",
    SharedField.GROUPS_VISIBLE: "Sees groups",
    SharedField.MODEL: "Model",
}
EMPTY = "—"
SAME = "the same"
_SHOWN = 200
_BEFORE = 8
"""Characters that are shown before the first that differ."""
_LONGEST = 1_000_000


class ShortenModal(StoredTextModal):
    """Ends with True once a text that was too long for a chapter is short enough, and was put there."""

    EFFECT = "It is longer than a chapter takes. Choose what goes; the library keeps all of it."
    SAVE = "Take"
    LOSS = ("Discard the changes?", "Your shortened text is not taken, and will be lost.")

    def __init__(
        self,
        store: Callable[[str], Awaitable[None]],
        limit: int,
        begun: str,
        kept: UnstoredText | None,
        *,
        what: str,
    ) -> None:
        super().__init__(store, limit, begun, kept)
        self.heading = f"Shorten the {what}"


class CompareScreen(ListScreen[None, Compared]):
    """Shows both sides of each field, and of the one under the cursor all of it.

    `kept_text` returns the file for something of the chapter that is being written.
    """

    CSS_PATH = "casting.tcss"
    HELP = (
        "On the left the character on tab 1, on the right the one in the library. t takes the field under "
        "the cursor from the library into the chapter, where Ctrl+Z undoes it in a text; p puts it from the "
        "chapter into the library. Play does not change the library."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "take", "Take into the chapter"),
        Binding("p", "put", "Put into the library"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(
        self,
        library: "CharacterLibrary",
        character: LibraryCharacter,
        slot: CharacterPanel,
        kept_text: Callable[[str], UnstoredText | None],
    ) -> None:
        super().__init__()
        self._library = library
        self._character = character
        self._slot = slot
        self._kept_text = kept_text

    def compose(self) -> ComposeResult:
        """Compose the fields, and both sides of one of them below."""
        yield Static("", id="heading", markup=False)
        yield Banner(id="trouble")
        yield RowTable(id="fields")
        yield Static("", id="empty")
        with Horizontal(id="sides"):
            for name in ("chapter", "library"):
                with Vertical():
                    yield Static("", id=f"{name}-title", classes="label")
                    yield CappedTextArea(limit=_LONGEST, read_only=True, id=name)
        yield KeyLine(offers_palette=False)

    async def reload(self) -> None:
        """Compare again; the library may have been changed elsewhere."""
        found = [one for one in await self._library.listed() if one.id == self._character.id]
        self._character = found[0] if found else self._character
        self._show()

    def _show(self) -> None:
        slot = self._slot
        heading = f"{slot.called} in this chapter, and {self._character.name} in the library"
        self.query_one("#heading", Static).update(heading)
        rows = compared(self._character, slot.character_name, slot.identity, slot.profile)
        label = max(9, *(len(LABELS[row.field]) for row in rows))
        side = max(12, (self.size.width - label - 22) // 2)
        self._table.styles.height = 1 + len(rows)
        columns = {"Field": label, "In this chapter": side, "In the library": side, "": 10}
        first = next((at for at, row in enumerate(rows) if not row.is_same), 0)
        self.fill(rows, columns, _cells_of, cursor=None if self.rows else first)
        self._show_sides()

    def key_of(self, row: Compared) -> object:
        """Return the field."""
        return row.field

    @on(DataTable.RowHighlighted)
    def _show_sides(self) -> None:
        row = self.chosen
        if row is None:
            return
        room = self._slot.room_for(row.field)
        for name, title, text in (
            ("chapter", "In this chapter", row.chapter),
            ("library", "In the library", row.library),
        ):
            area = self.query_one(f"#{name}", CappedTextArea)
            if area.text != text:
                area.load_text(text)
                # What differs may be far below: it is shown on both sides.
                alike = text[: _same_until(row)]
                line = alike.count("\n")
                area.move_cursor((line, len(alike) - alike.rfind("\n") - 1), center=True)
            self.query_one(f"#{name}-title", Static).update(Content(f"{title}, {len(text):,}/{room:,}"))
        self.refresh_bindings()

    def action_take(self) -> None:
        """Take the field under the cursor into the chapter; of one that is too long, ask what goes."""
        row = self.chosen
        if row is None:
            return
        room = self._slot.room_for(row.field)
        if len(row.library) > room and row.field in (SharedField.NAME, SharedField.IDENTITY):

            async def store(text: str) -> None:
                await self._apply(row.field, clean_line(text) if row.field is SharedField.NAME else text)

            what, kept = LABELS[row.field].lower(), f"shorten.{row.field.value}.{self._character.id}"
            modal = ShortenModal(store, room, row.library, self._kept_text(kept), what=what)
            ask_first(self.app, modal, self._show)
        else:
            self.do(self._apply(row.field, row.library), then_reloads=True)

    async def _apply(self, field: SharedField, text: str) -> None:
        room = self._slot.room_for(field)
        if len(text) > room:
            raise LimitExceededError(LABELS[field].lower(), len(text), room)
        self._slot.set_field(field, text)
        self._slot.link(self._character.id)

    def action_put(self) -> None:
        """Put the field under the cursor into the library, after a question: there it cannot be undone."""
        row = self.chosen
        if row is None:
            return
        text = (
            f"The {LABELS[row.field].lower()} of “{self._character.name}” there becomes that of this "
            "chapter. A card that it came from is kept as it is."
        )
        question = ConfirmModal("Put it into the library?", text, confirm="Put")
        self.ask(question, lambda _: self._put(row))

    async def _put(self, row: Compared) -> None:
        begun = self._character
        self._character = await self._library.edit(begun, with_field(begun, row.field, row.chapter))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the field under the cursor."""
        row = self.chosen
        differs = row is not None and not row.is_same
        if action == "take":
            return differs and self._slot.is_editable
        if action == "put":
            return differs and row is not None and not (row.field is SharedField.NAME and not row.chapter)
        return True


def _same_until(row: Compared) -> int:
    """Return how many characters both sides begin with alike; 0 where all of it is the same."""
    if row.is_same:
        return 0
    pairs = enumerate(zip(row.chapter, row.library, strict=False))
    shorter = min(len(row.chapter), len(row.library))
    return next((at for at, (here, there) in pairs if here != there), shorter)


def _cells_of(row: Compared) -> tuple[Text, Text, Text, Text]:
    start = row.chapter.rfind(" ", 0, max(0, _same_until(row) - _BEFORE)) + 1

    def shown(text: str) -> Text:
        told = ", ".join(text.splitlines()) if row.field.is_list else text[start:]
        line = EMPTY if is_blank(text) else clean_line(head(told, _SHOWN))
        return cut(f"…{line}" if start and not row.field.is_list else line)

    return Text(LABELS[row.field]), shown(row.chapter), shown(row.library), Text(SAME if row.is_same else "")
