"""The prompt blocks of a chapter in the order of an input, the active variant, and the outline beside it."""

from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import DataTable, Select, Static

from core.domain.prompt_block import (
    DEFAULT_VARIANT,
    LONGEST_PROMPT_BLOCKS,
    PromptBlock,
    PromptBlocks,
)
from core.domain.state_machine import Command
from core.engine.session_handle import SessionHandle
from core.engine.sync.notifications import PromptBlocksChanged, WriterChanged
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.list_screen import ListScreen
from storyengine_tui.screens.prompt_blocks.block_screen import BlockScreen
from storyengine_tui.screens.prompt_blocks.conditions import used_for
from storyengine_tui.screens.prompt_blocks.outline_view import OutlineView
from storyengine_tui.screens.prompt_blocks.variant_modal import VariantModal
from storyengine_tui.textual_ext.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

NONE_YET = (
    "This chapter has no prompt blocks: every agent is given the built-in rules alone.\n\n"
    "n writes one; s offers sixteen to begin with, all switched off."
)
NEW_NAME = "New block"
OF_ANOTHER = "–"
"""What stands in place of “on” for a block that only other variants use."""
_NAME_WIDTH = 17
EDITS = frozenset({"switch", "add", "drop", "starting_set", "add_variant", "drop_variant"})


