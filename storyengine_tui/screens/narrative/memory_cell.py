"""The first cell of tab 3: structured memory, readable or raw, searched and copied (design 10)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from core.domain.memory import MemoryBlock
from storyengine_tui.screens.narrative.memory_pages import MemoryPages
from storyengine_tui.widgets.fields.one_line import EntryField
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.reading.line_view import LineView
from storyengine_tui.widgets.reading.memory_outline import MemoryForm, Names, all_text, passages_of
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView, pattern_of

EMPTY_TEXT = (
    "Nothing yet. The first block comes when world, chapter and cast are locked; then one every {} prompts."
)
LOADING_TEXT = "Reading the memory …"
SEARCH_STEP = 20
"""Blocks that are searched before anything else on the page may go on."""
ENTRIES = (
    PanelEntry(MemoryForm.READABLE, 1, "Readable"),
    PanelEntry(MemoryForm.JSON, 2, "Raw JSON"),
)


class MemoryCell(Vertical):
    """Shows memory blocks; one of its two views at a time."""

    HELP = (
        "Structured memory is what the characters are told of everything before. / searches it, n and N go "
        "to the next place and the one before; y copies all of it, v marks a part. + adds a correction: "
        "what is true instead, for every character, summary and narrative from then on."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
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

    @dataclass
    class CopyRequested(Message):
        """The GM copies all of memory."""

        text: str
        what: str

    class CorrectionRequested(Message):
        """The GM wants to say what is true instead."""

    def __init__(self, *, chunk_size: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chunk_size = chunk_size
        self._pages = MemoryPages()
        self._names: Names = ()
        self._form = MemoryForm.READABLE
        self._titles: list[int] = []
        """The paragraphs at which the shown blocks begin."""
        self._is_known = False
        self._can_correct = False

    def compose(self) -> ComposeResult:
        """Compose heading, view, and a foot with the two views, the search and the copy."""
        with Horizontal(classes="line"):
            yield Static("Structured memory", classes="label")
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
        """Show that nothing is known yet."""
        self._show_blocks()

    @property
    def view(self) -> PassageView:
        """The text."""
        return self.query_one(PassageView)

    @property
    def blocks(self) -> Sequence[MemoryBlock]:
        """Every block, oldest first."""
        return self._pages.blocks

    @property
    def is_known(self) -> bool:
        """Whether memory has been read."""
        return self._is_known

    @property
    def form(self) -> MemoryForm:
        """The view that shows."""
        return self._form

    def forget(self) -> None:
        """Know of no memory, as before another session is shown."""
        self._pages, self._is_known = MemoryPages(), False
        self._show_blocks()

    def show_memory(self, blocks: Sequence[MemoryBlock], names: Names) -> None:
        """Show these blocks, the newest from its beginning."""
        self._pages, self._names, self._is_known = MemoryPages(blocks), names, True
        self._show_blocks()
        self.go_to_newest()

    def append(self, *blocks: MemoryBlock) -> None:
        """Show new blocks; who looks at the newest one sees them come, who reads elsewhere stays there."""
        newest = self._titles[-1] if self._titles else 0
        view = self.view
        is_at_newest = view.is_following or view.top_passage >= newest or view.pinned == newest
        was_empty = not self._pages.blocks
        for block in blocks:
            self._pages.append(block)
        self._show_blocks()
        if was_empty or is_at_newest:
            self.go_to_newest()

    def go_to_newest(self) -> None:
        """Show the newest block from its beginning, and those that come behind it."""
        if self._pages.has_later:
            self._pages.show(len(self._pages.blocks) - 1)
            self._show_blocks()
        if self._titles:
            self.view.pin(self._titles[-1])

    def _show_blocks(self) -> None:
        shown: list[Keyed] = []
        self._titles = []
        for block in self._pages.shown:
            self._titles.append(len(shown))
            passages = passages_of(block, self._form)
            shown += [Keyed((block.id, number), passage) for number, passage in enumerate(passages)]
        self.view.show_passages(shown, self._names)
        has_blocks = bool(self._pages.blocks)
        self.view.display = self.query_one(".foot").display = has_blocks
        empty = self.query_one("#memory-empty", Static)
        empty.display = not has_blocks
        empty.update(EMPTY_TEXT.format(self._chunk_size) if self._is_known else LOADING_TEXT)
        self.query_one("#memory-count", Static).update(Content(self._count_text()))
        self.query_one("#earlier").display = self.query_one("#later").display = len(self._pages.shown) < len(
            self._pages.blocks
        )
        self.query_one("#earlier").disabled = not self._pages.has_earlier
        self.query_one("#later").disabled = not self._pages.has_later
        self._show_found()
        self.refresh_bindings()

    def _count_text(self) -> str:
        blocks = self._pages.blocks
        if not blocks:
            return ""
        count = "1 block" if len(blocks) == 1 else f"{len(blocks):,} blocks"
        return f"{count}, prompts 1–{blocks[-1].last:,}" if blocks[-1].last else count

    # The two views

    @on(PanelSwitcher.Picked, "#memory-forms")
    def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        event.stop()
        self._show_form(MemoryForm(event.key))

    def action_show(self, form: str) -> None:
        """Show one of the two views."""
        self.query_one("#memory-forms", PanelSwitcher).pick(form)

    def _show_form(self, form: MemoryForm) -> None:
        """Show the same block in the other view."""
        top = self.view.top_passage
        block = next((number for number, title in reversed(list(enumerate(self._titles))) if title <= top), 0)
        self._form = form
        self._show_blocks()
        if self._titles:
            self.view.pin(self._titles[block])

    def action_turn(self, step: int) -> None:
        """Show earlier or later blocks of a long memory."""
        self._pages.turn(step)
        self._show_blocks()
        if self._titles:
            self.view.pin(self._titles[-1 if step < 0 else 0])

    @on(Button.Pressed, "#earlier")
    def _turn_back(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_turn(-1)

    @on(Button.Pressed, "#later")
    def _turn_on(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_turn(1)

    # Searching

    def action_search(self) -> None:
        """Write what to look for."""
        self.query_one("#memory-search", Input).focus()

    def action_leave_search(self) -> None:
        """Go back to the text; what was looked for stays marked."""
        self.view.focus()

    @on(Input.Changed, "#memory-search")
    def _handle_search(self, event: Input.Changed) -> None:
        event.stop()
        self.view.search(event.value)
        first = self.view.next_match(1)
        if first is not None:
            self.view.go_to_match(first)
        self._show_found()

    @on(Input.Submitted, "#memory-search")
    def _handle_enter(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_next_match(1)

    def action_next_match(self, step: int) -> None:
        """Go to the next place of what is searched (1) or the one before (-1), around at the ends."""
        number = self.view.next_match(step)
        if number is not None:
            self.view.go_to_match(number)
            self._show_found()
        else:
            self.run_worker(self._search_on(step), group="search", exclusive=True, exit_on_error=False)

    async def _search_on(self, step: int) -> None:
        """Go on in the blocks of other pages, around at the ends, back to this one at last."""
        pattern = pattern_of(self.query_one("#memory-search", Input).value)
        pages = self._pages
        if pattern is None or not pages.blocks:
            return
        count, edge = len(pages.blocks), pages.start if step < 0 else pages.start + len(pages.shown) - 1
        for steps in range(1, count + 1):
            number = (edge + step * steps) % count
            if any(pattern.search(one.text) for one in passages_of(pages.blocks[number], self._form)):
                pages.show(number)
                self._show_blocks()
                self._go_to_match_in(number - pages.start, step)
                return
            if steps % SEARCH_STEP == 0:
                await asyncio.sleep(0)

    def _go_to_match_in(self, block: int, step: int) -> None:
        begin = self._titles[block]
        end = self._titles[block + 1] if block + 1 < len(self._titles) else len(self.view.lines.paragraphs)
        numbers = [number for number, match in enumerate(self.view.matches) if begin <= match.paragraph < end]
        self.view.go_to_match(numbers[0 if step > 0 else -1])
        self._show_found()

    def _show_found(self) -> None:
        needle = self.query_one("#memory-search", Input).value.strip()
        count, current = len(self.view.matches), self.view.current
        is_whole = len(self._pages.shown) == len(self._pages.blocks)
        if not needle:
            text = ""
        elif not count:
            text = "not found" if is_whole else "not here, Enter goes on"
        else:
            text = f"{'–' if current is None else current + 1}/{count}" + ("" if is_whole else " here")
        self.query_one("#memory-found", Static).update(Content(text))
        self.refresh_bindings()

    # Correcting

    def offer_correction(self, can_correct: bool) -> None:
        """Offer to correct what is remembered, or do not."""
        if can_correct != self._can_correct:
            self._can_correct = can_correct
            self.refresh_bindings()

    def action_correct(self) -> None:
        """Ask what is true instead."""
        self.post_message(self.CorrectionRequested())

    # Copying

    def action_copy_all(self) -> None:
        """Copy all of memory in the view that shows."""
        what = "Memory" if self._form is MemoryForm.READABLE else "Memory as JSON"
        self.post_message(self.CopyRequested(all_text(self._pages.blocks, self._form), what))

    @on(Button.Pressed, "#memory-copy")
    def _copy(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_copy_all()

    @on(LineView.MoreBelowChanged, "#memory-view")
    def _show_more(self, event: LineView.MoreBelowChanged) -> None:
        event.stop()
        self.query_one("#memory-more").visible = event.has_more_below

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        match action:
            case "leave_search":
                return self.query_one("#memory-search", Input).has_focus
            case "next_match":
                return bool(self.query_one("#memory-search", Input).value.strip())
            case "turn":
                is_possible = self._pages.has_earlier if parameters[0] == -1 else self._pages.has_later
                return is_possible or False
            case "correct":
                return self._can_correct and bool(self._pages.blocks)
            case "search" | "copy_all" | "show":
                return bool(self._pages.blocks)
            case _:
                return True
