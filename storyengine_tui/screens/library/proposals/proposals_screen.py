"""The proposals for one character of the library, or for all: both sides of each, and why."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.ids import CharacterId, SessionId
from core.library.proposals.words import about, origin, proposed, reason, there
from core.text.cleaning import clean_line
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from core.engine.services.library.proposals import Offered, ProposalLibrary

NOTHING_OPEN = "Nothing is proposed; u undoes the last decision."
OUTDATED = "outdated"
_LONGEST = 1_000_000


class ProposalsScreen(ListScreen[None, "Offered"]):
    """Lists what is open, and shows both sides of the proposal under the cursor."""

    CSS_PATH = "proposals.tcss"
    HELP = (
        "Left is the character as it is, right the proposal, below the reason. t takes the proposal "
        "under the cursor, d drops it, a takes all that fit, u undoes the last decision about the character. "
        "Nothing changes before you take it. An outdated one is for a part that has changed since; drop it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "take", "Take"),
        Binding("d", "drop", "Drop"),
        Binding("a", "take_all", "Take all"),
        Binding("u", "undo", "Undo"),
        Binding("escape", "close", "Back"),
    ]

    def __init__(
        self,
        library: "ProposalLibrary",
        character_id: CharacterId | None = None,
        name: str = "",
        *,
        session_id: SessionId | None = None,
    ) -> None:
        super().__init__()
        self._library = library
        self._character_id = character_id
        self._session_id = session_id
        """The chapter after which they are proposed; None for those of any."""
        self._title = f"Proposed for {name}" if name else "Proposed for your characters"
        self._decided = character_id
        """The character whose last decision is undone; None before one was made for one of many."""
        self._outcome = ""
        """Outcome of the last command, shown once in place of the heading."""

    def compose(self) -> ComposeResult:
        """Compose the list, both sides of one proposal, and the reason."""
        yield Static(self._title, id="heading", markup=False)
        yield Banner(id="trouble")
        yield RowTable(id="proposals")
        yield Static(NOTHING_OPEN, id="empty", markup=False)
        with Horizontal(id="sides"):
            for name in ("there", "proposed"):
                with Vertical():
                    yield Static("", id=f"{name}-title", classes="label", markup=False)
                    yield CappedTextArea(limit=_LONGEST, read_only=True, id=name)
        yield Static("", id="why", markup=False)
        yield KeyLine(offers_palette=False)

    async def reload(self) -> None:
        """Read what is open."""
        rows = await self._library.offered(self._character_id, session_id=self._session_id)
        origins = 26
        names = 0 if self._character_id is not None else max(12, min(24, self.size.width // 5))
        room = max(20, self.size.width - origins - names - 20)
        columns = {**({"Character": names} if names else {}), "What": room, "From": origins, "": 9}
        self.fill(rows, columns, self._cells_of)
        self.query_one("#sides").display = bool(rows)
        self.query_one("#heading", Static).update(self._outcome or self._title)
        self._outcome = ""
        self._show_sides()

    def key_of(self, row: "Offered") -> object:
        """Return the id of the proposal."""
        return row.proposal.id

    def _cells_of(self, row: "Offered") -> list[Text]:
        cells = [] if self._character_id is not None else [row.character.name]
        cells += [about(row.proposal), origin(row.proposal), OUTDATED if row.is_outdated else ""]
        return [cut(clean_line(cell)) for cell in cells]

    @on(DataTable.RowHighlighted)
    def _show_sides(self) -> None:
        row = self.chosen
        texts = ("", "") if row is None else (there(row.proposal), proposed(row.proposal))
        titles = ("What is there" if row is None or not row.is_outdated else "What was there", "Proposed")
        for name, title, text in zip(("there", "proposed"), titles, texts, strict=True):
            area = self.query_one(f"#{name}", CappedTextArea)
            if area.text != text:
                area.load_text(text)
            self.query_one(f"#{name}-title", Static).update(Content(title))
        chapter = "" if row is None or self._session_id is not None else row.chapter
        why = "" if row is None else reason(row.proposal, chapter)
        self.query_one("#why", Static).update(Content(why))
        self.refresh_bindings()

    def action_take(self) -> None:
        """Take the proposal under the cursor."""
        row = self.chosen
        if row is not None:
            self.do_to(row, self._accept)

    async def _accept(self, row: "Offered") -> None:
        await self._library.accept(row.proposal)
        self._decided = row.character.id
        self._outcome = f"Taken; u undoes it: {about(row.proposal)}"

    def action_drop(self) -> None:
        """Drop the proposal under the cursor."""
        row = self.chosen
        if row is not None:
            self.do_to(row, self._drop)

    async def _drop(self, row: "Offered") -> None:
        await self._library.drop([row.proposal])
        self._decided = row.character.id
        self._outcome = f"Dropped; u undoes it: {about(row.proposal)}"

    def action_take_all(self) -> None:
        """Take all that fit, after a question."""
        rows = list(self.rows)
        text = "Those that are outdated stay in the list. Each can be undone, the last one first."
        question = ConfirmModal(f"Take all {len(rows):,}?", text, confirm="Take all")
        self.ask(question, lambda _: self._accept_all(rows))

    async def _accept_all(self, rows: "list[Offered]") -> None:
        count, outdated = await self._library.accept_all([row.proposal for row in rows])
        self._decided = self._character_id or (rows[-1].character.id if rows else None)
        left = f"; {outdated:,} outdated" if outdated else ""
        self._outcome = f"Taken: {count:,}{left}"

    def action_undo(self) -> None:
        """Undo the last decision."""
        self.do_in_turn(self._undo())

    async def _undo(self) -> None:
        # In its turn: the decision before it may be about another character, and stored only by now.
        if self._decided is not None:
            again = await self._library.undo(self._decided)
            self._outcome = f"Open again: {about(again)}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the proposal under the cursor."""
        row = self.chosen if self.is_mounted else None
        if action == "take":
            return row is not None and not row.is_outdated
        if action in ("drop", "take_all"):
            return row is not None
        if action == "undo":
            return self._decided is not None
        return True
