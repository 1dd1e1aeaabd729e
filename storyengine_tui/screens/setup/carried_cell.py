"""The cell of tab 1 with the lines from earlier chapters, where there are any (design 14)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static

from core.context.carry_over import label_in
from core.context.visibility import names_of
from core.domain.session.carry_over import CarriedLine, CarryKind, CarryOver
from core.domain.session.session import Session
from core.text.cleaning import clean_line
from storyengine_tui.screens.setup.setup_view import SetupView
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList

HEADING = "From earlier chapters"
KINDS = {
    CarryKind.CANON: "canon",
    CarryKind.THREAD: "open thread",
    CarryKind.PLACE: "where they are",
    CarryKind.RELATION: "how they are to each other",
    CarryKind.KNOWLEDGE: "knowledge",
}


def rows_of(carried: CarryOver, session: Session) -> Iterator[tuple[str, str]]:
    """Yield the text of each line, and below it what it is and who of this chapter knows it."""
    for line in carried.lines:
        marks = ("pinned" if line.is_pinned else "", "struck, in no input" if line.is_struck else "")
        known = f"known to {names_of(label_in(session, line), session)}"
        facts = (*marks, KINDS[line.kind], known, f"chapter {line.chapter}")
        yield clean_line(line.text), " · ".join(filter(None, facts))


class CarriedCell(Vertical):
    """Lists the lines. Before the lock each can be pinned and struck."""

    HELP = (
        "Lines from earlier chapters, each for those who knew it, by name. p pins a line: it is passed on to "
        "every later chapter. x strikes one: it is in no input, and is not passed on. Once world "
        "and cast are locked the lines cannot be changed."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("p", "pin", "Pin"), Binding("x", "strike", "Strike")]

    @dataclass
    class Marked(Message):
        """The GM pinned or struck a line; `change` marks it among the lines as they are by then."""

        change: Callable[[CarryOver], CarryOver]

    _list = getters.query_one(OptionList)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: SetupView | None = None
        self._facts: object = None

    def compose(self) -> ComposeResult:
        """Compose the heading and the list."""
        yield Static(HEADING, classes="line label")
        yield GuardedOptionList(id="carried-list", markup=False, compact=True)

    def on_mount(self) -> None:
        """Show the lines that came before there was a list."""
        self._fill()

    def show(self, view: SetupView) -> None:
        """Show the lines of a session; the cursor keeps its row."""
        self.view = view
        self.display = bool(view.stored.carried)
        if self.is_mounted:
            self._fill()

    def _fill(self) -> None:
        view = self.view
        if view is None:
            return
        facts = (view.session.id, view.stored.carried, view.session.roster, view.is_editable)
        if facts == self._facts:
            return
        self._facts = facts
        row = self._list.highlighted
        lines = view.stored.carried.lines
        self._list.set_options(
            Content.assemble((text, "strike" if line.is_struck else ""), "\n", (about, "$cell-muted"))
            for line, (text, about) in zip(lines, rows_of(view.stored.carried, view.session), strict=True)
        )
        if lines:
            self._list.highlighted = min(row or 0, len(lines) - 1)
        self.refresh_bindings()

    def action_pin(self) -> None:
        """Pin the line under the cursor, or release it; a struck one counts again."""
        self._mark(lambda line: replace(line, is_pinned=not line.is_pinned, is_struck=False))

    def action_strike(self) -> None:
        """Strike the line under the cursor, or let it count again."""
        self._mark(lambda line: replace(line, is_struck=not line.is_struck, is_pinned=False))

    def _mark(self, change: Callable[[CarriedLine], CarriedLine]) -> None:
        view, row = self.view, self._list.highlighted
        if view is not None and row is not None and row < len(view.stored.carried.lines):
            self.post_message(self.Marked(lambda now: now.with_line(row, change(now.lines[row]))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action in ("pin", "strike"):
            return self.view is not None and self.view.is_editable and bool(self.view.stored.carried)
        return True


def show_carried(page: Widget, view: SetupView) -> None:
    """Show what comes over on the page of tab 1; a chapter to which nothing does has no such cell."""
    cells = list(page.query(CarriedCell))
    if view.stored.carried and not cells:
        cells = [CarriedCell(id="carried")]
        page.mount(cells[0], before="#secrets")
    for cell in cells:
        cell.show(view)
