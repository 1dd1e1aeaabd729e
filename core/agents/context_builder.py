"""Builds every agent's input within its budget (design 7).

The order of an input puts first what never changes and only appends to memory, so that the inputs of
one character begin with the same bytes from one block to the next, and a provider's prompt cache hits.
Over budget it is reduced in this order, and in no other way:

1. The oldest turn deltas shrink to their canon locks, four at a time (`core.context.memory_digest`);
   condensed memory takes the place of their details.
2. The oldest prompts of recent context go that are in memory already, in two steps; first of all
   those up to a text that takes more than a quarter of the budget by itself. Lines that the GM has marked
   as always sent stay, the newest of them, in at most a quarter of the budget.
3. Recalled items of the memory bank go, the last of the ranking first
   (`core.agents.sections.recalled`). Then lore goes, the entries of the lowest order first
   (`core.agents.sections.lore`): the next scene that touches a thing brings it back. Before that each has a
   budget of its own, a share of the input.
4. Prompts that are not in memory yet are summarised early, before the call (`core.engine.queue.worker`).
5. Where that fails, the lines go that are always sent and in memory; the longest texts that are not in
   memory are shortened in the middle, and at last the oldest of these prompts go
   (`core.agents.role.shortening`).
6. Nothing more: the call is refused with `LLM_CONTEXT_OVERFLOW`.

A summary takes as many prompts of its chunk as fit, and the rest follow in a summary of their own; only
a single prompt that does not fit is shortened. A narrative is written in parts (`core.agents.narrative`).

The sheet of a character has a small budget of its own, and what it has no room for goes first, its oldest
lines before the others (`core.agents.sections.recalled`).

System prompt, identity, the line about each of the others on stage, the world_chapter_lock, canon locks
and the GM's prompt are never touched. What was left out is listed in `Context.left_out`.

Summaries and narratives are built from events, so they are given no lore: its effects are in the
replies.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from core.agents import assist, character, narrative
from core.agents.memory import context_summary, world_lock
from core.agents.narrative import NarrativePart
from core.agents.role.setup import ROOM_TO_PLAY, AgentSetup, overflow, total
from core.agents.sections import prompt_blocks, silence
from core.agents.sections.prompt_blocks import PromptOutline
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.carry_over import block_of
from core.context.memory_digest import Digest, MemoryDigester
from core.context.segments import Context, Segment, repair_context
from core.context.visibility import CharacterKnowledge, Knowledge
from core.domain.agent_role import AgentRole
from core.domain.audience import NOBODY
from core.domain.prompt_range import PromptRange
from core.domain.session.cast import Cast
from core.domain.session.profile import Profiles
from core.domain.session.prompt_block import PromptBlocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Secret
from core.text.delimiters import SegmentName

if TYPE_CHECKING:  # Loaded by the first chapter that has a lorebook.
    from core.agents.sections.lore import LoreReader

__all__ = ["Context", "ContextBuilder", "NarrativePart", "Segment", "SegmentName", "repair_context"]


class ContextBuilder:
    """Builds inputs; pure but for caches: of the compact text of each memory block by its id, and of the
    newest input of a character, which is built to look for room before it is built to be sent.

    Every method raises StoryEngineError (`LLM_CONTEXT_OVERFLOW`) when the input cannot be made to fit.
    """

    def __init__(self, choices: ModelAssignments) -> None:
        self._choices = choices
        self._condensing = choices.condensing
        self._digesters = digesters = {
            style: MemoryDigester(style, choices.condensing) for style in PromptStyle
        }
        self._recent_context = choices.recent_context
        self._recent_prompts = choices.recent_prompts
        self._newest: tuple[PromptBlocks, ContextBuilder] | None = None
        self._plain: ContextBuilder | None = None
        """The builder without prompt blocks, of one that has some."""
        self._newest_cast: tuple[Mapping[Slot, ModelConfig], ContextBuilder] | None = None
        self._newest_input: tuple[_Asked, Context] | None = None
        self._lore = _LazyLoreReader(choices.lore_percent)
        self._setups = {
            role: AgentSetup.load(role, choice, digesters[choice.style]) for role, choice in choices.items()
        }
        self._characters = {
            slot: AgentSetup.load(AgentRole.CHARACTER, choice, digesters[choice.style])
            for slot, choice in choices.characters.items()
        }

    def with_choice(self, role: AgentRole, slot: Slot | None, choice: ModelConfig) -> "ContextBuilder":
        """Return what builds the inputs of one agent for `choice`, and has no prompt blocks yet."""
        made = copy(self._plain or self)
        made._newest = None
        setup = AgentSetup.load(role, choice, MemoryDigester(choice.style, self._condensing))
        if slot is None:
            made._setups = {**made._setups, role: setup}
        else:
            made._characters = {**made._characters, slot: setup}
        return made

    def for_chapter(self, blocks: PromptBlocks, profiles: Profiles) -> "ContextBuilder":
        """Return what builds the inputs of a chapter with these prompt blocks, for the models that its
        characters bring."""
        return self._of_cast(profiles).with_prompt_blocks(blocks)

    def _of_cast(self, profiles: Profiles) -> "ContextBuilder":
        choices = self._choices.for_cast(profiles)
        if choices is self._choices:
            return self
        if self._newest_cast is None or self._newest_cast[0] != choices.characters:
            made = copy(self)
            made._newest = None
            made._characters = {
                slot: AgentSetup.load(AgentRole.CHARACTER, choice, self._digesters[choice.style])
                for slot, choice in choices.characters.items()
            }
            self._newest_cast = choices.characters, made
        return self._newest_cast[1]

    def with_prompt_blocks(self, blocks: PromptBlocks) -> "ContextBuilder":
        """Return what builds inputs with these prompt blocks in place of any others."""
        if self._plain is not None:
            return self._plain.with_prompt_blocks(blocks)
        if not blocks.blocks:
            return self
        if self._newest is None or self._newest[0] != blocks:
            made = copy(self)
            made._plain = self
            made._setups = {
                role: prompt_blocks.with_blocks(setup, blocks) for role, setup in self._setups.items()
            }
            made._characters = {
                slot: prompt_blocks.with_blocks(self._character(slot), blocks, slot) for slot in Slot
            }
            self._newest = (blocks, made)
        return self._newest[1]

    def outline(self, blocks: PromptBlocks, role: AgentRole, slot: Slot | None) -> PromptOutline:
        """Return what every input of an agent begins with, with these prompt blocks in place of any other."""
        setup = self._character(slot) if slot is not None else self._setups[role]
        return prompt_blocks.outline_of(setup, blocks, slot)

    def _character(self, slot: Slot) -> AgentSetup:
        return self._characters.get(slot) or self._setups[AgentRole.CHARACTER]

    def _character_in(self, session: Session, slot: Slot) -> AgentSetup:
        setup = self._character(slot)
        return silence.with_rule(setup) if slot in session.may_be_silent else setup

    def world_lock(self, session: Session, tab1: Tab1Inputs) -> Context:
        """Return the input of agent 0."""
        return world_lock.lock_context(self._setups[AgentRole.WORLD_LOCK], session, tab1)

    def require_room(self, session: Session, tab1: Tab1Inputs) -> None:
        """Raise StoryEngineError (`LLM_CONTEXT_OVERFLOW`) where an identity leaves no room to play.

        Asked before the lock: afterwards the identity could not be shortened.
        """
        for setup, tokens in self._fixed_of_characters(session, tab1):
            # Nothing takes what comes over from earlier chapters out of an input again.
            needed = tokens + setup.tokens_of_memory(block_of(session, tab1.carried.lines)) + ROOM_TO_PLAY
            if needed > setup.budget:
                raise overflow(needed, setup.role, setup.choice)

    def require_room_for_secrets(self, session: Session, tab1: Tab1Inputs, secrets: Sequence[Secret]) -> None:
        """Raise StoryEngineError (`LLM_CONTEXT_OVERFLOW`) where a character that knows all secrets in which
        it may ever be told leaves no room to play. Asked before they are stored."""
        cast = Cast(session, tab1).playing
        for own in cast:
            setup = self._character_in(session, own.slot)
            told = [one.text for one in secrets if own.slot in one.known_by | (one.reveal_to or NOBODY)]
            tokens = character.fixed_tokens(setup, own, session, cast) + setup.tokens_of_secrets(told)
            if told and tokens + ROOM_TO_PLAY > setup.budget:
                raise overflow(tokens + ROOM_TO_PLAY, setup.role, setup.choice)

    def require_room_for_corrections(
        self, session: Session, tab1: Tab1Inputs, blocks: Sequence[MemoryBlock]
    ) -> None:
        """Raise StoryEngineError (`LIMIT_EXCEEDED`) where the corrections in `blocks` leave some agent too
        little room to go on. Asked before one is stored: nothing takes it out of an input again.
        """
        for setup, tokens in self._fixed_of_players(session, tab1):
            setup.require_room_for_corrections(tokens, blocks)

    def require_room_for_prompt_blocks(
        self, session: Session, tab1: Tab1Inputs, blocks: Sequence[MemoryBlock]
    ) -> None:
        """Raise StoryEngineError (`LIMIT_EXCEEDED`) where the prompt blocks of this builder leave some agent
        too little room to go on beside the memory in `blocks`. Asked before they are stored."""
        if not session.tab1_locked:
            lock = self._setups[AgentRole.WORLD_LOCK]
            others = world_lock.tokens_beside_beginning(lock, session, tab1)
            prompt_blocks.require_room_for_blocks(lock, total(lock.beginning) + others, ())
        for setup, tokens in self._fixed_of_players(session, tab1):
            prompt_blocks.require_room_for_blocks(setup, tokens, blocks)
        self.require_room_for_corrections(session, tab1, blocks)

    def _fixed_of_players(self, session: Session, tab1: Tab1Inputs) -> Iterator[tuple[AgentSetup, int]]:
        """Yield the set-up of each agent behind the lock, and the fixed tokens of its inputs."""
        summary, narrator = self._setups[AgentRole.CONTEXT_SUMMARY], self._setups[AgentRole.NARRATIVE]
        yield from self._fixed_of_characters(session, tab1)
        yield summary, context_summary.fixed_tokens(summary)
        # The definition can be shortened at any time.
        yield narrator, narrative.frame_tokens(narrator, session, "")

    def _fixed_of_characters(self, session: Session, tab1: Tab1Inputs) -> Iterator[tuple[AgentSetup, int]]:
        """Yield how each character is called, and the tokens of system prompt, identity and the others."""
        cast = Cast(session, tab1).playing
        for own in cast:
            setup = self._character_in(session, own.slot)
            yield setup, character.fixed_tokens(setup, own, session, cast)

    def character(
        self,
        knowledge: CharacterKnowledge,
        prompt_text: str,
        *,
        needs_words: bool = False,
        is_new: bool = True,
    ) -> Context:
        """Return the input of a character, from its knowledge; its recent events are those after
        `recent_from`. With `needs_words` it continues a reply, and gets no rule of silence. `is_new` is
        whether `prompt_text` is a prompt of the GM that is not among the events: lore is then looked for in
        it too.

        Where the character may know a lorebook, this may take a second: call it in a thread.
        """
        slot = knowledge.character.slot
        setup = self._character(slot) if needs_words else self._character_in(knowledge.session, slot)
        if self._recent_context == "exact":
            knowledge = knowledge.since(self.recent_from(knowledge.session))
        asked = (setup, knowledge, prompt_text, needs_words, is_new)
        newest = self._newest_input  # read once: another thread may replace it
        if newest is None or newest[0] != asked:
            lore = None
            if knowledge.lore:
                new = prompt_text if is_new else ""
                lore = self._lore.reader.find(setup, knowledge, new, continues=needs_words)
            newest = asked, character.character_context(setup, knowledge, prompt_text, lore)
            self._newest_input = newest
        return newest[1]

    def digest(self, knowledge: CharacterKnowledge) -> Digest:
        """Return the memory of the next input of a character, whatever the prompt will be."""
        setup = self._character_in(knowledge.session, knowledge.character.slot)
        return character.digest_of(setup, knowledge)

    def recent_from(self, session: Session) -> int:
        """Return the prompt after which an input has every event that its character witnessed."""
        kept = max(session.limits.chunk_size, self._recent_prompts)
        newest = session.prompt_index if self._recent_context == "exact" else session.boundary
        return min(session.boundary, newest - kept)

    def summary(self, knowledge: Knowledge, chunk: PromptRange) -> Context:
        """Return the input of agent 8 for `chunk`; only the events of the chunk are taken."""
        return context_summary.summary_context(self._setups[AgentRole.CONTEXT_SUMMARY], knowledge, chunk)

    def fitting_chunk(self, knowledge: Knowledge, chunk: PromptRange) -> PromptRange:
        """Return as many prompts from the beginning of `chunk` as one input of agent 8 holds whole."""
        return context_summary.fitting_chunk(self._setups[AgentRole.CONTEXT_SUMMARY], knowledge, chunk)

    def plan_narrative(
        self, knowledge: Knowledge, definition: str, target_words: int | None = None
    ) -> tuple[NarrativePart, ...]:
        """Return the parts in which agent 9 writes the chapter, in order; one part is a single call.

        Together they hold the whole transcript that is known. Without events there is nothing to write.
        """
        return narrative.plan(self._setups[AgentRole.NARRATIVE], knowledge, definition, target_words)

    def assist(
        self, session: Session, tab1: Tab1Inputs, asked: assist.AssistRequest, choice: ModelConfig
    ) -> Context:
        """Return the input for help with a text of the GM's own; prompt blocks are no part of it."""
        digester = MemoryDigester(choice.style)
        setup = AgentSetup.load(AgentRole.NARRATIVE, choice, digester, assist.PROMPT)
        return assist.assist_context(setup, session, tab1, asked)

    def narrative_part(
        self, knowledge: Knowledge, part: NarrativePart, definition: str, previous_tail: str = ""
    ) -> Context:
        """Return the input of one part; `previous_tail` is the prose before it, or its end."""
        setup = self._setups[AgentRole.NARRATIVE]
        return narrative.part_context(setup, knowledge, part, definition, previous_tail)


_Asked = tuple[AgentSetup, CharacterKnowledge, str, bool, bool]


class _LazyLoreReader:
    """Loads the lore reader on first use; shared by all builders of a chapter."""

    def __init__(self, percent: float) -> None:
        self._percent = percent

    @cached_property
    def reader(self) -> "LoreReader":
        from core.agents.sections.lore import LoreReader

        return LoreReader(self._percent)
