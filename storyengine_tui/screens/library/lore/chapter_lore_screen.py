"""The lorebooks of the open chapter beside those of the library: attach, take over again, detach."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from core.context.visibility import names_of
from core.domain.session.lore import ChapterLorebook, label_now
from core.domain.session.profile import GENERAL
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import LoreCopy
from core.engine.session.session_handle import SessionHandle
from core.library.lore.kept import KeptLorebook
from core.text.name_list import name_key
from storyengine_tui.screens.shared.list_screen import ListScreen, cut

if TYPE_CHECKING:
    from core.engine.services.library.lorebooks import LoreLibrary

NONE_THERE = "Neither this chapter nor the library has a lorebook: F5, then 4 and i imports some."


@dataclass(frozen=True, slots=True)
class LoreRow:
    """A lorebook by its name: in the chapter, and in the library or on the card of a character."""

    name: str
    attached: ChapterLorebook | None
    kept: KeptLorebook | None = None
    on_card: LoreCopy | None = None

    @property
    def about(self) -> ChapterLorebook | KeptLorebook:
        """The lorebook of the row: the copy of the chapter, else the book to attach."""
        found = self.attached or self.source
        if found is None:
            raise ValueError("a row has a book")
        return found

    @property
    def owner(self) -> Slot | None:
        """The character on whose card it is; None for a book of the library."""
        return self.about.owner if isinstance(self.about, ChapterLorebook) else None

    @property
    def source(self) -> ChapterLorebook | KeptLorebook | None:
        """The book to attach or take over again: that of the library, or that of the card."""
        return self.kept or (None if self.on_card is None else self.on_card.book)

    @property
    def is_changed(self) -> bool:
        """Whether the library has another content under the name, or other groups."""
        now, then = self.source, self.attached
        if now is None or then is None:
            return False
        return (then.file_hash, then.groups) != (now.file_hash, now.groups)


class ChapterLoreScreen(ListScreen[None, LoreRow]):
    """Lists the lorebooks; each command is stored at once."""

    CSS_PATH = "chapter_lore_screen.tcss"
    HELP = (
        "A chapter has copies of lorebooks. a or Enter attaches the one under the cursor, or takes over its "
        "current content; d detaches it. The groups of a book decide who may know it, and are fixed at the "
        "lock; one on a card is for its character alone. Earlier play stays as it is. F7 says why each entry "
        "was in an input."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "attach", "Attach"),
        Binding("d", "detach", "Detach"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, library: "LoreLibrary", session: SessionHandle) -> None:
        super().__init__()
        self._library = library
        self._session = session
        self._on_cards: tuple[LoreCopy, ...] | None = None

    def compose(self) -> ComposeResult:
        """Compose a heading above the list."""
        yield Static("Lorebooks in play", id="heading", markup=False)
        yield from self.compose_list("lore", NONE_THERE)

    async def reload(self) -> None:
        """Read both again; those of the chapter come first, in the order in which they are scanned."""
        snapshot = self._session.snapshot
        if self._on_cards is None:
            profiles = snapshot.tab1.profiles
            self._on_cards = await self._library.copies_in_cards(snapshot.session, profiles)
        cards = {one.book.key: one for one in self._on_cards}
        kept = {name_key(one.name): one for one in await self._library.listed()}
        rows = [
            LoreRow(one.name, one, None, cards.pop(one.key, None))
            if one.owner is not None
            else LoreRow(one.name, one, kept.pop(one.key, None))
            for one in snapshot.lore
        ]
        rows += [LoreRow(one.name, None, one) for one in kept.values()]
        rows += [LoreRow(one.book.name, None, on_card=one) for one in cards.values()]
        columns = {
            "Lorebook": max(18, self.size.width - 62),
            "Entries": 8,
            "For the groups": 16,
            "In this chapter": 28,
        }
        self.fill(rows, columns, self._cells_of)

    def key_of(self, row: LoreRow) -> object:
        """Return the name, and the character whose card it is on."""
        return row.name, row.owner

    def _cells_of(self, row: LoreRow) -> tuple[Text, ...]:
        return (
            cut(row.name),
            Text(f"{row.about.entry_count:,}", justify="right"),
            cut(self._groups_of(row)),
            cut(self._said(row)),
        )

    def _groups_of(self, row: LoreRow) -> str:
        if row.owner is not None:
            return f"{self._session.snapshot.session.name_of(row.owner)} alone"
        return ", ".join(row.about.groups) or GENERAL

    def _said(self, row: LoreRow) -> str:
        if row.attached is None:
            return ""
        snapshot = self._session.snapshot
        label = label_now(row.attached, snapshot.session, snapshot.tab1.profiles)
        known = f"known to {names_of(label, snapshot.session)}"
        return f"older; {known}" if row.is_changed else known

    async def _take_over(self, row: LoreRow) -> None:
        copy = row.on_card if row.kept is None else await self._library.copy_of(row.kept)
        if copy is not None:
            await self._session.edits.attach_lore(copy)

    async def _detach_lore(self, row: LoreRow) -> None:
        await self._session.edits.detach_lore(row.name)

    @on(DataTable.RowSelected)
    def action_attach(self) -> None:
        """Attach the book under the cursor, or take its content over again."""
        if self.chosen is not None and self.chosen.source is not None:
            self.do_to(self.chosen, self._take_over)

    def action_detach(self) -> None:
        """Detach the book under the cursor."""
        if self.chosen is not None and self.chosen.attached is not None:
            self.do_to(self.chosen, self._detach_lore)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible for the book under the cursor."""
        row, can = self.chosen if self.is_mounted else None, self._session.can(Command.EDIT_LORE)
        if action == "attach":
            return (row is not None and row.source is not None and can) or None
        if action == "detach":
            return (row is not None and row.attached is not None and can) or None
        return super().check_action(action, parameters)
