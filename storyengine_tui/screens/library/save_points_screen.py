"""The save slots of one chapter: restore one into a new chapter, save one under a name, delete one."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.save_point import AUTOMATIC, NAMED, SavePoint
from core.domain.session import SessionSummary
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.list_screen import ListScreen
from storyengine_tui.screens.library.title_modal import SlotNameModal
from storyengine_tui.screens.shared.state_labels import STATE_LABELS

NONE_TAKEN = "There is none yet: the first is created when the chapter is locked. k saves one under a name."
WHAT_RESTORE_MAKES = "Restore starts a new chapter where the slot was taken; this one stays as it is."
WHY_NOT_DROPPED = "Automatic slots are replaced by newer ones; only a slot that you named can be deleted."
WIDTH_OF_THE_REST = 51


class SaveSlotsScreen(ListScreen[bool]):
    """Ends with whether a slot was restored, and so another chapter is open now."""

    CSS_PATH = "save_points_screen.tcss"
    HELP = (
        "Enter makes a new chapter that begins where the slot was taken, and opens it; the old one stays as "
        f"it is. {len(AUTOMATIC)} slots fill themselves, at every summary and before a reset, a restore or "
        f"an import, the oldest giving way; {len(NAMED)} are yours: k saves one, d deletes it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", "Restore", key_display="Enter"),
        Binding("k", "keep", "Save"),
        Binding("d", "drop", "Delete"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, workspace: Workspace, chapter: SessionSummary) -> None:
        super().__init__()
        self._workspace = workspace
        self._chapter = chapter
        self._slots: Sequence[SavePoint] = ()

    def compose(self) -> ComposeResult:
        """Compose the table below whose slots they are."""
        yield Static(Content(f"Save slots of “{self._chapter.title}”"), id="heading")
        yield Static(WHAT_RESTORE_MAKES, id="makes", markup=False)
        yield from self.compose_list("slots")
        yield Static(NONE_TAKEN, id="empty", markup=False)
        yield from self.compose_keys()

    async def on_mount(self) -> None:
        """Read the slots."""
        self.do(self.reload())

    async def reload(self) -> None:
        """Read the slots again, the newest first; the cursor stays on its row."""
        table = self.query_one(DataTable)
        row = table.cursor_row
        listed = await self._workspace.require_engine().save_points.listed(self._chapter.id)
        self._slots = sorted(listed, key=lambda slot: (slot.taken_at, slot.number), reverse=True)
        table.clear(columns=True)
        room = max(16, self.size.width - WIDTH_OF_THE_REST)
        for label, width in (("Slot", 4), ("Name", room), ("State", 16), ("Prompts", 7), ("Taken", 12)):
            table.add_column(Text(label), width=width)
        for slot in self._slots:
            table.add_row(*_cells(slot))
        table.move_cursor(row=min(row, max(0, len(self._slots) - 1)), animate=False)
        self._show_what_there_is()

    def _show_what_there_is(self) -> None:
        table = self.query_one(DataTable)
        table.display = bool(self._slots)
        self.query_one("#empty", Static).display = not self._slots
        self.query_one("#makes", Static).display = bool(self._slots)
        if self._slots:
            table.focus()
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Give the names the room there is."""
        if self._slots:
            self.do(self.reload())

    @property
    def _chosen(self) -> SavePoint | None:
        row = self.query_one(DataTable).cursor_row
        return self._slots[row] if 0 <= row < len(self._slots) else None

    @on(DataTable.RowSelected)
    def action_restore(self) -> None:
        """Go on in a new chapter that begins where the slot was taken."""
        if self._chosen is not None:
            self.do(self._restore(self._chosen.number))

    async def _restore(self, number: int) -> None:
        await self._workspace.restore_slot(self._chapter.id, number)
        self.dismiss(True)

    def action_keep(self) -> None:
        """Ask for a name, and save the chapter under it as it is now."""

        def keep(name: str | None) -> None:
            if name is not None:
                self.do_and_reload(self._workspace.keep_slot(self._chapter.id, name))

        chosen = self._chosen
        self.app.push_screen(SlotNameModal(chosen.label if chosen and chosen.is_named else ""), keep)

    def action_drop(self) -> None:
        """Delete a slot that the GM named."""
        if self._chosen is not None and self._chosen.is_named:
            slots = self._workspace.require_engine().save_points
            self.do_and_reload(slots.drop(self._chapter.id, self._chosen.number))

    @on(DataTable.RowHighlighted)
    def _tell_footer(self) -> None:
        self.refresh_bindings()

    def action_close(self) -> None:
        """Go back to the chapter list."""
        self.dismiss(False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the slot under the cursor."""
        if action == "restore":
            return bool(self._slots)
        if action == "drop":
            return self._chosen is not None and self._chosen.is_named
        return True

    def on_key(self, event: events.Key) -> None:
        """Say why an automatic slot is not deleted."""
        if event.key == "d" and self._chosen is not None and not self._chosen.is_named:
            self.notify(WHY_NOT_DROPPED, severity="warning", markup=False)


def _cells(slot: SavePoint) -> tuple[Text, Text, Text, Text, Text]:
    return (
        Text(str(slot.number), justify="right"),
        Text(slot.label, style="bold" if slot.is_named else "", no_wrap=True, overflow="ellipsis"),
        Text(STATE_LABELS[slot.state]),
        Text(str(slot.prompt_index), justify="right"),
        Text(f"{slot.taken_at.astimezone():%d %b %H:%M}"),
    )
