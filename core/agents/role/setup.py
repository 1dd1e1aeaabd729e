"""Set-up that every role has: model, prompt, budget, and memory shortened to fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.agents.role.prompt_file import SystemPrompt, prompt_for, render_prompt
from core.config.models.assignments import setting_of
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.memory_digest import Digest, MemoryDigester
from core.context.segments import CompressionMethod, Context, Segment, fenced, plain
from core.context.visibility import CharacterKnowledge, Knowledge
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.memory import BlockType, MemoryBlock
from core.providers.base import OutputSchema
from core.text.delimiters import SegmentName

_MEMORY_SHARE = {PromptStyle.FULL: 0.75, PromptStyle.SMALL: 0.25}
"""Share of the budget beside the fixed parts that memory may take before its oldest details are left out.
The rest is kept free for recent context and prompt, so that memory does not shrink and grow with these. A
small model reads slowly and remembers little, so it gets less."""

_CORRECTION_SHARE = 0.5
"""Maximum share of an input's memory for corrections of canon, which no budget omits."""
_OWN_SECRETS = "The character knows this, and others may not. Only the character decides whom to tell."
_ON_STAGE = "The others on stage, as anyone sees them:"
_AWAY = "is away, and neither sees nor hears what happens."
_ALL_SECRETS = "The secrets of the story, each with those who know it. The transcript says when one is told."

