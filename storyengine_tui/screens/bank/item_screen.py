"""The details of one item of the bank: its proofs, its changes, and how often it was recalled."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static

from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.errors import StoryEngineError
from core.domain.session.session import Session
from core.engine.services.bank.provenance import provenance_of
from core.engine.services.bank.service import Bank
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.screens.bank.item_details import NOT_PROVED, evidence_line, passages_of
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView


class ItemScreen(OverlayScreen[Evidence]):
    """Ends with the proof that the GM wants to see in the transcript; Esc ends it without one."""

    CSS_PATH = "bank.tcss"
    HELP = (
        "Above, the item, who may know it and how it was changed; below, the words in the story that prove "
        "it. Enter on one of them goes to that line of the transcript."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy"),
        Binding("escape", "close", "Back"),
    ]

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

    def compose(self) -> ComposeResult:
        """Compose the text, and the proofs below it."""
        yield Static(
            Content(f"{self._item.kind.value.capitalize()}: {clean_line(self._item.name)}"), id="heading"
        )
        yield Banner(id="trouble")
        yield PassageView(id="item")
        proofs = [Content(evidence_line(one)) for one in self._item.evidence]
        yield Static("Proved by, Enter shows it" if proofs else NOT_PROVED, id="proofs-title", markup=False)
        yield GuardedOptionList(*proofs, id="proofs", markup=False, compact=True)
        yield Static("", id="said", markup=False)
        yield KeyLine(offers_palette=False)

    def on_mount(self) -> None:
        """Read the history."""
        proofs = self.query_one("#proofs", OptionList)
        proofs.display = bool(self._item.evidence)
        if self._item.evidence:
            proofs.highlighted = 0
            proofs.focus()
        else:
            self.query_one(PassageView).focus()
        self.run_worker(self._load(), group="load", exit_on_error=False)

    async def _load(self) -> None:
        try:
            history = await self._bank.history(self._item)
            accesses = await self._bank.accesses()
            others = await self._bank.chapter_of(self._item)
            counts = not self._item.is_out or await self._bank.counts(self._item)
        except StoryEngineError as error:
            self.query_one(Banner).show(error.message, hint=error.hint)
            return
        access = accesses.get(self._item.id)
        passages = passages_of(
            self._item,
            history,
            access,
            self._session(),
            self._fades_at(),
            is_out=not counts,
            provenance=provenance_of(history, others) if history else None,
            others=others,
        )
        view = self.query_one(PassageView)
        view.show_passages(
            [Keyed(number, one) for number, one in enumerate(passages)], self._session().roster
        )
        view.pin(0)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._item.evidence[event.option_index])

    def action_copy_all(self) -> None:
        """Copy everything."""
        text = self.query_one(PassageView).lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{counted(len(text), 'character')} copied."))
