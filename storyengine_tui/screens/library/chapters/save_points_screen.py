"""The save slots of one chapter: restore one into a new chapter, save one under a name, delete one."""

from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.session.session import SessionSummary
from core.domain.story.save_point import AUTOMATIC, NAMED, SavePoint
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.shelf.title_modal import SavePointNameModal
from storyengine_tui.screens.shared.list_screen import ListScreen
from storyengine_tui.screens.shared.state_labels import STATE_LABELS
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

NONE_TAKEN = "No save slots yet: the first is created when the chapter is locked. k saves one under a name."
NONE_SINCE = "No save slots yet. k saves one under a name."
"""Text for a chapter that was locked without one: by an early program, or as a copy."""
RESTORE_EFFECT = "Restore starts a new chapter where the slot was taken; this one stays as it is."
WHY_NOT_DELETED = "Automatic slots are replaced by newer ones; only a slot that you named can be deleted."
DELETE_EFFECT = "The chapter stays as it is; there is no way back to where the slot was saved."
OTHER_COLUMNS_WIDTH = 51


class SavePointsScreen(ListScreen[bool, SavePoint]):
    """Ends with True when a save point was restored, so that another chapter is open now."""

    CSS_PATH = "save_points_screen.tcss"
    HELP = (
        "Enter makes a new chapter that begins where the slot was taken, and opens it; the old one stays as "
        f"it is. {len(AUTOMATIC)} slots fill themselves, at every summary and before a reset, a restore or "
        f"an import, and the oldest is replaced; {len(NAMED)} are yours: k saves one, d deletes it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", "Restore", key_display="⏎"),
        Binding("k", "keep", "Save"),
        Binding("d", "drop", "Delete"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, workspace: Workspace, chapter: SessionSummary) -> None:
        super().__init__()
        self._workspace = workspace
        self._chapter = chapter
        self._saved: SavePoint | None = None
        """The save point that was just made, until the cursor is on it."""

    def compose(self) -> ComposeResult:
        """Compose the heading above the table."""
        yield Static(Content(f"Save slots of “{self._chapter.title}”"), id="heading")
        yield Static(RESTORE_EFFECT, id="makes", markup=False)
        yield from self.compose_list("slots", NONE_TAKEN if self._chapter.state.is_unlocked else NONE_SINCE)

    async def reload(self) -> None:
        """Read the save points again, the newest first."""
        listed = await self._workspace.require_engine().save_points.listed(self._chapter.id)
        points = sorted(listed, key=lambda point: (point.taken_at, point.number), reverse=True)
        room = max(16, self.size.width - OTHER_COLUMNS_WIDTH)
        columns = {"Slot": 4, "Name": room, "State": 16, "Prompts": 7, "Taken": 12}
        numbers, saved = [point.number for point in points], self._saved
        cursor = numbers.index(saved.number) if saved is not None and saved.number in numbers else None
        self._saved = None
        self.fill(points, columns, _cells, cursor=cursor)
        self.query_one("#makes").display = bool(points)

    def key_of(self, row: SavePoint) -> object:
        """Return the number."""
        return row.number

    @on(DataTable.RowSelected)
    def action_restore(self) -> None:
        """Restore the save point under the cursor into a new chapter."""
        if self.chosen is not None:
            self.do_once(self._restore(self.chosen))

    async def _restore(self, point: SavePoint) -> None:
        await self._workspace.restore_save_point(self._chapter.id, point)
        self.dismiss(True)

    def action_keep(self) -> None:
        """Ask for a name, and save the chapter under it as it is now."""
        dialog = SavePointNameModal(self.chosen.label if self.chosen and self.chosen.is_named else "")
        self.ask(dialog, self._keep)

    async def _keep(self, name: str) -> None:
        self._saved = await self._workspace.keep_save_point(self._chapter.id, name)

    def action_drop(self) -> None:
        """Delete the save point under the cursor, if the GM named it, after a question."""
        point = self.chosen
        if point is None or not point.is_named:
            return
        question = ConfirmModal(
            f"Delete the slot “{point.label}”?", DELETE_EFFECT, confirm="Delete", is_destructive=True
        )
        points = self._workspace.require_engine().save_points
        self.ask(question, lambda _: points.drop(self._chapter.id, point.number, seen=point))

    @on(DataTable.RowHighlighted)
    def _update_footer(self) -> None:
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the save point under the cursor."""
        if action == "restore":
            return bool(self.rows)
        if action == "drop":
            return self.chosen is not None and self.chosen.is_named
        return True

    def on_key(self, event: events.Key) -> None:
        """Say why an automatic save point cannot be deleted."""
        if event.key == "d" and self.chosen is not None and not self.chosen.is_named:
            self.notify(WHY_NOT_DELETED, severity="warning", markup=False)


def _cells(point: SavePoint) -> tuple[Text, Text, Text, Text, Text]:
    return (
        Text(str(point.number), justify="right"),
        Text(point.label, style="bold" if point.is_named else "", no_wrap=True, overflow="ellipsis"),
        Text(STATE_LABELS[point.state]),
        Text(f"{point.prompt_index:,}", justify="right"),
        Text(f"{point.taken_at.astimezone():%d %b %H:%M}"),
    )
