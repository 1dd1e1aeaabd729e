"""The chapter list: open, new, rename, archive, restore, and purge after a question (design 5)."""

from collections.abc import Awaitable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from core.domain.session.session import SessionSummary
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


class ChaptersScreen(ListScreen[None, SessionSummary]):
    """Lists the chapters, or the archived ones; Esc goes back to the open one."""

    CSS_PATH = "chapters_screen.tcss"
    HELP = (
        "Enter opens a chapter. Archiving takes it off every list but the archive (v), from where it can be "
        "restored; only there it can be purged, which deletes it for good. Save slots (s) are where a "
        "chapter stood before, to begin there again."
    )
    # The last binding does not fit 80 columns, which is fine: returning users do not need the example.
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
        self._shows_archived = False
        self._outcome = ""
        """What was just done, shown once in place of the heading."""

    def compose(self) -> ComposeResult:
        """Compose the heading above the table."""
        yield Static(LISTED, id="heading", markup=False)
        yield from self.compose_list("sessions", "")

    async def reload(self) -> None:
        """Read the list again; the cursor stays on its chapter, else on its row."""
        chosen = self.chosen
        engine = self._workspace.require_engine()
        sessions = await engine.sessions(is_archived=self._shows_archived)
        room = max(20, self.size.width - 53)
        columns = {"Title": room, "State": 23, "Prompts": 7, "Last played": 12}
        ids = [summary.id for summary in sessions]
        cursor = ids.index(chosen.id) if chosen is not None and chosen.id in ids else None
        self.fill(sessions, columns, partial(self._cells, room), cursor=cursor)
        self.query_one("#empty", Static).update(NONE_ARCHIVED if self._shows_archived else NONE_LISTED)
        self._say(self._outcome or (ARCHIVED if self._shows_archived else LISTED))
        self._outcome = ""

    def _cells(self, room: int, summary: SessionSummary) -> tuple[Text, Text, Text, Text]:
        session = self._workspace.session
        is_open = session is not None and session.id == summary.id
        if not summary.is_readable:
            return Text(summary.title, no_wrap=True, overflow="ellipsis"), Text(UNREADABLE), Text(), Text()
        state = STATE_LABELS[summary.state]
        return (
            Text(shortened_title(summary.title, room), style="bold" if is_open else "", no_wrap=True),
            Text(f"here · {state}" if is_open else state),
            Text(str(summary.prompt_index), justify="right"),
            Text(f"{summary.updated_at.astimezone():%d %b %H:%M}"),
        )

    def _say(self, sentence: str) -> None:
        self.query_one("#heading", Static).update(sentence)

    @on(DataTable.RowSelected)
    def _select(self) -> None:
        """Open the chapter under the cursor, or say that an archived one must be restored first."""
        if self._shows_archived:
            self._say(RESTORE_FIRST)
        else:
            self.action_open()

    def action_open(self) -> None:
        """Open the chapter under the cursor."""
        if self.chosen is not None and not self._shows_archived and self._is_readable():
            self.do(self._close_after(self._workspace.open(self.chosen.id)))

    def _is_readable(self) -> bool:
        """Return whether the chapter under the cursor can be read; if it cannot, say what to do."""
        if self.chosen is None or self.chosen.is_readable:
            return True
        self._say(CANNOT_OPEN)
        return False

    async def _close_after(self, work: Awaitable[None]) -> None:
        await work
        self.dismiss()

    def action_new(self) -> None:
        """Start a chapter with an empty world."""
        self.do(self._close_after(self._workspace.open_new()))

    def action_retitle(self) -> None:
        """Ask for another title."""
        chosen = self.chosen
        if chosen is None or not self._is_readable():
            return

        def retitle(title: str | None) -> None:
            if title is not None:
                self.do(self._workspace.retitle(chosen.id, title), then_reloads=True)

        self.app.push_screen(TitleModal(chosen.title), retitle)

    def action_example(self) -> None:
        """Close the list and offer the examples."""
        self.dismiss()
        self.app.call_later(self.app.run_action, "welcome")

    def action_archive(self) -> None:
        """Take the chapter under the cursor off the list."""
        if self.chosen is not None:
            self.do(self._archive(self.chosen), then_reloads=True)

    async def _archive(self, chosen: SessionSummary) -> None:
        await self._workspace.archive(chosen.id)
        self._outcome = f"“{chosen.title}” is archived; v shows it"

    def action_restore(self) -> None:
        """Bring the chapter under the cursor back."""
        if self.chosen is not None:
            self.do(self._workspace.require_engine().restore(self.chosen.id), then_reloads=True)

    def action_purge(self) -> None:
        """Delete the chapter under the cursor for good, if the GM confirms it."""
        chosen = self.chosen
        if chosen is None:
            return

        def purge(is_confirmed: bool | None) -> None:
            if is_confirmed:
                self.do(self._workspace.purge(chosen.id), then_reloads=True)

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

        if self.chosen is not None and self._is_readable():
            self.app.push_screen(SaveSlotsScreen(self._workspace, self.chosen), close)

    def action_switch(self, shows_archived: bool) -> None:
        """Show the archived chapters, or the others again."""
        self._shows_archived = shows_archived
        self.do(self.reload())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the chapter under the cursor."""
        if action in ("restore", "purge"):
            return self._shows_archived and bool(self.rows)
        if action == "switch":
            return parameters != (self._shows_archived,)
        if action == "slots":
            return bool(self.rows)
        if action in ("open", "archive", "retitle"):
            return not self._shows_archived and bool(self.rows)
        return True
