"""The ledger: costs of the calls, summed by purpose (design 18)."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType

from core.domain.ids import SessionId
from core.engine.engine import Engine
from core.ledger.sums import NO_CALL, By, LedgerEntry, Sum, cost_text, dollars, sum_of, sums_by
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.screens.calls.calls_view import CallsView, right
from storyengine_tui.screens.shared.list_screen import cut

OTHER_COLUMNS: Final = 50
"""Cells of all columns but that of the names."""
MOST_ROWS: Final = 1_000
"""Rows that are shown: the newest; `storyengine cost` has them all."""
OWN_PRICES: Final = "*"
"""Marks a cost that holds prices of the GM's own."""


class MoneyView(CallsView):
    """Sums the calls of this chapter, or of all chapters."""

    TABLE = "ledger"
    HINT = "in US dollars, the newest first"
    EMPTY = NO_CALL
    HELP = (
        "b changes the grouping of the sums: call, prompt, character, agent, chapter or day; a shows all "
        "chapters, and this one again. A cost with * has prices of your own in it. `storyengine cost` prints "
        "the same, also as CSV."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "sum_by(1)", "Sum by another"),
        Binding("B", "sum_by(-1)", "Sum by the one before", show=False),
        Binding("a", "scope(True)", "All chapters"),
        Binding("a", "scope(False)", "This chapter"),
    ]

    def __init__(self, engine: Engine, session_id: SessionId) -> None:
        super().__init__()
        self._engine = engine
        self._session_id = session_id
        self._by = By.AGENT
        self._is_all = False
        self._entries: Sequence[LedgerEntry] = ()
        self._unreadable = 0

    async def reload(self) -> None:
        """Read the ledger; raises StoryEngineError."""
        of = None if self._is_all else self._session_id
        self._entries, self._unreadable = await self._engine.ledger(of)
        if of is not None and not self._entries:
            await self._engine.reader(of).load()  # A chapter that another window has purged is refused.
        self.show()

    def action_sum_by(self, step: int) -> None:
        """Sum by the next way, or the one before."""
        ways = list(By)
        self._by = ways[(ways.index(self._by) + step) % len(ways)]
        self.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the chapters that are not shown."""
        return action != "scope" or parameters != (self._is_all,)

    def action_scope(self, is_all: bool) -> None:
        """Show all chapters, or this one again."""
        self._is_all = is_all
        self.refresh_bindings()
        self.post_message(self.ReloadWanted())

    def show(self) -> None:
        """Show the rows."""
        groups = sums_by(self._entries, self._by)
        name_width = max(16, self.size.width - OTHER_COLUMNS)
        columns = [
            (Text(f" {self._by.value.capitalize()}"), name_width),
            (right("Cost"), 11),
            (right("Unknown"), 9),
            (right("Calls"), 8),
            (right("Tokens in"), 11),
            (right("Out"), 10),
        ]
        newest = groups[-MOST_ROWS:] if self._by in (By.CALL, By.PROMPT) else groups
        self.fill(self._totals(len(groups)), columns, (_cells(name, part) for name, part in newest[::-1]))

    def _totals(self, groups: int) -> str:
        total = sum_of(self._entries)
        where = "All chapters" if self._is_all else "This chapter"
        parts = [f"{where} by {self._by.value}: {cost_text(total)}"]
        if total.own:
            parts.append(f"{OWN_PRICES} by your own prices")
        if ceilings := self._engine.ceilings_of(None if self._is_all else self._session_id):
            parts.append(f"{'ceiling' if len(ceilings) == 1 else 'ceilings'}: {', '.join(ceilings)}")
        if groups > MOST_ROWS and self._by in (By.CALL, By.PROMPT):
            parts.append(f"the newest {MOST_ROWS:,} of {groups:,}")
        if self._unreadable:
            they = counted(
                self._unreadable, "chapter cannot be read, and is", "chapters cannot be read, and are"
            )
            parts.append(f"{they} left out")
        return " · ".join(parts)


def _cells(name: str, part: Sum) -> tuple[Text, ...]:
    known = part.calls - part.unknown
    amount = dollars(part.amount) + (OWN_PRICES if part.own else "") if known else ""
    return (
        cut(f" {clean_line(name)}"),
        right("local" if part.local == part.calls else amount),
        right(f"{part.unknown:,}" if part.unknown else "", "bold"),
        right(f"{part.calls:,}"),
        right(f"{part.input_tokens:,}"),
        right(f"{part.output_tokens:,}"),
    )
