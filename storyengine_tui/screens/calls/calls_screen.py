"""Every call of the session: the agent, the model, the tokens and the outcome (design 4)."""

from typing import ClassVar

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.errors import StoryEngineError
from core.engine.session_handle import SessionHandle
from storyengine_tui.screens.calls import call_rows
from storyengine_tui.screens.calls.call_rows import CallRow
from storyengine_tui.screens.calls.call_screen import CallScreen
from storyengine_tui.widgets.banner import Banner, BannerAction
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine

BATCH = 200
"""How many rows are added to the table at a time; more are added when the cursor comes near the end."""
COST_WIDTH = 9
"""Cells of the column of costs, which is there once money was spent."""
MAX_NAME_WIDTH = 40
"""Widest column of an agent's or a model's name, in cells."""


class ProvenanceScreen(OverlayScreen[None]):
    """Lists the calls, newest first; Enter shows one in full, Esc goes back to the chapter."""

    CSS_PATH = "calls_screen.tcss"
    HELP = (
        "Every call of a model is listed, those that failed too, the newest first. Enter shows what was sent "
        "and what came back, in full."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Show"),
        Binding("r", "reload", "Read again"),
        Binding("escape,f7", "close", "Back"),
    ]

    _table = getters.query_one("#calls", DataTable)

    def __init__(self, session: SessionHandle) -> None:
        super().__init__()
        self._session = session
        self._calls: list[CallRow] = []
        self._has_costs = False

    def compose(self) -> ComposeResult:
        """Compose heading and totals above the table."""
        yield Static(
            "Calls of this chapter, newest first; Enter shows one in full", id="heading", markup=False
        )
        yield Static("", id="totals", markup=False)
        yield Banner(id="trouble")
        yield DataTable[Text](id="calls", cursor_type="row", cell_padding=0)
        yield Static("No model has been called in this chapter yet.", id="empty", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the calls."""
        self.query_one("#empty").display = False
        self.action_reload()

    @on(Banner.ActionChosen)
    def action_reload(self) -> None:
        """Read the calls again."""
        self.run_worker(self._load(), group="load", exclusive=True, exit_on_error=False)

    async def _load(self) -> None:
        banner = self.query_one(Banner)
        try:
            artifacts = await self._session.artifacts()
            requests = await self._session.requests()
        except StoryEngineError as error:
            banner.show(error.message, hint=error.hint, actions=(BannerAction("retry", "Retry", "r"),))
            return
        banner.hide()
        self._calls = call_rows.calls_of(artifacts, requests)[::-1]
        self._has_costs = call_rows.is_spent(self._calls)
        self._show()

    def _show(self) -> None:
        table = self._table
        row = table.cursor_row
        table.clear(columns=True)
        for label, width in self._columns():
            table.add_column(label, width=width)
        self._add_rows(max(BATCH, row + 1))
        table.move_cursor(row=min(row, max(0, len(self._calls) - 1)), animate=False)
        self.query_one("#totals", Static).update(Content(call_rows.totals_of(self._calls)))
        self.query_one("#empty").display = not self._calls
        table.display = bool(self._calls)
        if self._calls:
            table.focus()
        self.refresh_bindings()

    def _columns(self) -> list[tuple[Text, int]]:
        """Return headings and widths; they fit 80 columns, and further ones widen agent and model."""
        # Costs take their room from agent and outcome, and only where there are any.
        cost = COST_WIDTH if self._has_costs else 0
        more = min(MAX_NAME_WIDTH - 15, max(0, self.size.width - 80) // 2)
        return [
            (_right("#"), 5),
            (Text(" Agent"), 18 + more - cost // 2),
            (Text(" Model"), 10 + more),
            (_right("Prompt"), 6),
            (_right("Tokens"), 14),
            (_right("First"), 8),
            *([(_right("Cost"), cost)] if cost else []),
            (Text(" Outcome"), 17 - (cost - cost // 2)),
        ]

    def _add_rows(self, count: int) -> None:
        table = self._table
        for call in self._calls[table.row_count : table.row_count + count]:
            table.add_row(*self._cells(call), key=str(call.number))

    def _cells(self, call: CallRow) -> tuple[Text, ...]:
        return (
            _right(f"{call.number:,}"),
            _cut(f" {call_rows.agent_of(call, self._session.snapshot.session)}"),
            _cut(f" {call.artifact.model}"),
            _right(call_rows.prompt_of(call)),
            _right(call_rows.tokens_of(call)),
            _right(call_rows.seconds(call.artifact.first_token_ms)),
            *([_right(call_rows.cost_of(call))] if self._has_costs else []),
            Text(f" {call_rows.outcome_of(call)}", "bold" if call.artifact.error_code else "", no_wrap=True),
        )

    @on(DataTable.RowHighlighted)
    def _add_more(self, event: DataTable.RowHighlighted) -> None:
        """Add further rows before the cursor comes to the end."""
        if event.cursor_row >= self._table.row_count - BATCH // 2:
            self._add_rows(BATCH)

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        if self._calls:
            self._show()

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Show the call under the cursor in full."""
        row = self._table.cursor_row
        if 0 <= row < len(self._calls):
            self.app.push_screen(CallScreen(self._session, self._calls[row]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        return bool(self._calls) if action == "open" else True


def _right(text: str) -> Text:
    return Text(text, justify="right", no_wrap=True)


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")
