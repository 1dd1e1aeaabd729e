"""The first cell of tab 3: structured memory, readable or raw, searched and copied (design 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from core.domain.story.memory import MemoryBlock
from core.engine.changes.canon import stale_blocks
from storyengine_tui.screens.narrative.download_row import CopyRequested
from storyengine_tui.screens.narrative.memory.memory_pages import (
    MemoryPages,
    count_text,
    first_delta,
    found_text,
    title_text,
)
from storyengine_tui.screens.narrative.memory.shown_blocks import ShownBlocks
from storyengine_tui.widgets.fields.one_line import EntryField
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.reading.line_view import LineView
from storyengine_tui.widgets.reading.memory_outline import (
    NO_MARKS,
    MemoryForm,
    Names,
    all_text,
    marks_of,
    passages_of,
)
from storyengine_tui.widgets.reading.passage_view import PassageView, pattern_of

EMPTY_TEXT = (
    "Nothing yet. The first block comes when world, chapter and cast are locked; then one every {} prompts."
)
LOADING_TEXT = "Reading the memory …"
ENTRIES = (
    PanelEntry(MemoryForm.READABLE, 1, "Readable"),
    PanelEntry(MemoryForm.JSON, 2, "Raw JSON"),
)


class MemoryCell(Vertical):
    """Shows memory blocks, readable or as JSON."""

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
    ]

    class CorrectionRequested(Message):
        """The GM wants to say what is true instead."""

    @dataclass
    class RevisionAsked(Message):
        """The GM wants to do `act` to a block, to a canon lock, or to later blocks."""

        act: str

    can_correct: var[bool] = var(False, init=False, bindings=True)
    """Whether a correction can be stored now."""

    view = getters.query_one(PassageView)
    _search = getters.query_one("#memory-search", Input)

    def __init__(self, *, chunk_size: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chunk_size = chunk_size
        self._pages = MemoryPages()
        self._names: Names = ()
        self.form = MemoryForm.READABLE
        """The form in which the blocks are shown."""
        self._pinned: tuple[str, ...] = ()
        self._struck: tuple[str, ...] = ()
        self._marks = NO_MARKS
        self.viewpoint = ""
        """The number and name of the character as which memory is shown; empty for the GM."""
        self._work = ""
        """Running work on memory, in words."""
        self._shown = ShownBlocks()
        self.is_known = False
        """Whether memory has been read."""

    def compose(self) -> ComposeResult:
        """Compose heading, view, and a footer with the two forms, the search and the copy button."""
        with Horizontal(classes="line"):
            yield Static(title_text(""), id="memory-title", classes="label", markup=False)
            yield Static(classes="gap")
            yield Button("← Earlier", id="earlier", compact=True)
            yield Button("Later →", id="later", compact=True)
            yield Static("", id="memory-count", markup=False)
        with Vertical(classes="cell"):
            yield Static(LOADING_TEXT, id="memory-empty", markup=False)
            yield PassageView(id="memory-view")
            with Horizontal(classes="foot"):
                yield PanelSwitcher(ENTRIES, id="memory-forms")
                yield EntryField(
                    placeholder="/ searches", id="memory-search", compact=True, select_on_focus=False
                )
                yield Static("", id="memory-found", markup=False)
                yield Static("↓ more", id="memory-more", markup=False)
                yield Button("Copy all", id="memory-copy", compact=True)

    def on_mount(self) -> None:
        """Show that memory has not been read yet."""
        self._show_blocks()

    @property
    def blocks(self) -> Sequence[MemoryBlock]:
        """Every block, oldest first."""
        return self._pages.blocks

    @property
    def read_in(self) -> Widget | None:
        """The widget in which the GM reads now; None while there is nothing to read."""
        return self.view if self.blocks else None

    def forget(self) -> None:
        """Drop every block, before another session is shown."""
        self._pages, self.is_known = MemoryPages(), False
        self._show_blocks()

    def show_memory(self, blocks: Sequence[MemoryBlock], names: Names, viewpoint: str = "") -> None:
        """Show these blocks, the newest from its beginning; a block that was in view stays in view.

        `viewpoint` is the character that knows them; without one they are shown as the GM knows them.
        """
        self.viewpoint = viewpoint
        top = self._top_block() if self.is_known else None
        self._pages, self._names, self.is_known = MemoryPages(blocks), names, True
        number = next(
            (n for n, block in enumerate(blocks) if top is not None and block.place == top.place), None
        )
        if number is None:
            self._show_blocks()
            self.go_to_newest()
            return
        self._pages.show(number)
        self._show_blocks()
        self._pin_block(number - self._pages.start)

    def show_marks(self, pinned: tuple[str, ...], struck: tuple[str, ...]) -> None:
        """Show which canon locks the GM has pinned and struck."""
        if (pinned, struck) != (self._pinned, self._struck):
            self._pinned, self._struck = pinned, struck
            top = self.view.position.pinned
            self._show_blocks()
            if top is not None:
                self.view.pin(top)

    def say_work(self, work: str) -> None:
        """Say beside the count what is being done to memory; nothing says nothing."""
        if work != self._work:
            self._work = work
            self.query_one("#memory-count", Static).update(Content(count_text(self.blocks, self._work)))

    def append(self, *blocks: MemoryBlock) -> None:
        """Add new blocks; scroll to them only if the newest block was in view."""
        newest = self._shown.begins[-1] if self._shown.begins else 0
        position = self.view.position
        is_at_newest = position.is_following or self.view.top_passage >= newest or position.pinned == newest
        was_empty = not self.blocks
        for block in blocks:
            self._pages.append(block)
        self._show_blocks()
        if was_empty or is_at_newest:
            self.go_to_newest()

    def go_to_newest(self) -> None:
        """Show the newest block from its beginning."""
        if self._pages.has_later:
            self._pages.show(len(self.blocks) - 1)
            self._show_blocks()
        self._pin_block(-1)

    def _pin_block(self, number: int) -> None:
        """Scroll to the beginning of a block, counted within those that are shown."""
        if self._shown.begins:
            self.view.pin(self._shown.begins[number])

    def _show_blocks(self) -> None:
        marks = marks_of(self._pinned, self._struck, self.blocks, stale_blocks(self.blocks), self._names)
        self._marks = NO_MARKS if self.viewpoint else marks
        self._shown = ShownBlocks.of(self._pages.shown, self.form, self._marks)
        self.view.show_passages(self._shown.paragraphs, self._names)
        has_blocks = bool(self.blocks)
        self.view.display = self.query_one(".foot").display = has_blocks
        empty = self.query_one("#memory-empty", Static)
        empty.display = not has_blocks
        empty.update(EMPTY_TEXT.format(self._chunk_size) if self.is_known else LOADING_TEXT)
        self.query_one("#memory-count", Static).update(Content(count_text(self.blocks, self._work)))
        self.query_one("#memory-title", Static).update(Content(title_text(self.viewpoint)))
        earlier, later = self.query_one("#earlier"), self.query_one("#later")
        earlier.display = later.display = not self._pages.are_all_shown
        earlier.disabled, later.disabled = not self._pages.has_earlier, not self._pages.has_later
        self._show_found()
        self.refresh_bindings()

    @on(PanelSwitcher.Picked, "#memory-forms")
    def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        """Show the same block in the other form."""
        block = self._shown.number_at(self.view.top_passage)
        self.form = MemoryForm(event.key)
        self._show_blocks()
        self._pin_block(block)

    def action_show(self, form: str) -> None:
        """Show one of the two forms."""
        self.query_one("#memory-forms", PanelSwitcher).pick(form)

    def action_turn(self, step: int) -> None:
        """Show earlier (-1) or later (1) blocks of a long memory."""
        self._pages.turn(step)
        self._show_blocks()
        self._pin_block(-1 if step < 0 else 0)

    @on(Button.Pressed, "#earlier, #later")
    def _turn(self, event: Button.Pressed) -> None:
        self.action_turn(-1 if event.button.id == "earlier" else 1)

    # Searching

    def action_search(self) -> None:
        """Focus the search field."""
        self._search.focus()

    def action_leave_search(self) -> None:
        """Go back to the text; matches stay highlighted."""
        self.view.focus()

    @on(Input.Changed, "#memory-search")
    def _handle_search(self, event: Input.Changed) -> None:
        self.view.search(event.value)
        first = self.view.next_match(1)
        if first is not None:
            self.view.go_to_match(first)
        self._show_found()

    @on(Input.Submitted, "#memory-search")
    def _handle_enter(self) -> None:
        self.action_next_match(1)

    def action_next_match(self, step: int) -> None:
        """Go to the next match (1) or the previous one (-1), and wrap around at the ends."""
        number = self.view.next_match(step)
        if number is not None:
            self.view.go_to_match(number)
            self._show_found()
        else:
            self.run_worker(self._search_on(step), group="search", exclusive=True, exit_on_error=False)

    async def _search_on(self, step: int) -> None:
        """Search the blocks of other pages, wrap around at the ends, and search this page last."""
        pattern, pages = pattern_of(self._search.value), self._pages
        if pattern is None or not pages.blocks:
            return
        marks = self._marks
        number = await pages.find(
            lambda block: any(pattern.search(one.text) for one in passages_of(block, self.form, marks)), step
        )
        if number is not None:
            pages.show(number)
            self._show_blocks()
            self._go_to_match_in(number - pages.start, step)

    def _go_to_match_in(self, block: int, step: int) -> None:
        within = self._shown.paragraphs_of(block)
        numbers = [number for number, match in enumerate(self.view.matches) if match.paragraph in within]
        self.view.go_to_match(numbers[0 if step > 0 else -1])
        self._show_found()

    def _show_found(self) -> None:
        found, current = len(self.view.matches), self.view.current
        text = found_text(found, current, self._pages.are_all_shown) if self._search.value.strip() else ""
        self.query_one("#memory-found", Static).update(Content(text))
        self.refresh_bindings()

    # Revisions

    def _top_block(self) -> MemoryBlock | None:
        """Return the block at the top of the view."""
        pinned = self.view.position.pinned
        return self._shown.block_at(self.view.top_passage if pinned is None else pinned)

    @property
    def chosen(self) -> MemoryBlock | None:
        """The block with the cursor or the selection; without one, the first block of prompts in view."""
        place = self.view.selection.place
        if place is not None:
            return self._shown.block_at(place.paragraph)
        top = self._top_block()
        return None if top is None else first_delta(self._shown.blocks, top)

    @property
    def stale(self) -> list[MemoryBlock]:
        """The blocks that were made from older memory, in their order."""
        return [block for block in self.blocks if block.id in self._marks.stale]

    @property
    def marked_lock(self) -> str | None:
        """The canon lock with the cursor or the end of the selection."""
        place = self.view.selection.place
        return None if place is None else self._shown.lock_at(place)

    def mark_first_lock(self) -> bool:
        """Put the cursor on the first canon lock from the top of the view on; return whether there is one."""
        place = self._shown.lock_from(self.view.top_passage)
        if place is None:
            return False
        self.view.mark_at(place)
        return True

    def action_revise(self, act: str) -> None:
        """Ask for a revision, a comparison or a mark."""
        self.post_message(self.RevisionAsked(act))

    # Correcting and copying

    def action_correct(self) -> None:
        """Ask what is true instead."""
        self.post_message(self.CorrectionRequested())

    @on(Button.Pressed, "#memory-copy")
    def action_copy_all(self) -> None:
        """Copy all of memory in the form that shows."""
        what = "Memory" if self.form is MemoryForm.READABLE else "Memory as JSON"
        self.post_message(CopyRequested(all_text(self.blocks, self.form, self._marks), what))

    @on(LineView.MoreBelowChanged, "#memory-view")
    def _show_more(self, event: LineView.MoreBelowChanged) -> None:
        self.query_one("#memory-more").visible = event.has_more_below

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        match action:
            case "leave_search":
                return self._search.has_focus
            case "next_match":
                return bool(self._search.value.strip())
            case "turn":
                return self._pages.has_earlier if parameters[0] == -1 else self._pages.has_later
            case "correct":
                return self.can_correct and bool(self.blocks)
            case "revise":
                # Without a cursor a letter is the beginning of a text, which goes to the definition.
                has_cursor = self.view.selection.place is not None
                return has_cursor and (parameters[0] != "rebuild_later" or bool(self._marks.stale))
            case "search" | "copy_all" | "show":
                return bool(self.blocks)
            case _:
                return True
