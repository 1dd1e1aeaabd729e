"""Whatever is legal to write, in whatever order: the chapter can be played on, summarised, ended and told."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import AgentSettings, ProfileSettings
from core.context.visibility import Story, known_to_gm
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import SummaryRequest
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.session.prompt_block import LONGEST_PROMPT_BLOCK, PromptBlock, PromptBlocks
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.memory import corrections_length
from core.engine.changes.moves import may_summarise_early
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.kinds.outcome import LockMade, ReplyMade, SummaryMade
from tests.core.rooms.simulation import Simulation
from tests.core.values.sessions import lock_payload

PROFILES = {
    "default": ProfileSettings(provider="openai"),
    "narrow": ProfileSettings(
        provider="openai",
        character=AgentSettings(max_input_tokens=20_000),
        context_summary=AgentSettings(max_input_tokens=9_000),
        narrative=AgentSettings(max_input_tokens=20_000),
    ),
    "bundled": ProfileSettings(provider="local"),
    "own weights": ProfileSettings(provider="local", model_path=Path("own.gguf")),
}
LETTERS = ("a", "word ", "語", "🜂", "\n", "= ", "=\n", '"')
lengths = st.one_of(st.integers(1, 400), st.integers(1, 20_000), st.just(20_000))
texts = st.tuples(st.sampled_from(LETTERS), lengths)
replies = st.tuples(st.sampled_from(LETTERS), st.one_of(lengths, st.just(1_000_000)))
corrections = st.lists(
    st.tuples(st.sampled_from(LETTERS), st.one_of(st.integers(1, 400), st.just(2_000))), max_size=5
)
block_texts = st.lists(
    st.tuples(st.sampled_from(LETTERS), st.one_of(st.integers(1, 400), st.just(4_000))), max_size=4
)
turns = st.lists(st.tuples(corrections, block_texts, texts, replies, st.booleans()), min_size=1, max_size=9)
Turn = tuple[list[tuple[str, int]], list[tuple[str, int]], tuple[str, int], tuple[str, int], bool]


def told(sample: tuple[str, int], limit: int) -> str:
    """That text, as long as asked for and no longer than its field; it begins with something to be seen."""
    letter, length = sample
    return ("x" + letter * length)[: min(length, limit)]


@cache
def choices_of(name: str) -> ModelAssignments:
    return choose_models(PROFILES[name])


class Chapter:
    """The engine's steps, with the inputs that it would send and no model behind them."""

    def __init__(self, choices: ModelAssignments, builder: ContextBuilder, field: tuple[str, int]) -> None:
        self.choices, self._builder, self.sim = choices, builder, Simulation()
        limits = self.sim.snapshot.session.limits
        edit = Tab1Edit(
            world=told(field, limits.world),
            chapter=told(field, limits.chapter),
            identities={Slot.RED: told(field, limits.identity)},
            character_count=7,
        )
        self.sim.store(tab1_commands.edit_tab1(self.sim.snapshot, edit, self.sim.now))

    @property
    def builder(self) -> ContextBuilder:
        """What builds inputs with the prompt blocks that the chapter has now."""
        return self._builder.with_prompt_blocks(self.sim.snapshot.prompt_blocks)

    def edit_blocks(self, texts: list[tuple[str, int]]) -> bool:
        """Have these prompt blocks in place of others, and return whether the models have room for them."""
        blocks = tuple(
            PromptBlock(id=number, name="x", text=told(text, LONGEST_PROMPT_BLOCK))
            for number, text in enumerate(texts, start=1)
        )
        sim = self.sim
        try:
            sim.store(
                commands.edit_prompt_blocks(sim.snapshot, self.builder, PromptBlocks(blocks=blocks), sim.now)
            )
        except StoryEngineError as error:
            if error.code is not ErrorCode.LIMIT_EXCEEDED:
                raise
            return False
        return True

    def lock(self) -> None:
        snapshot = self.sim.snapshot
        self.builder.require_room(snapshot.session, snapshot.tab1)
        self.builder.world_lock(snapshot.session, snapshot.tab1)
        self.sim.lock()
        self.sim.settle(LockMade(lock_payload()))

    def correct(self, text: str) -> bool:
        """Correct canon, and return whether that was not refused as more than the models have room for."""
        sim = self.sim
        try:
            sim.store(commands.correct_canon(sim.snapshot, self.builder, text, sim.now))
        except StoryEngineError as error:
            if error.code is not ErrorCode.LIMIT_EXCEEDED:
                raise
            return False
        return True

    def play(self, text: str, reply: str, *, is_summary_lost: bool) -> None:
        self.sim.submit(text)
        if self.context(text).is_shortened and may_summarise_early(self.sim.snapshot, self.sim.now):
            self.sim.store(commands.summarise_early(self.sim.snapshot, self.sim.now))
            self.summarise(is_lost=is_summary_lost)
        context = self.context(text)
        assert context.tokens <= context.max_input_tokens
        self.sim.settle(ReplyMade(reply))
        self.summarise(is_lost=is_summary_lost)

    def context(self, text: str) -> Context:
        snapshot = self.sim.snapshot
        return self.builder.character(snapshot.known_to(Slot.RED), text)

    def summarise(self, *, is_lost: bool = False) -> None:
        while self.sim.state is SessionState.SUMMARIZING:
            snapshot = self.sim.snapshot
            chunk = self.sim.only(SummaryRequest).prompts
            known = known_to_gm(Story(snapshot.session, snapshot.blocks, snapshot.recent))
            part = self.builder.fitting_chunk(known, chunk)
            made = self.builder.summary(known, part)
            assert made.tokens <= made.max_input_tokens
            if is_lost:
                self.sim.fail()
                return
            self.sim.settle(SummaryMade({"memory_type": "turn_delta"}, prompts=part))

    def tell(self) -> None:
        session, blocks = self.sim.snapshot.session, self.sim.snapshot.blocks
        for part in self.builder.plan_narrative(
            known_to_gm(Story(session, blocks, self.sim.events)), "", 5_000
        ):
            context = self.builder.narrative_part(
                known_to_gm(Story(session, blocks, ())), part, "", "x" * 9_000
            )
            assert context.tokens <= context.max_input_tokens


