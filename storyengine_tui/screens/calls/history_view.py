"""Every call of the session: the agent, the model, the tokens and the outcome (design 4)."""

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.calls.calls_view import CallsView, right
from storyengine_tui.screens.calls.inputs import call_rows, call_runs
from storyengine_tui.screens.calls.inputs.call_rows import CallRow
from storyengine_tui.screens.calls.inputs.call_runs import CallRun
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.screens.shared.list_screen import cut

BATCH = 200
"""Number of rows added to the table at a time; more follow when the cursor comes near the end."""
COST_WIDTH = 9
"""Cells of the column of costs, which is there once money was spent."""
PROMPT_WIDTH = 6
"""Cells of the column of prompts, which has a word where a call is for none."""
MAX_NAME_WIDTH = 40
"""Widest column of an agent's or a model's name, in cells."""


class HistoryView(CallsView):
    """Lists the calls of the chapter, newest first; Enter shows one in full.

    Vectors that were made one batch after the other are one row, which Enter takes apart.
    """

    TABLE = "calls"
    HINT = "this chapter; Enter shows a call"
    EMPTY = "No model has been called in this chapter yet."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Show"),
        Binding("t", "plot", "Tokens over time", show=False),
    ]

    def __init__(self, session: SessionHandle) -> None:
        super().__init__()
        self._session = session
        self._calls: list[CallRow] = []
        self._runs: list[CallRun] = []
        self._opened: frozenset[int] = frozenset()
        self._has_costs = False

    async def reload(self) -> None:
        """Read the calls; raises StoryEngineError."""
        artifacts = await self._session.reads.artifacts()
        if not artifacts:
            await self._session.reads.load()  # A chapter that another window has purged is refused.
        requests = await self._session.reads.requests()
        self._calls = call_rows.calls_of(artifacts, requests)[::-1]
        self._has_costs = call_rows.is_spent(self._calls)
        self.show()

    def show(self) -> None:
        """Show the rows."""
        self._runs = call_runs.runs_of(self._calls, self._opened)
        came = len(self._runs) - len(self._keys) if self._keys else 0
        first = max(BATCH, self.table.cursor_row + 1 + came)
        rows = map(self._cells, self._runs[:first])
        keys = [run.number for run in self._runs]
        self.fill(call_rows.totals_of(self._calls), self._columns(), rows, keys)

    def _columns(self) -> list[tuple[Text, int]]:
        """Return headings and widths; they fit 80 columns, and further ones widen agent and model."""
        # Costs take their room from agent and outcome, and only where there are any.
        cost = COST_WIDTH if self._has_costs else 0
        # So does a range of high numbers from the outcome.
        prompt = max([PROMPT_WIDTH, *(1 + len(call_rows.prompt_of(run.calls[0])) for run in self._runs)])
        more = min(MAX_NAME_WIDTH - 15, max(0, self.size.width - 80) // 2)
        return [
            (right("#"), 5),
            (Text(" Agent"), 18 + more - cost // 2),
            (Text(" Model"), 10 + more),
            (right("Prompt"), prompt),
            (right("Tokens"), 14),
            (right("First"), 8),
            *([(right("Cost"), cost)] if cost else []),
            (Text(" Outcome"), 17 - (cost - cost // 2) - (prompt - PROMPT_WIDTH)),
        ]

    def _cells(self, run: CallRun) -> tuple[Text, ...]:
        call = run.calls[0]
        return (
            right(f"{call.number:,}"),
            cut(f" {call_rows.agent_of(call, self._session.snapshot.session)}"),
            cut(f" {call.artifact.model}"),
            right(call_rows.prompt_of(call)),
            right(call_runs.tokens_of(run)),
            right(call_runs.first_of(run)),
            *([right(call_runs.cost_of(run))] if self._has_costs else []),
            cut(f" {call_runs.outcome_of(run)}", "bold" if run.failed else ""),
        )

    @on(DataTable.RowHighlighted)
    def _add_more(self, event: DataTable.RowHighlighted) -> None:
        """Add further rows before the cursor comes to the end."""
        table = self.table
        if event.cursor_row >= table.row_count - BATCH // 2:
            for run in self._runs[table.row_count : table.row_count + BATCH]:
                table.add_row(*self._cells(run))

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Show the call under the cursor in full, or each call of a row that has several."""
        row = self.table.cursor_row
        if not 0 <= row < len(self._runs) or not self.screen.is_active:  # Enter may come twice.
            return
        run = self._runs[row]
        if len(run.calls) == 1:
            self.app.push_screen(CallScreen(self._session, run.calls[0]))
        else:
            self._opened |= {run.number}
            self._keys = ()  # The cursor stays at the newest of its calls.
            self.show()

    def action_plot(self) -> None:
        """Show how the inputs of characters grew."""
        from storyengine_tui.screens.calls.inputs.plot_screen import PlotScreen

        self.app.push_screen(PlotScreen(self._session, self._calls))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        return bool(self._calls) if action in ("open", "plot") else True
