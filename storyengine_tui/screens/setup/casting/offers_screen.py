"""Lists the texts of a character's card besides name and identity; the GM chooses those to take over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from core.domain.errors import LimitExceededError
from core.domain.session.prompt_block import LONGEST_PROMPT_BLOCK
from core.domain.session.state_machine import Command
from core.engine.decisions.tab1_commands import LoreCopy
from core.library.cards.report import CardTarget
from core.library.characters.offers import Offer, block_of, with_offer, with_text, without_text
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.numbers import counted
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.setup.casting.compare_screen import ShortenModal
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ask_first
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

TAKEN = "taken"
_SHOWN = 200
_LONGEST = 1_000_000
_PLACES = {
    CardTarget.CHAPTER: "Chapter text",
    CardTarget.GREETINGS: "Chapter text, opening",
    CardTarget.RULES: "Prompt block, rules",
    CardTarget.MATERIAL: "Prompt block, material",
    CardTarget.LORE: "Lorebook, it alone",
}


@dataclass(frozen=True, slots=True)
class OfferRow:
    """A text of the card, or its lorebook."""

    title: str
    place: CardTarget
    text: str
    offer: Offer | None = None
    lore: LoreCopy | None = None


class OffersScreen(ListScreen[None, OfferRow]):
    """Each line is taken, and taken out again, by itself; every command is stored at once."""

    CSS_PATH = "casting.tcss"
    HELP = (
        "Nothing of this is taken automatically. Space takes the line under the cursor into the chapter, or "
        "takes it out again. Scenario and greetings go behind the text of the chapter, where Ctrl+Z undoes "
        "it too; of several greetings a chapter has one. Prompt blocks and the lorebook are for this "
        "character alone."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "Take / take out"),
        Binding("escape", "close", "Done"),
    ]

    def __init__(
        self,
        session: "SessionHandle",
        slot: CharacterPanel,
        chapter: CappedTextArea,
        offers: Sequence[Offer],
        lore: LoreCopy | None,
        kept_text: Callable[[str], UnstoredText | None],
    ) -> None:
        super().__init__()
        self._kept_text = kept_text
        self._session = session
        self._slot = slot
        self._called = slot.called
        self._chapter = chapter
        self._offered = [OfferRow(one.title, one.place, one.text, offer=one) for one in offers]
        if lore is not None:
            count = lore.book.entry_count
            text = f"“{lore.book.name}”, {counted(count, 'entry', 'entries')}."
            self._offered.append(OfferRow("Lore", CardTarget.LORE, text, lore=lore))
        self._put: dict[str, str] = {}
        """Texts as they were put into the chapter, where they were shortened."""

    def compose(self) -> ComposeResult:
        """Compose the list, and the text under the cursor below."""
        yield Static(f"What else the card of {self._called} has", id="heading", markup=False)
        yield Banner(id="trouble")
        yield RowTable(id="fields")
        yield Static("", id="empty")
        with Horizontal(id="sides"), Vertical():
            yield Static("", id="offer-title", classes="label")
            yield CappedTextArea(limit=_LONGEST, read_only=True, id="offer")
        yield KeyLine(offers_palette=False)

    async def reload(self) -> None:
        """Show what is taken now."""
        self._show()

    def _show(self) -> None:
        label = max(len(row.title) for row in self._offered)
        where = max(map(len, _PLACES.values()))
        self._table.styles.height = min(1 + len(self._offered), max(4, self.size.height // 2))
        room = max(12, self.size.width - label - where - 18)
        self.fill(self._offered, {"What": label, "Where to": where, "": 7, "Text": room}, self._cells_of)
        self._show_text()

    def _cells_of(self, row: OfferRow) -> tuple[Text, ...]:
        return (
            Text(row.title),
            Text(_PLACES[row.place]),
            Text(TAKEN if self._is_taken(row) else ""),
            cut(clean_line(head(row.text, _SHOWN))),
        )

    @on(DataTable.RowHighlighted)
    def _show_text(self) -> None:
        row = self.chosen
        if row is None:
            return
        area = self.query_one("#offer", CappedTextArea)
        if area.text != row.text:
            area.load_text(row.text)
            area.action_document_end(False)
        room = "" if row.lore is not None else f"/{row.place.room:,}"
        self.query_one("#offer-title", Static).update(Content(f"{row.title}, {len(row.text):,}{room}"))
        self.refresh_bindings()

    def _is_taken(self, row: OfferRow) -> bool:
        if row.lore is not None:
            return row.lore.book.key in {one.key for one in self._session.snapshot.lore}
        offer = row.offer
        if offer is None:
            return False
        if offer.is_block:
            return self._block_of(offer) is not None
        return self._put.get(offer.word, offer.text) in self._chapter.text

    def _block_of(self, offer: Offer) -> int | None:
        block = block_of(offer, self._session.snapshot.prompt_blocks, self._slot.slot, self._called)
        return None if block is None else block.id

    @on(DataTable.RowSelected)
    def action_switch(self) -> None:
        """Take the line under the cursor, or take it out again; of a text that is too long, ask what goes."""
        row = self.chosen
        if row is None or not self._can_switch(row):
            return
        offer = row.offer
        if offer is None or self._is_taken(row) or len(offer.text) <= (room := self._room_for(offer)):
            self.do_in_turn(self._switch(row))
            return

        async def apply(text: str) -> None:
            await self._apply_offer(offer, text)

        if room > 0:
            kept = self._kept_text(f"shorten.{offer.word}.{self._slot.profile.character_id}")
            modal = ShortenModal(apply, room, offer.text, kept, what=offer.title.lower())
            ask_first(self.app, modal, self._show)
        else:
            self.do(self._refuse(offer))

    def _room_for(self, offer: Offer) -> int:
        if offer.is_block:
            return LONGEST_PROMPT_BLOCK
        return self._chapter.limit - (len(with_text(self._chapter.text, offer.text)) - len(offer.text))

    async def _refuse(self, offer: Offer) -> None:
        length = len(with_text(self._chapter.text, offer.text))
        raise LimitExceededError("chapter", length, self._chapter.limit)

    async def _switch(self, row: OfferRow) -> None:
        if row.lore is not None:
            if self._is_taken(row):
                await self._session.edits.detach_lore(row.lore.book.name)
            else:
                await self._session.edits.attach_lore(row.lore)
        elif row.offer is not None and self._is_taken(row):
            await self._take_out(row.offer)
        elif row.offer is not None:
            if len(row.offer.text) > self._room_for(row.offer):  # The one before it took the room.
                await self._refuse(row.offer)
            await self._apply_offer(row.offer, row.text)

    async def _apply_offer(self, offer: Offer, text: str) -> None:
        if offer.is_block:
            parts = (offer, self._slot.slot, self._called, text)
            await self._session.edits.change_prompt_blocks(lambda blocks: with_offer(blocks, *parts))
            return
        text = text.strip()
        self._write(with_text(self._chapter.text, text))
        self._put[offer.word] = text

    async def _take_out(self, offer: Offer) -> None:
        number = self._block_of(offer)
        if number is not None:
            await self._session.edits.change_prompt_blocks(lambda blocks: blocks.without_block(number))
        elif not offer.is_block:
            self._write(without_text(self._chapter.text, self._put.pop(offer.word, offer.text)))

    def _write(self, text: str) -> None:
        self._chapter.replace(text, (0, 0), self._chapter.document.end)

    def _can_switch(self, row: OfferRow) -> bool:
        if row.lore is not None:
            return self._session.can(Command.EDIT_LORE)
        if row.offer is not None and row.offer.is_block:
            return self._session.can(Command.EDIT_PROMPT_BLOCKS)
        return not self._chapter.read_only

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible for the line under the cursor."""
        if action == "switch":
            row = self.chosen if self.is_mounted else None
            return (row is not None and self._can_switch(row)) or None
        return super().check_action(action, parameters)
