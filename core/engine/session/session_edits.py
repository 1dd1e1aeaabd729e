"""The GM's edits of a session that are stored without a call of a model."""

from collections.abc import Callable
from dataclasses import dataclass

from core.agents.context_builder import ContextBuilder
from core.agents.sections.prompt_blocks import PromptOutline
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, Audience
from core.domain.clock import Clock
from core.domain.session.carry_over import CarryOver
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlocks
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.tab1_commands import LoreCopy, Tab1Edit
from core.engine.sync.session_writer import AppliesChanges, SessionWriter


@dataclass(eq=False)
class SessionEdits:
    """Changes texts, canon, prompt blocks and lore of a session, open or closed.

    Each change is durable when it returns. It raises IllegalCommandError when the state refuses,
    LimitExceededError when a text is too long, SessionLockedError when another window writes, and
    StorageError when the store cannot save.
    """

    _writer: AppliesChanges
    _builder: ContextBuilder
    _clock: Clock

    async def edit_tab1(self, edit: Tab1Edit) -> None:
        """Store the GM's changes of tab 1."""
        await self._writer.apply(lambda snapshot: tab1_commands.edit_tab1(snapshot, edit, self._clock()))

    async def mark_carried(self, change: Callable[[CarryOver], CarryOver]) -> None:
        """Store what `change` makes of the lines from earlier chapters, on top of every change before it."""
        await self._writer.apply(
            lambda snapshot: tab1_commands.edit_tab1(
                snapshot, Tab1Edit(carried=change(snapshot.tab1.carried)), self._clock()
            )
        )

    async def retitle(self, title: str) -> None:
        """Give the chapter another title."""
        await self._writer.apply(lambda snapshot: tab1_commands.retitle(snapshot, title, self._clock()))

    async def define_narrative(self, text: str, target_words: int | None) -> None:
        """Store the definition of the narrative agent."""
        await self._writer.apply(
            lambda snapshot: commands.define_narrative(snapshot, text, target_words, self._clock())
        )

    async def correct_canon(self, text: str, *, audience: Audience = EVERYONE) -> None:
        """Store a correction of canon, which is part of every later input of those in `audience`."""
        await self._writer.apply(
            lambda snapshot: commands.correct_canon(
                snapshot, self._builder, text, self._clock(), audience=audience
            ),
            needs_memory=True,
        )

    async def edit_prompt_blocks(self, prompt_blocks: PromptBlocks) -> None:
        """Store the prompt blocks of the chapter; the next call of an agent has those that apply to it."""
        await self.change_prompt_blocks(lambda _: prompt_blocks)

    async def change_prompt_blocks(self, change: Callable[[PromptBlocks], PromptBlocks]) -> None:
        """Store what `change` makes of the prompt blocks, on top of every change before it."""
        await self._writer.apply(
            lambda snapshot: commands.edit_prompt_blocks(
                snapshot, self._builder, change(snapshot.prompt_blocks), self._clock()
            ),
            needs_memory=True,
        )

    async def attach_lore(self, copy: LoreCopy) -> None:
        """Attach a lorebook, or take its content over again; the next input may have entries of it."""
        await self._writer.apply(lambda snapshot: tab1_commands.attach_lore(snapshot, copy, self._clock()))

    async def detach_lore(self, name: str) -> None:
        """Detach a lorebook; later inputs have nothing of it."""
        await self._writer.apply(lambda snapshot: tab1_commands.detach_lore(snapshot, name, self._clock()))


class OpenSessionEdits(SessionEdits):
    """Adds what only an open session has: unsent texts, and the beginning of the next input."""

    def __init__(self, writer: SessionWriter, builder: ContextBuilder) -> None:
        super().__init__(writer, builder, writer.clock)
        self._open = writer

    async def save_unsent(self, slot: Slot, text: str) -> None:
        """Store the unsent text in the composer of `slot`."""
        if self._open.snapshot.unsent.get(slot, "") != text:
            await self._writer.apply(lambda snapshot: commands.save_unsent(snapshot, slot, text))

    def outline(self, role: AgentRole, slot: Slot | None = None) -> PromptOutline:
        """Return what every input of an agent begins with now; for a character, `slot` says which."""
        snapshot = self._open.snapshot
        builder = self._builder.for_chapter(NO_PROMPT_BLOCKS, snapshot.tab1.profiles)
        return builder.outline(snapshot.prompt_blocks, role, slot)
