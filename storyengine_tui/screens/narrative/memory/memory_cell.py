"""The first cell of tab 3: memory and, where there is a bank, its lists (design 10, 15)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Button, Input, Static

from core.domain.ids import ItemId
from core.domain.session.session import Session
from storyengine_tui.screens.bank.bank_rows import BankList
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.item_list_reader import ItemListReader
from storyengine_tui.widgets.fields.one_line import EntryField
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.reading.line_view import LineView
from storyengine_tui.widgets.reading.memory_outline import MemoryForm
from storyengine_tui.widgets.reading.row_list import RowList

LISTS: Final = [PanelEntry(one, one.number, one.value.capitalize()) for one in BankList]
ENTRIES: Final = PanelEntry(MemoryForm.READABLE, 1, "Readable"), PanelEntry(MemoryForm.JSON, 2, "Raw JSON")
# A shorter name than without lists: all of them fit into 80 columns.
BANK_ENTRIES: Final = ENTRIES[0], PanelEntry(MemoryForm.JSON, 2, "JSON"), *LISTS


class MemoryCell(Vertical):
    """Frames a reader of blocks and, once the chapter keeps a bank, a reader of items; one of them shows."""

    HELP = (
        "Structured memory is given to the characters in place of earlier play. / searches it, n and N go "
        "to the next match and the one before; y copies all of it, v marks a part. + adds a correction, "
        "which every character, summary and narrative gets from then on.\n\n"
        "v puts a cursor on a block, and the arrow keys move it. Then r lets a model write it again, w "
        "edits it, = compares its revisions; on a line of Canon p pins the line and x strikes it, and the "
        "same key again releases it. R rebuilds, in order, the blocks made from older memory. F12 shows "
        "the memory of each character."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "revise('rebuild')", "Rebuild"),
        Binding("R,shift+r", "revise('rebuild_later')", "Rebuild older memory", key_display="R"),
        Binding("w", "revise('edit')", "Edit"),
        Binding("equals_sign", "revise('compare')", "Compare", key_display="="),
        Binding("p", "revise('pin')", "Pin"),
        Binding("x", "revise('strike')", "Strike"),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("n", "next_match(1)", "Next"),
        Binding("N,shift+n", "next_match(-1)", "Previous", show=False),
        Binding("y", "copy_all", "Copy"),
        Binding("plus", "correct", "Correct", key_display="+"),
        Binding("escape", "leave_search", "Back"),
        Binding("1", "show('readable')", "Readable", show=False),
        Binding("2", "show('json')", "Raw JSON", show=False),
        Binding("e", "turn(-1)", "Earlier"),
        Binding("l", "turn(1)", "Later"),
        *(Binding(str(one.number), f"show('{one.key}')", one.name, show=False) for one in LISTS),
        Binding("f", "filter", "Only some", show=False),
        Binding("d", "find_alike", "Find duplicates", show=False),
        Binding("b", "widen", "The whole book, or this chapter", show=False),
    ]

    class CorrectionRequested(Message):
        """The GM wants to say what is true instead."""

    @dataclass
    class RevisionAsked(Message):
        """The GM wants to do `act` to a block, to a canon lock, or to later blocks."""

        act: str

    class AlikeWanted(Message):
        """The GM wants to see which items may say the same."""

    class Widened(Message):
        """The GM wants to see the items of the whole book, or of this chapter again."""

    can_correct: var[bool] = var(False, init=False, bindings=True)
    """Whether a correction can be stored now."""
    refused_acts: var[frozenset[str]] = var(frozenset(), init=False, bindings=True)
    """Acts on memory that the chapter refuses now; their keys are dimmed."""

    _forms = getters.query_one("#memory-forms", PanelSwitcher)

    def __init__(self, session: Callable[[], Session], *, chunk_size: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session
        self._search = EntryField(
            placeholder="/ searches", id="memory-search", compact=True, select_on_focus=False
        )
        self.memory = BlockReader(chunk_size, self._search, self._show)
        """Shows blocks of memory."""
        self.action_turn, self.action_next_match = self.memory.turn, self.memory.next_match
        self.keeps_bank = False
        """Whether the lists are offered."""
        self._work = ""
        """Running work on memory, in words."""

    @cached_property
    def bank(self) -> ItemListReader:
        """Shows the lists of the bank; made, with its widgets, only in a chapter that keeps one."""
        return ItemListReader(self._session, self._search, self._show_heading)

    @property
    def reader(self) -> BlockReader | ItemListReader:
        """The reader that shows."""
        return self.bank if self.keeps_bank and self.bank.shown is not None else self.memory

    @property
    def has_focused_list(self) -> bool:
        """Whether a list of the bank has the focus, for whose keys an unbound letter may be mistyped."""
        return self.reader is not self.memory and self.reader.view.has_focus

    def compose(self) -> ComposeResult:
        """Compose heading, view, and a footer with the two forms, the search and the copy button."""
        with Horizontal(classes="line"):
            yield Static(self.memory.title, id="memory-title", classes="label", markup=False)
            yield Static(classes="gap")
            yield Button("← Earlier", id="earlier", compact=True)
            yield Button("Later →", id="later", compact=True)
            yield Static("", id="memory-count", markup=False)
        with Vertical(classes="cell"):
            yield self.memory.empty
            yield self.memory.view
            with Horizontal(classes="foot"):
                yield PanelSwitcher(ENTRIES, id="memory-forms")
                yield self._search
                yield Static("", id="memory-found", markup=False)
                yield Static("↓ more", id="memory-more", markup=False)
                yield Button("Copy all", id="memory-copy", compact=True)

    def on_mount(self) -> None:
        """Show that memory has not been read yet."""
        self.memory.show()

    # What shows

    def offer_bank(self, keeps_bank: bool) -> None:
        """Offer the lists of a chapter that keeps a bank, and no others."""
        if keeps_bank == self.keeps_bank:
            return
        self.keeps_bank = keeps_bank
        self.set_class(keeps_bank, "-banked")
        self._forms.set_entries(BANK_ENTRIES if keeps_bank else ENTRIES)
        if not keeps_bank:
            self.bank.forget()
            self._forms.active = self.memory.form
        elif not self.query(ItemList):
            self.query_one(".cell").mount(*self.bank.widgets, before=self.query_one(".foot"))
        self._show()

    def go_to_list(self, shown: BankList | None) -> None:
        """Show a list; None shows the blocks of memory again."""
        if not self.keeps_bank:
            return
        if painted := self.bank.view.take_painted():
            # From here: Textual lets no message bubble up beyond the widget that has sent it.
            self.post_message(ItemList.Left(self.bank.view, painted))
        left, had_focus = self.reader, self.reader.view.has_focus
        self._forms.active = shown or self.memory.form
        self.bank.show(shown)
        if left is self.bank and self.reader is self.memory:
            self.memory.view.search(self._search.value)  # the words were typed for the list
        self._show()
        if had_focus:
            view = self.reader.view
            self.screen.set_focus(view if view.display else self._forms, scroll_visible=False)

    def go_to_item(self, item_id: ItemId) -> None:
        """Show the list that has an item, with the cursor on it."""
        shown = self.bank.admit(item_id)
        if shown is not None:
            self._search.value = ""
            self.go_to_list(shown)
            self.bank.view.go_to(item_id)
            self.screen.set_focus(self.bank.view, scroll_visible=True)

    def say_work(self, work: str) -> None:
        """Say beside the count what is being done to memory; nothing says nothing."""
        if work != self._work:
            self._work = work
            self._show_heading()

    def _show(self) -> None:
        """Show the reader that was chosen, and the buttons that it has a use for."""
        memory, pages, is_list = self.memory, self.memory.pages, self.reader is not self.memory
        self.set_class(is_list, "-listing")
        memory.view.display = not is_list and bool(memory.blocks)
        memory.empty.display = not is_list and not memory.blocks
        self.query_one(".foot").display = self.keeps_bank or bool(memory.blocks)
        earlier, later = self.query_one("#earlier"), self.query_one("#later")
        earlier.display = later.display = is_paged = not is_list and not pages.are_all_shown
        self.set_class(is_paged, "-paged")
        earlier.disabled, later.disabled = not pages.has_earlier, not pages.has_later
        self._show_heading()
        self.refresh_bindings()

    def _show_heading(self) -> None:
        """Say of the reader that shows what it shows, how much, and what was found."""
        reader = self.reader
        work = " · ".join(filter(None, (self._work, *self.bank.told))) if self.keeps_bank else self._work
        for name, text in (("title", reader.title), ("count", reader.count(work)), ("found", reader.found)):
            line = self.query_one(f"#memory-{name}", Static)
            if str(line.content) != text:
                line.update(Content(text))

    def on_resize(self) -> None:
        """Show the titles of the columns where there are rows to spare."""
        if self.keeps_bank:
            self.call_after_refresh(self.bank.show_columns)

    @on(ItemList.Fitted)
    def _show_columns(self) -> None:
        # A list that shows for the first time has its size after the titles, and the cell keeps its own.
        self.bank.show_columns()

    @on(LineView.MoreBelowChanged, "#memory-view")
    def _show_more(self, event: LineView.MoreBelowChanged) -> None:
        self.query_one("#memory-more").visible = event.has_more_below

    @on(RowList.Moved, "#items")
    def _handle_move(self) -> None:
        self.bank.say("")

    # Keys

    @on(PanelSwitcher.Picked, "#memory-forms")
    def _pick(self, event: PanelSwitcher.Picked) -> None:
        """Show the blocks in one of the two forms, or a list in place of them."""
        if event.key in set(BankList):
            self.go_to_list(BankList(event.key))
        else:
            self.memory.show_form(MemoryForm(event.key))
            self.go_to_list(None)

    def action_show(self, form: str) -> None:
        """Show one of the forms of memory, or a list."""
        self._forms.pick(form)

    @on(Button.Pressed, "#earlier, #later")
    def _turn(self, event: Button.Pressed) -> None:
        self.memory.turn(-1 if event.button.id == "earlier" else 1)

    def action_search(self) -> None:
        """Focus the search field."""
        self._search.focus()

    def action_leave_search(self) -> None:
        """Go back to the list or the text; matches stay highlighted."""
        self.reader.view.focus()

    @on(Input.Changed, "#memory-search")
    def _handle_search(self) -> None:
        self.reader.search()

    @on(Input.Submitted, "#memory-search")
    def _handle_enter(self) -> None:
        self.reader.next_match(1)

    def action_filter(self) -> None:
        """Show only those that the GM has not seen, then confirmed ones, pinned ones, and those taken out."""
        self.bank.filter()

    def action_find_alike(self) -> None:
        """Show items of which another may say the same, or all of them again."""
        if self.bank.find_alike():
            self.post_message(self.AlikeWanted())

    def action_widen(self) -> None:
        """Show the items of the earlier chapters of the book too, or those of this chapter alone."""
        self.bank.widen()
        self.post_message(self.Widened())

    def action_revise(self, act: str) -> None:
        """Ask for a revision, a comparison or a mark."""
        self.post_message(self.RevisionAsked(act))

    def action_correct(self) -> None:
        """Ask what is true instead."""
        self.post_message(self.CorrectionRequested())

    @on(Button.Pressed, "#memory-copy")
    def action_copy_all(self) -> None:
        """Copy all of memory in the form that shows."""
        self.post_message(self.memory.copy())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        match action:
            case "leave_search":
                return self._search.has_focus
            case "search" | "correct" if self._search.has_focus:
                return False
            case "show" if parameters[0] in set(BankList):
                return self.keeps_bank
            case "correct" if not self.can_correct:
                return False
            case "revise" if parameters[0] in self.refused_acts:
                return None if self.reader.can(action, parameters) else False
            case _:
                return self.reader.can(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Post the act of a dimmed key, so that the page says why it is refused."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self or active.enabled:
            return
        for act in self.refused_acts:
            if active.binding.action == f"revise('{act}')":
                self.action_revise(act)
