"""The chapter list: open, new, rename, archive, restore, and purge with a second question (design 5)."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from core.domain.ids import SessionId
from core.domain.session import SessionSummary
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.list_screen import ListScreen
from storyengine_tui.screens.library.save_points_screen import SaveSlotsScreen
from storyengine_tui.screens.library.title_modal import TitleModal
from storyengine_tui.screens.shared.state_labels import STATE_LABELS, shortened_title
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

LISTED = "Your chapters, last played first"
UNREADABLE = "cannot be read"
CANNOT_OPEN = "This chapter cannot be read; a archives it, and the others are not affected"
NONE_LISTED = "There is no chapter; n starts one."
ARCHIVED = "Archived chapters: restore one to play on, or purge it for good"
RESTORE_FIRST = "An archived chapter cannot be opened: r restores it, then it is in your chapters (v)."
NONE_ARCHIVED = "No chapter is archived."


class ChaptersScreen(ListScreen[None]):
    """Lists the chapters, or the archived ones; Esc goes back to the open one."""

    CSS_PATH = "chapters_screen.tcss"
    HELP = (
        "Enter opens a chapter. Archiving takes it off every list but the archive (v), from where it can be "
        "restored; only there it can be purged, which deletes it for good. Save slots (s) are where a "
        "chapter stood before, to begin there again."
    )
    # In 80 columns the last has no room: who has chapters needs no example.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Open", key_display="Enter"),
        Binding("n", "new", "New"),
        Binding("t", "retitle", "Title"),
        Binding("a", "archive", "Archive"),
        Binding("r", "restore", "Restore"),
        Binding("p", "purge", "Purge"),
        Binding("s", "slots", "Save slots"),
        Binding("v", "switch(True)", "Archived"),
        Binding("v", "switch(False)", "Chapters"),
        Binding("e", "example", "Example"),
        Binding("escape,f5", "close", "Back"),
    ]

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._sessions: Sequence[SessionSummary] = ()
        self._shows_archived = False
        self._done_last = ""
        """What was just done, said once in place of the heading."""

    def compose(self) -> ComposeResult:
        """Compose the table below what it shows."""
        yield Static(LISTED, id="heading", markup=False)
        yield from self.compose_list("sessions")
        yield Static("", id="empty", markup=False)
        yield from self.compose_keys()

    async def on_mount(self) -> None:
        """Read the list."""
        table = self.query_one(DataTable)
        table.focus()
        self.do(self.reload())

    async def reload(self) -> None:
        """Read the list again; the cursor stays on its chapter, else on its row."""
        chosen, table = self._chosen, self.query_one(DataTable)
        row = table.cursor_row
        engine = self._workspace.require_engine()
        self._sessions = await engine.sessions(is_archived=self._shows_archived)
        table.clear(columns=True)
        room = max(20, self.size.width - 53)
        for label, width in (("Title", room), ("State", 23), ("Prompts", 7), ("Last played", 12)):
            table.add_column(Text(label), width=width)
        for summary in self._sessions:
            table.add_row(*self._cells(summary, room), key=str(summary.id))
        ids = [summary.id for summary in self._sessions]
        if chosen is not None and chosen.id in ids:
            row = ids.index(chosen.id)
        table.move_cursor(row=min(row, max(0, len(ids) - 1)), animate=False)
        self._show_heading()

    def _cells(self, summary: SessionSummary, room: int) -> tuple[Text, Text, Text, Text]:
        session = self._workspace.session
        is_open = session is not None and session.id == summary.id
        if not summary.is_readable:
            return Text(summary.title, no_wrap=True, overflow="ellipsis"), Text(UNREADABLE), Text(), Text()
        standing = STATE_LABELS[summary.state]
        return (
            Text(shortened_title(summary.title, room), style="bold" if is_open else "", no_wrap=True),
            Text(f"here · {standing}" if is_open else standing),
            Text(str(summary.prompt_index), justify="right"),
            Text(f"{summary.updated_at.astimezone():%d %b %H:%M}"),
        )

    def _show_heading(self) -> None:
        heading = ARCHIVED if self._shows_archived else LISTED
        self.query_one("#heading", Static).update(self._done_last or heading)
        self._done_last = ""
        empty = self.query_one("#empty", Static)
        empty.display = not self._sessions
        empty.update(NONE_ARCHIVED if self._shows_archived else NONE_LISTED)
        self.query_one(DataTable).display = bool(self._sessions)
        if self._sessions:
            self.query_one(DataTable).focus()
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Give the titles the room there is."""
        if self._sessions:
            self.do(self.reload())

    @property
    def _chosen(self) -> SessionSummary | None:
        row = self.query_one(DataTable).cursor_row
        return self._sessions[row] if 0 <= row < len(self._sessions) else None

    @on(DataTable.RowSelected)
    def _select(self) -> None:
        """Open the chapter under the cursor, or say what an archived one needs first."""
        if self._shows_archived:
            self._done_last = RESTORE_FIRST
            self._show_heading()
        else:
            self.action_open()

    def action_open(self) -> None:
        """Open the chapter under the cursor."""
        if self._chosen is not None and not self._shows_archived and self._is_readable():
            self.do(self._open(self._chosen.id))

    def _is_readable(self) -> bool:
        """Return whether the chapter under the cursor can be read; say what helps where it cannot."""
        if self._chosen is None or self._chosen.is_readable:
            return True
        self._done_last = CANNOT_OPEN
        self._show_heading()
        return False

    async def _open(self, session_id: SessionId) -> None:
        await self._workspace.open(session_id)
        self.dismiss()

    def action_new(self) -> None:
        """Start with an empty world."""
        self.do(self._new())

    async def _new(self) -> None:
        await self._workspace.open_new()
        self.dismiss()

    def action_retitle(self) -> None:
        """Ask for another title."""
        chosen = self._chosen
        if chosen is None or not self._is_readable():
            return

        def retitle(title: str | None) -> None:
            if title is not None:
                self.do_and_reload(self._workspace.retitle(chosen.id, title))

        self.app.push_screen(TitleModal(chosen.title), retitle)

    def action_example(self) -> None:
        """Leave the list for the page that offers the examples."""
        self.dismiss()
        self.app.call_later(self.app.run_action, "welcome")

    def action_archive(self) -> None:
        """Take the chapter under the cursor off the list."""
        chosen = self._chosen
        if chosen is not None:
            self.do(self._archive(chosen))

    async def _archive(self, chosen: SessionSummary) -> None:
        await self._workspace.archive(chosen.id)
        self._done_last = f"“{chosen.title}” is archived; v shows it"
        await self.reload()

    def action_restore(self) -> None:
        """Bring the chapter under the cursor back."""
        if self._chosen is not None:
            self.do_and_reload(self._workspace.require_engine().restore(self._chosen.id))

    def action_purge(self) -> None:
        """Delete the chapter under the cursor for good, if the GM confirms it."""
        chosen = self._chosen
        if chosen is None:
            return

        def purge(is_confirmed: bool | None) -> None:
            if is_confirmed:
                self.do_and_reload(self._workspace.purge(chosen.id))

        text = (
            f"“{chosen.title}” is deleted with everything in it: world, cast, {chosen.prompt_index:,} "
            "prompts, memory and drafts. This cannot be undone."
        )
        self.app.push_screen(
            ConfirmModal("Purge this chapter for good?", text, confirm="Purge", is_destructive=True), purge
        )

    def action_slots(self) -> None:
        """Show the save slots of the chapter under the cursor; a restored one is open afterwards."""

        def close(is_restored: bool | None) -> None:
            if is_restored:
                self.dismiss()
            else:
                self.do(self.reload())

        if self._chosen is not None and self._is_readable():
            self.app.push_screen(SaveSlotsScreen(self._workspace, self._chosen), close)

    def action_switch(self, shows_archived: bool) -> None:
        """Show the archived chapters, or the others again."""
        self._shows_archived = shows_archived
        self.do(self.reload())

    def action_close(self) -> None:
        """Go back to the open chapter."""
        self.dismiss()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the chapter under the cursor."""
        if action in ("restore", "purge"):
            return self._shows_archived and bool(self._sessions)
        if action == "switch":
            return parameters != (self._shows_archived,)
        if action == "slots":
            return bool(self._sessions)
        if action in ("open", "archive", "retitle"):
            return not self._shows_archived and bool(self._sessions)
        return True
