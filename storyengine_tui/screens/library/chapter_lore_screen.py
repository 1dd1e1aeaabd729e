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
from core.engine.session.session_handle import SessionHandle
from core.library.lore.kept import KeptLorebook
from core.library.names import name_key
from storyengine_tui.screens.library.list_screen import ListScreen

if TYPE_CHECKING:
    from core.engine.library.lorebooks import LoreLibrary

NONE_THERE = "Neither this chapter nor the library has a lorebook: F5, then 4 and i imports some."


@dataclass(frozen=True, slots=True)
class LoreRow:
    """A lorebook by its name: in the chapter, in the library, or in both."""

    name: str
    attached: ChapterLorebook | None
    kept: KeptLorebook | None

    @property
    def about(self) -> ChapterLorebook | KeptLorebook:
        """What there is of it: the copy of the chapter, else the book of the library."""
        found = self.attached or self.kept
        if found is None:
            raise ValueError("a row has a book")
        return found

    @property
    def is_changed(self) -> bool:
        """Whether the library has another content under the name, or other groups."""
        if self.attached is None or self.kept is None:
            return False
        return (self.attached.file_hash, self.attached.groups) != (self.kept.file_hash, self.kept.groups)


class ChapterLoreScreen(ListScreen[None, LoreRow]):
    """Lists the lorebooks; each command is stored at once."""

    CSS_PATH = "chapter_lore_screen.tcss"
    HELP = (
        "A chapter has copies of lorebooks. a attaches the one under the cursor, or takes over what it holds "
        "in the library now; d detaches it. Who may know a book follows from its groups, and is settled at "
        "the lock. What was played stays as it is. F7 says of every entry why it was in an input."
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

    def compose(self) -> ComposeResult:
        """Compose a heading above the list."""
        yield Static("Lorebooks of this chapter", id="heading", markup=False)
        yield from self.compose_list("lore", NONE_THERE)

    async def reload(self) -> None:
        """Read both again; those of the chapter come first, in the order in which they are scanned."""
        kept = {name_key(one.name): one for one in await self._library.listed()}
        rows = [LoreRow(one.name, one, kept.pop(one.key, None)) for one in self._session.snapshot.lore]
        rows += [LoreRow(one.name, None, one) for one in kept.values()]
        columns = {
            "Lorebook": max(18, self.size.width - 62),
            "Entries": 8,
            "For the groups": 16,
            "In this chapter": 28,
        }
        self.fill(rows, columns, self._cells_of)

    def _cells_of(self, row: LoreRow) -> tuple[Text, ...]:
        return (
            Text(row.name, no_wrap=True, overflow="ellipsis"),
            Text(f"{row.about.entry_count:,}", justify="right"),
            Text(", ".join(row.about.groups) or GENERAL, no_wrap=True, overflow="ellipsis"),
            Text(self._said(row), no_wrap=True, overflow="ellipsis"),
        )

    def _said(self, row: LoreRow) -> str:
        if row.attached is None:
            return ""
        snapshot = self._session.snapshot
        label = label_now(row.attached, snapshot.session, snapshot.tab1.profiles)
        known = f"known to {names_of(label, snapshot.session)}"
        return f"older; {known}" if row.is_changed else known

    async def _take_over(self, book: KeptLorebook) -> None:
        await self._session.attach_lore(await self._library.copy_of(book))

    @on(DataTable.RowSelected)
    def action_attach(self) -> None:
        """Attach the book under the cursor, or take its content over again."""
        if self.chosen is not None and self.chosen.kept is not None:
            self.do(self._take_over(self.chosen.kept), then_reloads=True)

    def action_detach(self) -> None:
        """Detach the book under the cursor."""
        if self.chosen is not None and self.chosen.attached is not None:
            self.do(self._session.detach_lore(self.chosen.name), then_reloads=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible for the book under the cursor."""
        row, can = self.chosen if self.is_mounted else None, self._session.can(Command.EDIT_LORE)
        if action == "attach":
            return (row is not None and row.kept is not None and can) or None
        if action == "detach":
            return (row is not None and row.attached is not None and can) or None
        return super().check_action(action, parameters)