ROOM_TO_PLAY = 1_000
"""Tokens that are left at least for recent context and a prompt, beside what is never left out."""


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """One role with its model and its prompt."""

    role: AgentRole
    choice: ModelConfig
    prompt: SystemPrompt
    beginning: tuple[Segment, ...]
    digester: MemoryDigester

    @classmethod
    def load(
        cls, role: AgentRole, choice: ModelConfig, digester: MemoryDigester, prompt_name: str = ""
    ) -> "AgentSetup":
        """Read the prompt of `role`, or of a task of it, in the style of `choice`."""
        prompt = prompt_for(prompt_name or role, choice)
        return cls(role, choice, prompt, render_prompt(prompt), digester)

    @classmethod
    def for_task(cls, choice: ModelConfig, prompt_name: str) -> "AgentSetup":
        """Read the prompt of a task of agent 8, in the style of `choice`."""
        return cls.load(AgentRole.CONTEXT_SUMMARY, choice, MemoryDigester(choice.style), prompt_name)

    @property
    def style(self) -> PromptStyle:
        """Whether the model gets long prompts or short ones."""
        return self.choice.style

    @property
    def budget(self) -> int:
        """Maximum tokens of an input."""
        return self.choice.max_input_tokens

    def fenced(self, name: SegmentName, text: str) -> Segment:
        """Return a section of the user message."""
        return fenced(name, text, self.style)

    def memory(self, name: SegmentName, digest: Digest) -> Segment:
        """Return the section of a memory that was made to fit."""
        made = self.fenced(name, digest.text)
        # Canon locks are always taken word for word; what a model condensed is told in other words.
        method = CompressionMethod.SUMMARY if digest.condensed else CompressionMethod.EXTRACTION
        return made.shortened(made.tokens - digest.tokens + digest.original_tokens, method)

    def secrets(self, knowledge: Knowledge) -> tuple[Segment, ...]:
        """Return the section of the secrets that are known; nothing where there are none.

        It says itself what they are: no system prompt needs to, in a chapter without secrets.
        """
        lead = _OWN_SECRETS if isinstance(knowledge, CharacterKnowledge) else _ALL_SECRETS
        return (self._secrets(lead, knowledge.secrets),) if knowledge.secrets else ()

    def others(self, session: Session, own: Slot, on_stage: Sequence[tuple[str, str]]) -> tuple[Segment, ...]:
        """Return the section that says who else is on stage, by name and short description, and who is away.

        Nothing if all are here, and there is nothing to tell of them.
        """
        here = [f"- {name}: {short}" if short else f"- {name}" for name, short in on_stage]
        gone = [name for slot, name in session.roster if slot is not own and session.is_away(slot)]
        lines = [*([_ON_STAGE] if here else []), *here, *(f"{name} {_AWAY}" for name in gone)]
        return (self.fenced(SegmentName.AGENT_ROSTER, "\n".join(lines)),) if lines else ()

    def tokens_of_secrets(self, texts: Sequence[str]) -> int:
        """Return the tokens of the section that has these secrets of a character."""
        return self._secrets(_OWN_SECRETS, texts).tokens

    def _secrets(self, lead: str, texts: Sequence[str]) -> Segment:
        lines = (f"- {' '.join(text.split())}" for text in texts)
        return self.fenced(SegmentName.SECRETS, "\n".join((lead, *lines)))

    def cue(self, name: str = "") -> tuple[Segment, ...]:
        """Return what ends the input of a small model; nothing for another."""
        text = self.prompt.cue_for(name)
        return (plain(SegmentName.CUE, text, self.style, "user"),) if text else ()

    def tokens_of_memory(self, blocks: Sequence[MemoryBlock]) -> int:
        """Return the tokens of these blocks, each whole."""
        return sum(self.digester.compact(block).tokens for block in blocks)

    def memory_budget(self, fixed: int, variable: int) -> int:
        """Return the tokens that memory may have.

        `fixed` are the tokens that all inputs of the agent share, `variable` the others.
        """
        share = int((self.budget - fixed) * _MEMORY_SHARE[self.style])
        most = min(share, self.choice.max_memory_tokens or share)
        return min(most, self.budget - fixed - variable)

    def require_room_for_corrections(self, fixed: int, blocks: Sequence[MemoryBlock]) -> None:
        """Raise StoryEngineError (`LIMIT_EXCEEDED`) where the corrections in `blocks` leave too little room.

        They may take half of the memory budget, and must leave `ROOM_TO_PLAY` beside canon.
        """
        compact = [self.digester.compact(block) for block in blocks]
        needed = sum(block.tokens for block in compact if block.type is BlockType.CANON_CORRECTION)
        others = fixed + self.digester.digest(blocks, 0).tokens - needed
        share = int(self.memory_budget(fixed, 0) * _CORRECTION_SHARE)
        most = max(0, min(share, self.budget - others - ROOM_TO_PLAY))
        if needed > most:
            raise StoryEngineError(
                ErrorCode.LIMIT_EXCEEDED,
                f"The corrections of this chapter together would take about {needed:,} tokens of every "
                f"input, and {self.choice.model} has room for {most:,}; nothing was stored.",
                "Write it shorter, or choose a model with a larger context.",
            )

    def context(
        self,
        segments: Sequence[Segment],
        *,
        slot: Slot | None = None,
        schema: OutputSchema | None = None,
        left_out: tuple[str, ...] = (),
        is_shortened: bool = False,
    ) -> Context:
        """Return the input made of the beginning and `segments`; `slot` is that of a character.

        Raise StoryEngineError (`LLM_CONTEXT_OVERFLOW`) when it is over budget all the same.
        """
        context = Context(
            agent_id=(self.role.agent_id or 0) if slot is None else slot.value,
            role=self.role,
            style=self.style,
            prompt_version=self.prompt.label,
            segments=(*self.beginning, *segments),
            max_input_tokens=self.budget,
            schema=schema,
            left_out=left_out,
            is_shortened=is_shortened,
        )
        if context.tokens > self.budget:
            raise overflow(context.tokens, self.role, self.choice)
        return context


def total(segments: Sequence[Segment]) -> int:
    """Return the tokens of `segments`."""
    return sum(segment.tokens for segment in segments)


def overflow(needed: int, role: AgentRole, choice: ModelConfig) -> StoryEngineError:
    """Return the error for an input that cannot be made small enough."""
    window = choice.context_window - choice.max_output_tokens
    field = "max_input_tokens" if choice.max_input_tokens < window else "context_window"
    return StoryEngineError(
        ErrorCode.LLM_CONTEXT_OVERFLOW,
        f"What must be sent takes about {needed:,} tokens and {choice.model} is given at most "
        f"{choice.max_input_tokens:,}; nothing was sent and nothing is lost.",
        f"Shorten the text, choose a model with a larger context, or raise {setting_of(choice, role, field)} "
        "if the model can read more.",
    )
