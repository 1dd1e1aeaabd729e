"""One prompt block as it is edited: what is typed is stored within a second, as on the tabs (design 10)."""

from dataclasses import replace

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Select, Static

from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.session.prompt_block import (
    LONGEST_BLOCK_NAME,
    LONGEST_PROMPT_BLOCK,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
)
from core.domain.session.state_machine import Command
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.prompt_blocks.conditions import NAMES_IN_CONDITIONS, TypedBlock, called
from storyengine_tui.screens.shared.autosaved_screen import AutosavedScreen
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner, Tone
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from storyengine_tui.widgets.fields.one_line import FormField, labelled
from storyengine_tui.widgets.key_line import KeyLine

PLACES: tuple[tuple[str, BlockPlace], ...] = (
    ("with the rules, behind the system prompt", BlockPlace.RULES),
    ("with the material, in front of it", BlockPlace.MATERIAL),
)
SWITCHED_OFF = "Stored, and switched off:"
NEW_NAME = "New block"
GONE = "This block was deleted in another window; copy what you need."


class BlockScreen(AutosavedScreen):
    """Edits one block; Esc goes back, and asks where a field cannot be stored.

    A new block has no id yet, and is added with the first edit: Esc before that adds none.
    """

    CSS_PATH = "prompt_blocks.tcss"
    HELP = (
        "An empty condition always holds; all conditions that are set must hold. Names have commas between "
        "them. A lower order comes first. Your text is saved automatically, and used from the next call on."
    )

    _text = getters.query_one("#text", CappedTextArea)

    def __init__(self, workspace: Workspace, session: SessionHandle, block_id: int | None) -> None:
        super().__init__(workspace, session)
        self._block_id = self._begun_id = block_id
        self._sent: PromptBlock | None = None
        """A new block as it was last sent to be stored: it may be stored although no answer came."""

    @property
    def _known(self) -> PromptBlock | None:
        """The block as it is stored, or as a new one begins; None for one that was deleted."""
        if self._block_id is None:
            return PromptBlock(id=0, name=NEW_NAME)
        return self._session.snapshot.prompt_blocks.find(self._block_id)

    @property
    def _block(self) -> PromptBlock:
        return self._known or PromptBlock(id=self._block_id or 0, name="?")

    def compose(self) -> ComposeResult:
        """Compose the fields over the text."""
        typed = TypedBlock.of(self._block, self._session.snapshot.session)
        yield Static("Prompt block", id="heading", markup=False)
        name = FormField(typed.name, compact=True, max_length=LONGEST_BLOCK_NAME, id="name")
        yield labelled("Name", name)
        yield labelled("Order", FormField(typed.order, compact=True, max_length=5, id="order"))
        yield labelled(
            "Place",
            GuardedSelect[BlockPlace](PLACES, value=typed.place, allow_blank=False, compact=True, id="place"),
        )
        for label, value, holder, key in self._conditions(typed):
            yield labelled(label, FormField(value, compact=True, placeholder=holder, id=key))
        with Horizontal(classes="line"):
            yield Static("", id="problem", markup=False)
            yield Static("", id="saved", markup=False)
            yield CharCounter(LONGEST_PROMPT_BLOCK, length=len(typed.text), id="counter")
        yield CappedTextArea(
            typed.text,
            limit=LONGEST_PROMPT_BLOCK,
            placeholder="What the agent is to keep in mind.",
            id="text",
        )
        yield Banner(id="result")
        yield KeyLine(offers_palette=False)

    def _conditions(self, typed: TypedBlock) -> tuple[tuple[str, str, str, str], ...]:
        session, blocks = self._session.snapshot.session, self._session.snapshot.prompt_blocks
        cast = ", ".join(called(session).values())
        return (
            ("Characters", typed.characters, f"all, and other agents; or some of {cast}", "characters"),
            ("Agents", typed.agents, f"all; or some of {', '.join(NAMES_IN_CONDITIONS.values())}", "agents"),
            ("Variants", typed.variants, f"all; or some of {', '.join(blocks.all_variants)}", "variants"),
        )

    def on_mount(self) -> None:
        """Show what is stored; a window that only reads shows it as well."""
        is_editable = self._session.can(Command.EDIT_PROMPT_BLOCKS)
        self._text.read_only = not is_editable
        for field in self.query(".line Input, .line Select"):
            field.disabled = not is_editable
        # A new block is named first: what is typed takes the place of the name that it begins with.
        self.query_one("#name" if self._block_id is None else "#text").focus()

    @property
    def _what(self) -> str:
        return f"rule.{self._begun_id or 'new'}"

    @property
    def _typed(self) -> TypedBlock:
        place = self.query_one("#place", Select).value
        return TypedBlock(
            name=self._value("name"),
            order=self._value("order"),
            place=place if isinstance(place, BlockPlace) else BlockPlace.RULES,
            variants=self._value("variants"),
            characters=self._value("characters"),
            agents=self._value("agents"),
            text=self._text.text,
        )

    def _value(self, field: str) -> str:
        return self.query_one(f"#{field}", Input).value

    async def _save(self) -> None:
        """Store what can be stored; what leaves no room for the model is stored switched off."""
        snapshot = self._session.snapshot
        blocks = snapshot.prompt_blocks
        before = self._known
        if before is None:
            raise IllegalCommandError(GONE)
        made, _ = self._typed.put_into(before, blocks, snapshot.session, snapshot.cast.other_names)
        if made == before:
            return
        try:
            await self._put(made)
        except StoryEngineError as error:
            if error.code is not ErrorCode.LIMIT_EXCEEDED or not made.is_on:
                raise
            await self._put(replace(made, is_on=False))
            self._say(f"{SWITCHED_OFF} {error.message}", error.hint, Tone.WARNING)

    async def _put(self, block: PromptBlock) -> None:
        if self._block_id is not None:
            await self._session.edits.change_prompt_blocks(lambda now: now.with_block(block))
            return

        def put(now: PromptBlocks) -> PromptBlocks:
            before = self._sent
            number = before.id if before is not None and before in now.blocks else now.next_id
            self._sent = replace(block, id=number)
            return now.with_block(self._sent)

        await self._session.edits.change_prompt_blocks(put)
        self._block_id = None if self._sent is None else self._sent.id

    @property
    def _loss(self) -> str:
        return self._problem if self._session.can(Command.EDIT_PROMPT_BLOCKS) else ""

    @property
    def _problem(self) -> str:
        snapshot = self._session.snapshot
        return self._typed.put_into(
            self._block, snapshot.prompt_blocks, snapshot.session, snapshot.cast.other_names
        )[1]

    @on(CappedTextArea.Edited)
    @on(Input.Changed)
    @on(Select.Changed)
    def _touch(self, event: CappedTextArea.Edited | Input.Changed | Select.Changed) -> None:
        event.stop()
        self.query_one(CharCounter).show(self._text.length)
        self.query_one("#problem", Static).update(Content(self._problem))
        self._touch_typed()
