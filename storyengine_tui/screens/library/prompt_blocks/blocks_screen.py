"""The prompt blocks of a chapter in the order of an input, the active variant, and the outline beside it."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Select, Static

from core.agents.sections.prompt_blocks import PromptOutline
from core.domain.agent_role import AGENT_NAMES, AgentRole
from core.domain.session.prompt_block import DEFAULT_VARIANT, LONGEST_PROMPT_BLOCKS, PromptBlock, PromptBlocks
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import PromptBlocksChanged, WriterChanged
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.prompt_blocks.block_screen import BlockScreen
from storyengine_tui.screens.library.prompt_blocks.conditions import used_for
from storyengine_tui.screens.library.shelf.title_modal import VariantModal
from storyengine_tui.screens.shared.list_screen import ListScreen, cut
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.row_table import RowTable

Agent = tuple[AgentRole, Slot | None]
"""An agent: its role and, for a character, its slot."""


def agents_of(session: Session) -> list[tuple[Content, Agent]]:
    """Return the agents of a chapter by their names, the characters first."""
    characters = [
        (Content(f"{slot.value} {name}"), (AgentRole.CHARACTER, slot)) for slot, name in session.roster
    ]
    return [*characters, *((Content(name), (role, None)) for role, name in AGENT_NAMES.items())]


def outline_lines(outline: PromptOutline, width: int) -> list[str]:
    """Return a line for each part, its tokens at the right, and one for all of them together."""
    lines = [_line(part.name, part.tokens, width, is_own=part.block is not None) for part in outline.parts]
    share = f"In all, of {outline.budget:,}"
    return [*lines, "─" * width, _line(share, outline.tokens, width, is_own=False)]


def _line(name: str, tokens: int, width: int, *, is_own: bool) -> str:
    count = f"{tokens:,}"
    room = max(1, width - len(count) - 1)
    name = f"+ {name}" if is_own else name
    name = name if cell_len(name) <= room else f"{set_cell_size(name, room - 1)}…"
    return f"{set_cell_size(name, room)} {count}"


class OutlineView(Vertical):
    """The choice of the agent over its outline."""

    HELP = (
        "On the right is the beginning of every input of the chosen agent, with its approximate tokens: "
        "the built-in prompt, which stays, and behind + your blocks."
    )

    def __init__(self, session: SessionHandle) -> None:
        super().__init__(id="outline")
        self._session = session

    def compose(self) -> ComposeResult:
        """Compose the choice and the outline."""
        agents = agents_of(self._session.snapshot.session)
        yield GuardedSelect[Agent](agents, value=agents[0][1], allow_blank=False, compact=True, id="agent")
        with VerticalScroll(can_focus=False):
            yield Static("", id="parts", markup=False)

    @on(Select.Changed, "#agent")
    def _handle_agent(self, event: Select.Changed) -> None:
        event.stop()
        self.show()

    def on_resize(self) -> None:
        """Give the names the room there is."""
        self.show()

    def show(self) -> None:
        """Show what the inputs of the chosen agent begin with now."""
        chosen = self.query_one("#agent", Select).value
        if not isinstance(chosen, tuple):
            return
        role, slot = chosen
        width = max(20, self.size.width - 3)
        lines = outline_lines(self._session.edits.outline(role, slot), width)
        self.query_one("#parts", Static).update(Content("\n".join(lines)))


NONE_YET = (
    "This chapter has no prompt blocks: every agent is given the built-in rules alone.\n\n"
    "n writes one; s offers sixteen to begin with, all switched off."
)
OF_ANOTHER = "–"
"""Shown instead of “on” for a block that only other variants use."""
_NAME_WIDTH = 17
EDITS = frozenset({"switch", "add", "drop", "starting_set", "add_variant", "drop_variant"})


class PromptBlocksScreen(ListScreen[None, PromptBlock]):
    """Lists the blocks; Enter edits one, Esc goes back to the chapter. Every change is stored at once."""

    CSS_PATH = "prompt_blocks.tcss"
    HELP = (
        "Prompt blocks are texts of yours that agents are given behind their built-in rules, from the next "
        "call on. Those of a variant are used only while it is the active one. Blocks that are off, or for "
        "another variant (–), take no room."
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
                yield Banner(id="trouble")
                yield RowTable(id="blocks")
                yield Static(NONE_YET, id="empty", markup=False)
            yield OutlineView(self._session)
        yield KeyLine(offers_palette=False)

    @property
    def _blocks(self) -> PromptBlocks:
        return self._session.snapshot.prompt_blocks

    @property
    def _variants(self) -> list[tuple[Content, str]]:
        return [(Content(name), name) for name in self._blocks.all_variants]

    def on_mount(self) -> None:
        """Follow what is edited over this screen, or in another window."""
        self.run_worker(self._follow(), group="follow", exit_on_error=False)

    async def _follow(self) -> None:
        with self._session.listen() as listener:
            async for notification in listener:
                if isinstance(notification, PromptBlocksChanged | WriterChanged):
                    await self.reread()

    async def reload(self) -> None:
        """Show the blocks as they are stored."""
        blocks, more = self._blocks, max(0, self.size.width - 80) // 4
        columns = {"Order": 5, "": 3, "Name": _NAME_WIDTH + more, "Used for": 11 + more}
        # Another window may have changed them while the GM is at a choice.
        is_in_list = self.focused in (None, self._table)
        self.fill(blocks.in_order, columns, self._cells, takes_focus=is_in_list)
        length = sum(len(block.text) for block in blocks.blocks)
        used = f"Enter edits one · {length:,}/{LONGEST_PROMPT_BLOCKS:,}" if blocks.blocks else ""
        self.query_one("#used", Static).update(Content(used))
        variant = self.query_one("#variant", Select)
        with variant.prevent(Select.Changed):
            variant.set_options(self._variants)
            variant.value = blocks.variant
        self.query_one(OutlineView).show()
        self.refresh_bindings()

    def key_of(self, row: PromptBlock) -> object:
        """Return the id."""
        return row.id

    def _cells(self, block: PromptBlock) -> tuple[Text, ...]:
        is_used = not block.variants or self._blocks.variant in block.variants
        return (
            Text(f"{block.order:,}", justify="right"),
            Text(("on" if is_used else OF_ANOTHER) if block.is_on else "off"),
            cut(block.name),
            cut(used_for(block, self._session.snapshot.session)),
        )

    def _change(self, change: Callable[[PromptBlocks], PromptBlocks]) -> None:
        self.do(self._session.edits.change_prompt_blocks(change))

    @on(DataTable.RowSelected)
    def action_edit(self) -> None:
        """Edit the block under the cursor."""
        if self.chosen is not None:
            self._open(self.chosen.id)

    def _open(self, block_id: int | None) -> None:
        if self.is_active:  # Enter may come twice.
            self.app.push_screen(BlockScreen(self._workspace, self._session, block_id))

    def action_switch(self) -> None:
        """Switch the block under the cursor on or off."""
        if self.chosen is not None:
            block_id = self.chosen.id

            def switch(blocks: PromptBlocks) -> PromptBlocks:
                block = blocks.find(block_id)
                return blocks if block is None else blocks.with_block(replace(block, is_on=not block.is_on))

            self._change(switch)

    def action_add(self) -> None:
        """Edit a new block, which is stored with the first edit."""
        self._open(None)

    def action_drop(self) -> None:
        """Delete the block under the cursor, after a question."""
        block = self.chosen
        if block is None:
            return
        text = "Its text is deleted from this chapter. Save slots and calls that have it keep it."
        question = ConfirmModal(f"Delete “{block.name}”?", text, confirm="Delete", is_destructive=True)
        ask_first(self.app, question, lambda: self._change(lambda blocks: blocks.without_block(block.id)))

    def action_starting_set(self) -> None:
        """Add the blocks to begin with, switched off."""
        from core.exchange.library.starting_set import with_starting_set

        self._change(with_starting_set)

    @on(Select.Changed, "#variant")
    def _handle_variant(self, event: Select.Changed) -> None:
        event.stop()
        variant = event.value
        if isinstance(variant, str) and variant != self._blocks.variant:
            self._change(lambda blocks: blocks.with_variant(variant))

    def action_add_variant(self) -> None:
        """Ask for the name of a variant, and make it the active one."""

        def add(name: str | None) -> None:
            if name:
                self._change(lambda blocks: blocks.with_variant(name))

        self.app.push_screen(VariantModal(""), add)

    def action_drop_variant(self) -> None:
        """Remove the active variant, after a question."""
        variant = self._blocks.variant
        text = "The default variant is active then. Blocks that were for this one alone stay, switched off."
        question = ConfirmModal(f"Remove the variant “{variant}”?", text, confirm="Remove")
        ask_first(self.app, question, lambda: self._change(lambda blocks: blocks.without_variant(variant)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action in EDITS and not self._session.can(Command.EDIT_PROMPT_BLOCKS):
            return False
        if action in ("edit", "switch", "drop"):
            return bool(self._blocks.blocks)
        if action == "drop_variant":
            return self._blocks.variant != DEFAULT_VARIANT
        return True