def fits(attempt: Callable[[], object]) -> bool:
    """Whether it is not refused as too long beside what is never touched; no other error may come."""
    try:
        attempt()
    except StoryEngineError as error:
        if error.code is not ErrorCode.LLM_CONTEXT_OVERFLOW:
            raise
        return False
    return True


@pytest.mark.parametrize("name", PROFILES)
@settings(max_examples=6)  # each plays a chapter
@given(field=texts, early=block_texts, turns=turns)
def test_no_sequence_of_legal_texts_and_corrections_ends_in_a_chapter_that_cannot_go_on(
    name: str, field: tuple[str, int], early: list[tuple[str, int]], turns: list[Turn]
) -> None:
    choices = choices_of(name)
    chapter = Chapter(choices, ContextBuilder(choices), field)
    chapter.edit_blocks(early)
    if not fits(chapter.lock):
        return  # Nothing is locked: the GM shortens the world, the chapter or the identity.
    bound = choices[AgentRole.CHARACTER].max_answer_characters
    for corrections, blocks, prompt, reply, is_summary_lost in turns:
        chapter.edit_blocks(blocks)
        for correction in corrections:
            chapter.correct(told(correction, LONGEST_CORRECTION))
        text = told(prompt, 20_000)
        if not fits(partial(chapter.context, text)):
            text = "Go on."  # It is the prompt alone that does not fit: a short one does.
        chapter.play(text, told(reply, bound), is_summary_lost=is_summary_lost)
    chapter.sim.pass_time(3_600)
    chapter.sim.store(commands.end_chapter(chapter.sim.snapshot, chapter.sim.now))
    chapter.summarise()
    assert chapter.sim.state is SessionState.ENDED
    chapter.tell()


@pytest.mark.parametrize("name", PROFILES)
def test_a_chapter_whose_corrections_are_as_long_as_may_be_goes_on(name: str) -> None:
    choices = choices_of(name)
    chapter = Chapter(choices, ContextBuilder(choices), ("word ", 400))
    chapter.lock()
    for letter in ("語", "word "):
        length = LONGEST_CORRECTION
        while length:
            length = length if chapter.correct(told((letter, length), length)) else length // 2
        chapter.play("Go on." * 100, letter * 400, is_summary_lost=False)
    taken = corrections_length(chapter.sim.snapshot.blocks)
    assert 200 < taken <= LONGEST_CORRECTIONS
    assert not chapter.correct("x" * LONGEST_CORRECTION)
    chapter.sim.store(commands.end_chapter(chapter.sim.snapshot, chapter.sim.now))
    chapter.summarise()
    chapter.tell()


def test_what_the_models_have_no_room_for_is_refused_with_the_model_and_what_helps() -> None:
    choices = choices_of("bundled")
    chapter = Chapter(choices, ContextBuilder(choices), ("word ", 400))
    chapter.lock()
    now = chapter.sim.snapshot, chapter.builder, "語" * LONGEST_CORRECTION, chapter.sim.now
    with pytest.raises(
        StoryEngineError, match=r"smollm2.* has room for [\d,]+; nothing was stored"
    ) as refused:
        commands.correct_canon(*now)
    assert "Write it shorter" in refused.value.hint