class PromptBlocksScreen(ListScreen[None]):
    """Lists the blocks; Enter edits one, Esc goes back to the chapter. Every change is stored at once."""

    CSS_PATH = "prompt_blocks.tcss"
    HELP = (
        "Prompt blocks are texts of yours that agents are given behind their built-in rules, from the next "
        "call on. Those of a variant are used only while it is the active one. What is switched off, or is "
        "for another variant (–), takes no room."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "edit", "Edit"),
        Binding("space", "switch", "On/off"),
        Binding("n", "add", "New"),
        Binding("d", "drop", "Delete"),
        Binding("s", "starting_set", "Starting set"),
        Binding("v", "add_variant", "Variant"),
        Binding("x", "drop_variant", "Remove variant", show=False),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, workspace: Workspace, session: SessionHandle) -> None:
        super().__init__()
        self._workspace = workspace
        self._session = session

    def compose(self) -> ComposeResult:
        """Compose variant and list, and the outline beside them."""
        with Horizontal(id="top"):
            yield Static("Prompt blocks · variant ", classes="label")
            yield GuardedSelect[str](
                self._variants, value=self._blocks.variant, allow_blank=False, compact=True, id="variant"
            )
            yield Static("", id="used", markup=False)
        with Horizontal(id="sides"):
            with Vertical(id="list"):
                yield from self.compose_list("blocks")
                yield Static(NONE_YET, id="empty", markup=False)
            yield OutlineView(self._session)
        yield from self.compose_keys()

    @property
    def _blocks(self) -> PromptBlocks:
        return self._session.snapshot.prompt_blocks

    @property
    def _variants(self) -> list[tuple[Content, str]]:
        return [(Content(name), name) for name in self._blocks.all_variants]

    async def on_mount(self) -> None:
        """Show the blocks."""
        await self.reload()
        self.query_one(DataTable).focus()
        self.run_worker(self._follow(), group="follow", exit_on_error=False)

    async def _follow(self) -> None:
        """Show what is edited over this screen, or in another window."""
        with self._session.listen() as listener:
            async for notification in listener:
                if isinstance(notification, PromptBlocksChanged | WriterChanged):
                    await self.reload()

    async def reload(self) -> None:
        """Show the blocks as they are stored; the cursor stays on its row."""
        table, blocks = self.query_one("#blocks", DataTable), self._blocks
        row = table.cursor_row
        table.clear(columns=True)
        for label, width in (("Order", 5), ("", 3), ("Name", _NAME_WIDTH), ("Used for", 11)):
            table.add_column(Text(label), width=width + self._more(label))
        for block in blocks.in_order:
            table.add_row(*self._cells(block))
        table.move_cursor(row=min(row, max(0, len(blocks.blocks) - 1)), animate=False)
        table.display = bool(blocks.blocks)
        self.query_one("#empty").display = not blocks.blocks
        length = sum(len(block.text) for block in blocks.blocks)
        used = f"Enter edits one · {length:,}/{LONGEST_PROMPT_BLOCKS:,}" if blocks.blocks else ""
        self.query_one("#used", Static).update(Content(used))
        variant = self.query_one("#variant", Select)
        with variant.prevent(Select.Changed):
            variant.set_options(self._variants)
            variant.value = blocks.variant
        self.query_one(OutlineView).show()
        self.refresh_bindings()

    def _more(self, label: str) -> int:
        room = max(0, self.size.width - 80)
        return {"Name": room // 4, "Used for": room // 4}.get(label, 0)

    def _cells(self, block: PromptBlock) -> tuple[Text, ...]:
        is_used = not block.variants or self._blocks.variant in block.variants
        return (
            Text(f"{block.order:,}", justify="right"),
            Text(("on" if is_used else OF_ANOTHER) if block.is_on else "off"),
            _cut(block.name),
            _cut(used_for(block, self._session.snapshot.session)),
        )

    async def on_resize(self) -> None:
        """Give the columns the room there is."""
        if self.is_mounted:
            await self.reload()

    @property
    def _chosen(self) -> PromptBlock | None:
        row, blocks = self.query_one("#blocks", DataTable).cursor_row, self._blocks.in_order
        return blocks[row] if 0 <= row < len(blocks) else None

    def _store(self, blocks: PromptBlocks) -> None:
        self.do(self._session.edit_prompt_blocks(blocks))

    @on(DataTable.RowSelected)
    def action_edit(self) -> None:
        """Edit the block under the cursor."""
        if self._chosen is not None:
            self._open(self._chosen.id)

    def _open(self, block_id: int) -> None:
        self.app.push_screen(BlockScreen(self._workspace, self._session, block_id))

    def action_switch(self) -> None:
        """Switch the block under the cursor on or off."""
        if self._chosen is not None:
            self._store(self._blocks.with_block(replace(self._chosen, is_on=not self._chosen.is_on)))

    def action_add(self) -> None:
        """Begin a new block, and edit it."""
        self.do(self._add())

    async def _add(self) -> None:
        block = PromptBlock(id=self._blocks.next_id, name=NEW_NAME)
        await self._session.edit_prompt_blocks(self._blocks.with_block(block))
        self._open(block.id)

    def action_drop(self) -> None:
        """Delete the block under the cursor, after a question."""
        block = self._chosen
        if block is None:
            return

        def drop(is_wanted: bool | None) -> None:
            if is_wanted:
                self._store(self._blocks.without_block(block.id))

        text = "Its text is deleted from this chapter. Save slots and calls that have it keep it."
        question = ConfirmModal(f"Delete “{block.name}”?", text, confirm="Delete", is_destructive=True)
        self.app.push_screen(question, drop)

    def action_starting_set(self) -> None:
        """Add the blocks to begin with, switched off."""
        from core.exchange.starting_set import with_starting_set

        self._store(with_starting_set(self._blocks))

    @on(Select.Changed, "#variant")
    def _handle_variant(self, event: Select.Changed) -> None:
        event.stop()
        if isinstance(event.value, str) and event.value != self._blocks.variant:
            self._store(self._blocks.with_variant(event.value))

    def action_add_variant(self) -> None:
        """Ask for the name of a variant, and make it the active one."""

        def add(name: str | None) -> None:
            if name:
                self._store(self._blocks.with_variant(name))

        self.app.push_screen(VariantModal(""), add)

    def action_drop_variant(self) -> None:
        """Remove the active variant, after a question."""
        variant = self._blocks.variant

        def drop(is_wanted: bool | None) -> None:
            if is_wanted:
                self._store(self._blocks.without_variant(variant))

        text = "The default variant is active then. Blocks that were for this one alone stay, switched off."
        self.app.push_screen(ConfirmModal(f"Remove the variant “{variant}”?", text, confirm="Remove"), drop)

    def action_close(self) -> None:
        """Go back to the chapter."""
        self.dismiss()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action in EDITS and not self._session.can(Command.EDIT_PROMPT_BLOCKS):
            return False
        if action in ("edit", "switch", "drop"):
            return bool(self._blocks.blocks)
        if action == "drop_variant":
            return self._blocks.variant != DEFAULT_VARIANT
        return True


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")
