"""The details of one item of the bank: its proofs, its changes, and how often it was recalled."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.session.session import Session
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.provenance import provenance_of
from core.text.cleaning import clean_line
from storyengine_tui.screens.bank.item_details import NOT_PROVED, evidence_line, passages_of_item
from storyengine_tui.screens.shared.text_screen import TextScreen
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.reading.memory_outline import Passage


class ItemScreen(TextScreen[Evidence]):
    """Ends with the proof that the GM wants to see in the transcript; Esc ends it without one."""

    CSS_PATH = "bank.tcss"
    HELP = (
        "Above, the item, who may know it and how it was changed; below, the words in the story that prove "
        "it. Enter on one of them goes to that line of the transcript."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy_all", "Copy")]
    OFFERS_PALETTE = False

    def __init__(
        self,
        item: Item,
        bank: Bank,
        session: Callable[[], Session],
        fades_at: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """Show an item; `fades_at` returns the time that it is where items fade by hours."""
        super().__init__()
        self._fades_at = fades_at
        self._item = item
        self._bank = bank
        self._session = session
        self.heading = f"{item.kind.value.capitalize()}: {clean_line(item.name)}"
        self.names = session().roster

    def compose_below(self) -> ComposeResult:
        """Compose the proofs."""
        proofs = [Content(evidence_line(one)) for one in self._item.evidence]
        yield Static("Proved by, Enter shows it" if proofs else NOT_PROVED, id="proofs-title", markup=False)
        yield GuardedOptionList(*proofs, id="proofs", markup=False, compact=True)

    def on_mount(self) -> None:
        """Choose the first of the proofs, if it has any."""
        proofs = self.query_one("#proofs", OptionList)
        proofs.display = bool(self._item.evidence)
        if self._item.evidence:
            proofs.highlighted = 0

    @property
    def first(self) -> Widget:
        """The proofs, if it has any."""
        return self.query_one("#proofs") if self._item.evidence else super().first

    async def passages(self) -> Sequence[Passage]:
        """Return the item and its history."""
        history = await self._bank.history(self._item)
        accesses = await self._bank.accesses()
        others = await self._bank.chapter_of(self._item)
        counts = not self._item.is_out or await self._bank.counts(self._item)
        return passages_of_item(
            self._item,
            history,
            accesses.get(self._item.id),
            self._session(),
            self._fades_at(),
            is_out=not counts,
            provenance=provenance_of(history, others) if history else None,
            others=others,
        )

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._item.evidence[event.option_index])
