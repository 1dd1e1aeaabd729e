"""Budgets: what is reduced, in which order, and what never is (design 7)."""

import re
from dataclasses import replace
from uuid import UUID

import pytest

from core.agents.context_builder import Context, ContextBuilder
from core.agents.role.setup import AgentSetup
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import PromptStyle
from core.context.memory_digest import STEP, MemoryDigester
from core.context.tokens import estimate_tokens
from core.context.visibility import Story, known_to_gm
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.storage.snapshot import recent_from
from core.text.delimiters import SegmentName
from tests.core.values.sessions import (
    TAB1,
    choice,
    choices,
    delta_block,
    event,
    known,
    lock_block,
    memory,
    play,
    session,
)


def builder(budget: int, style: PromptStyle = PromptStyle.FULL) -> ContextBuilder:
    return ContextBuilder(choices(budget, style))


def text_of(context: Context, name: SegmentName) -> str:
    return next(segment.text for segment in context.segments if segment.name is name)


def reply(build: ContextBuilder, prompts: int, deltas: int, prompt: str = "What now?") -> Context:
    mine = session(prompts=prompts, boundary=deltas * 7)
    recent = play(recent_from(mine) + 1, prompts)
    return build.character(known(mine, memory(deltas), recent), prompt)


def test_within_the_budget_nothing_is_left_out() -> None:
    context = reply(builder(48_000), 30, 4)
    assert context.left_out == ()
    assert all(f"event{n}w0" in text_of(context, SegmentName.STRUCTURED_MEMORY) for n in range(1, 5))
    assert "22) gm22w0" in text_of(context, SegmentName.RECENT_CONTEXT)


def test_the_oldest_deltas_shrink_first_and_keep_their_canon_locks() -> None:
    context = reply(builder(7_000), 142, 20)
    stored = text_of(context, SegmentName.STRUCTURED_MEMORY)
    assert context.tokens <= 7_000
    assert context.left_out == ("Details of prompts 1–56 (their canon locks are kept)",)
    assert "event8w0" not in stored
    assert "event9w0" in stored
    assert (
        '"from_marker":"1)","to_marker":"56)"},"canon_locks":["Canon of chunk 3.","Canon of chunk 6."]}'
        in stored
    )
    assert stored.index("world_chapter_lock") < stored.index("Canon of chunk 3.") < stored.index("event9w0")
    assert "134) gm134w0" in text_of(context, SegmentName.RECENT_CONTEXT)


def test_then_the_oldest_recent_context_goes_that_is_in_memory() -> None:
    seen = set()
    for budget in range(6_400, 2_600, -100):
        mine = session(prompts=27, boundary=21)
        recent = play(15, 27, words=60)
        try:
            context = builder(budget).character(known(mine, memory(3), recent), "What now?")
        except StoryEngineError:
            continue
        kept = text_of(context, SegmentName.RECENT_CONTEXT)
        assert context.tokens <= budget
        assert all(f"{prompt}) gm{prompt}w0" in kept for prompt in range(22, 28))
        dropped = [line for line in context.left_out if line.startswith("Recent context")]
        if dropped:
            assert "Details of prompts 1–21 (their canon locks are kept)" in context.left_out
            seen.add(dropped[0])
    assert seen == {
        "Recent context of prompts 15–18 (they are in memory)",
        "Recent context of prompts 15–21 (they are in memory)",
    }


def test_then_the_longest_texts_that_are_not_in_memory_are_shortened_with_a_note() -> None:
    mine = session(prompts=9, boundary=7)
    recent = [*play(8, 9, words=20), event(9, " ".join(f"long{n}" for n in range(9_000)), Slot.RED, 2)]
    context = builder(5_000).character(known(mine, memory(1), recent), "What now?")
    text = text_of(context, SegmentName.RECENT_CONTEXT)
    assert context.tokens <= 5_000
    assert context.is_shortened
    assert context.left_out[-1] == "The middle of long texts in prompts 9 (not yet in memory; no room)"
    assert re.search(r"long0 .*\n\[… [0-9,]+ characters left out …\]\n.* long8999", text, re.DOTALL)
    assert all(f"gm{prompt}w19" in text and f"reply{prompt}w19" in text for prompt in (8, 9))


def test_then_the_oldest_prompts_that_are_not_in_memory_go_and_are_named() -> None:
    mine = session(prompts=200)
    context = builder(4_000).character(known(mine, memory(0), play(1, 200)), "What now?")
    assert context.tokens <= 4_000
    assert context.left_out[0].startswith("Prompts 1–")
    assert "200) gm200w0" in text_of(context, SegmentName.RECENT_CONTEXT)


def test_then_nothing_more_but_a_sentence_that_names_the_setting() -> None:
    mine = session(prompts=27, boundary=21)
    with pytest.raises(StoryEngineError) as caught:
        builder(1_000).character(known(mine, memory(3), play(15, 27, words=60)), "What now?")
    assert caught.value.code is ErrorCode.LLM_CONTEXT_OVERFLOW
    assert "1,000" in caught.value.message
    assert "nothing is lost" in caught.value.message
    assert "STORYENGINE_PROFILES__LOCAL__CHARACTER__CONTEXT_WINDOW" in caught.value.hint


def test_a_reply_of_five_million_characters_that_is_stored_already_can_be_played_on_from() -> None:
    vast = event(3, "A word of it. " * 360_000, Slot.RED)
    recent = [*play(1, 2), event(3, "Tell all."), vast]
    build = builder(24_000)
    before = build.character(known(session(prompts=3), memory(0), recent), "On.")
    assert before.tokens <= 24_000
    assert "characters left out" in text_of(before, SegmentName.RECENT_CONTEXT)
    chunk = build.fitting_chunk(known_to_gm(Story(session(prompts=3), memory(0), recent)), PromptRange(1, 3))
    assert chunk == PromptRange(1, 2)
    rest = build.summary(
        known_to_gm(Story(session(prompts=3, boundary=2), memory(0), recent)), PromptRange(3, 3)
    )
    assert rest.tokens <= 24_000
    assert rest.left_out == ("The middle of long texts in prompts 3 (not yet in memory; no room)",)
    mine = session(prompts=7, boundary=7)
    after = build.character(known(mine, memory(1), [*recent, *play(4, 7)]), "On.")
    assert after.left_out == ("Recent context of prompts 1–3 (they are in memory)",)
    assert "event1w0" in text_of(after, SegmentName.STRUCTURED_MEMORY)


def test_what_goes_after_a_text_beyond_all_measure_is_named_together_with_it() -> None:
    vast = event(3, "A word of it. " * 3_000, Slot.RED)
    recent = [*play(1, 2), event(3, "Tell all."), vast, *play(4, 7, words=150)]
    mine = session(prompts=7, boundary=7)
    context = builder(4_000).character(known(mine, memory(1), recent), "On.")
    assert context.left_out[-1] == "Recent context of prompts 1–5 (they are in memory)"


def test_an_identity_that_leaves_no_room_to_play_is_refused_before_the_lock() -> None:
    wide = TAB1.with_identity(Slot.RED, "🜂" * 5_000)
    builder(48_000).require_room(session(), wide)
    with pytest.raises(StoryEngineError) as caught:
        builder(6_992, PromptStyle.SMALL).require_room(session(), wide)
    assert caught.value.code is ErrorCode.LLM_CONTEXT_OVERFLOW


def test_what_is_never_touched() -> None:
    long_prompt = "word " * 3_000
    context = reply(builder(12_000), 139, 19, long_prompt)
    system, user = context.messages
    assert system.content == reply(builder(48_000), 139, 19).messages[0].content
    assert long_prompt.strip() in user.content
    assert TAB1.identities[Slot.RED] in user.content
    assert '"rules_of_reality":["Iron burns the fae."]' in user.content
    assert all(f"Canon of chunk {n}." in user.content for n in range(3, 20, 3))
    assert all(f"{prompt}) gm{prompt}w0" in user.content for prompt in range(134, 140))


@pytest.mark.parametrize("style", PromptStyle)
@pytest.mark.parametrize("prompts", [7, 70, 700, 7_000])
def test_any_length_of_story_stays_within_the_budget(prompts: int, style: PromptStyle) -> None:
    build = builder(48_000 if style is PromptStyle.FULL else 20_000, style)
    context = reply(build, prompts, prompts // 7)
    assert context.tokens <= context.max_input_tokens


def test_unsummarised_prompts_are_never_left_out_however_many() -> None:
    mine = session(prompts=60, boundary=7)
    context = builder(13_000).character(known(mine, memory(1), play(1, 60)), "What now?")
    assert all(f"{prompt}) gm{prompt}w0" in context.messages[1].content for prompt in range(8, 61))
    assert context.left_out[-1] == "Recent context of prompts 1–7 (they are in memory)"


# --- the digest -----------------------------------------------------------------------------------


def test_the_cut_moves_in_steps_so_that_memory_mostly_only_grows() -> None:
    digester = MemoryDigester(PromptStyle.FULL)
    moves, previous = 0, digester.digest(memory(1), 3_000)
    for count in range(2, 80):
        digest = digester.digest(memory(count), 3_000)
        assert digest.tokens <= 3_000
        if digest.compacted == previous.compacted:
            assert digest.lines[: len(previous.lines)] == previous.lines
        else:
            moves += 1
            assert digest.compacted is not None
            assert digest.compacted.last % (7 * STEP) == 0
        previous = digest
    assert moves <= 80 / STEP


def test_the_cut_depends_on_blocks_and_budget_alone() -> None:
    warm = MemoryDigester(PromptStyle.FULL)
    for count in range(1, 50):
        warm.digest(memory(count), 4_000)
    assert warm.digest(memory(30), 3_000) == MemoryDigester(PromptStyle.FULL).digest(memory(30), 3_000)


def test_two_characters_whose_blocks_differ_never_get_each_others_memory() -> None:
    """The same number of blocks and the same last one, so only the ids of all tell them apart."""
    common = delta_block(2)
    private = replace(delta_block(1, ["KARA IS THE KILLER"]), id=BlockId(UUID(int=99)))
    digester = MemoryDigester(PromptStyle.FULL)
    karas = digester.digest((lock_block(), private, common), 48_000)
    miras = digester.digest((lock_block(), delta_block(1), common), 48_000)
    assert "KARA IS THE KILLER" in karas.text
    assert "KARA IS THE KILLER" not in miras.text


def test_a_block_that_is_built_again_replaces_the_old_text() -> None:
    digester = MemoryDigester(PromptStyle.FULL)
    digester.digest((lock_block(), delta_block(1, ["old"]), delta_block(2)), 48_000)
    rebuilt = replace(delta_block(1, ["new"]), id=BlockId(UUID(int=99)))
    assert "new" in digester.digest((lock_block(), rebuilt, delta_block(2)), 48_000).text


def test_a_block_of_which_only_the_canon_is_held_is_not_taken_for_the_whole_one() -> None:
    blocks = (lock_block(), delta_block(1, ["kept"]), delta_block(2))
    part = replace(blocks[1], payload={"canon_locks": ["kept"]})
    digester = MemoryDigester(PromptStyle.FULL)
    digester.digest(blocks, 48_000)
    assert digester.digest((blocks[0], part, blocks[2]), 48_000).compacted == PromptRange(1, 7)


def test_canon_locks_are_kept_once() -> None:
    blocks = (
        lock_block(["Iron burns the fae."]),
        delta_block(1, ["The bridge is gone.", "iron  burns the FAE."]),
        delta_block(2, ["the bridge is gone.", "Mara is dead."]),
    )
    digest = MemoryDigester(PromptStyle.FULL).digest(blocks, 0)
    assert digest.lines[1].endswith('"canon_locks":["The bridge is gone.","Mara is dead."]}')
    assert digest.compacted == PromptRange(1, 14)


def test_old_deltas_of_which_only_the_canon_was_read_count_as_left_out() -> None:
    whole = memory(12)
    old = [replace(one, payload={"canon_locks": one.payload["canon_locks"]}) for one in whole[1:7]]
    digest = MemoryDigester(PromptStyle.FULL).digest([whole[0], *old, *whole[7:]], 100_000)
    assert digest.left_out == ("Details of prompts 1–42 (their canon locks are kept)",)
    assert "Canon of chunk 3." in digest.lines[1]
    assert digest.lines[2:] == MemoryDigester(PromptStyle.FULL).digest(whole, 100_000).lines[7:]


def test_the_lock_is_whole_at_any_budget() -> None:
    whole = MemoryDigester(PromptStyle.FULL).digest((lock_block(),), 100_000)
    assert MemoryDigester(PromptStyle.FULL).digest((lock_block(),), 0) == whole
    assert whole.compacted is None


def test_tokens_of_a_digest_are_at_least_those_of_its_text() -> None:
    for style in PromptStyle:
        for budget in (0, 2_000, 100_000):
            digest = MemoryDigester(style).digest(memory(40), budget)
            assert digest.tokens >= estimate_tokens(digest.text, style)


# --- summaries and the lock -----------------------------------------------------------------------


def test_a_summary_keeps_its_chunk_whole_and_shrinks_memory() -> None:
    mine = session(prompts=147, boundary=140)
    context = builder(7_000).summary(
        known_to_gm(Story(mine, memory(20), play(134, 147))), PromptRange(141, 147)
    )
    assert context.tokens <= 7_000
    assert context.left_out[0].startswith("Details of prompts 1–")
    chunk = text_of(context, SegmentName.RECENT_CONTEXT_CHUNK)
    assert all(f"{prompt}) gm{prompt}w0" in chunk for prompt in range(141, 148))
    assert "140) gm140w0" not in chunk


def test_a_chunk_that_does_not_fit_is_summarised_in_parts_of_whole_prompts() -> None:
    mine, events = session(prompts=7), play(1, 7, words=500)
    part = builder(9_000).fitting_chunk(known_to_gm(Story(mine, memory(0), events)), PromptRange(1, 7))
    assert part.first == 1 < part.last < 7
    assert builder(9_000).summary(known_to_gm(Story(mine, memory(0), events)), part).left_out == ()


def test_a_single_prompt_that_does_not_fit_is_shortened_for_its_summary() -> None:
    mine, events = session(prompts=7), play(1, 7, words=2_000)
    part = builder(6_000).fitting_chunk(known_to_gm(Story(mine, memory(0), events)), PromptRange(1, 7))
    assert part == PromptRange(1, 1)
    context = builder(6_000).summary(known_to_gm(Story(mine, memory(0), events)), part)
    assert context.tokens <= 6_000
    assert context.is_shortened


def test_tab_1_at_its_limits_fits_the_defaults() -> None:
    full = Tab1Inputs(world="w" * 5_000, chapter="c" * 5_000)
    for style, budget in ((PromptStyle.FULL, 48_000), (PromptStyle.SMALL, 6_992)):
        assert builder(budget, style).world_lock(session(characters=7), full).tokens <= budget


def test_a_builder_may_serve_some_roles_only() -> None:
    build = ContextBuilder(ModelAssignments({AgentRole.CHARACTER: choice()}))
    blocks: tuple[MemoryBlock, ...] = ()
    assert build.character(known(session(), blocks, ()), "Go?").tokens > 0


def test_memory_is_made_compact_once_for_as_many_inputs_as_take_turns() -> None:
    digester = MemoryDigester(PromptStyle.FULL)
    blocks = memory(3)
    made = [digester.digest(blocks, budget) for budget in range(1_000, 1_016)]
    assert [digester.digest(blocks, budget) for budget in range(1_000, 1_016)] == made
    assert all(digester.digest(blocks, 1_000 + turn) is digest for turn, digest in enumerate(made))
    digester.digest(blocks, 9_000)
    assert digester.digest(blocks, 1_015) is made[15]
    assert digester.digest(blocks, 1_000) is not made[0], "the one that was asked for longest ago goes"


def test_only_the_blocks_of_the_last_memory_are_kept_compact() -> None:
    digester = MemoryDigester(PromptStyle.FULL)
    old, new = delta_block(1), delta_block(2)
    kept = digester.compact(old)
    assert digester.compact(old) is kept
    digester.digest((lock_block(), new), 48_000)
    assert digester.compact(old) == kept
    assert digester.compact(old) is not kept


def test_an_input_of_exactly_the_budget_is_sent_and_one_token_more_is_refused() -> None:
    fits = reply(builder(48_000), 0, 0)
    assert reply(builder(fits.tokens), 0, 0).messages == fits.messages
    with pytest.raises(StoryEngineError) as caught:
        reply(builder(fits.tokens - 1), 0, 0)
    assert caught.value.code is ErrorCode.LLM_CONTEXT_OVERFLOW


def test_what_an_identity_leaves_to_play_is_a_thousand_tokens_and_not_one_less() -> None:
    made = builder(48_000).character(known(session(), (), ()), "").tokens
    alone = replace(session(), slots=(Slot.RED,))
    builder(made + 1_000).require_room(alone, TAB1)
    with pytest.raises(StoryEngineError, match=f"{made + 1_000:,}"):
        builder(made + 999).require_room(alone, TAB1)


@pytest.mark.parametrize(("style", "share"), [(PromptStyle.FULL, 75), (PromptStyle.SMALL, 25)])
def test_memory_has_its_share_of_what_is_left_and_never_more_than_is_free(
    style: PromptStyle, share: int
) -> None:
    setup = AgentSetup.load(AgentRole.CHARACTER, choice(1_100, style), MemoryDigester(style))
    assert setup.memory_budget(100, 0) == share * 10
    assert setup.memory_budget(100, 950) == 50
    capped = replace(setup, choice=replace(setup.choice, max_memory_tokens=40))
    assert capped.memory_budget(100, 0) == 40


def test_where_texts_are_shortened_no_prompt_is_left_that_is_in_memory() -> None:
    mine = session(prompts=9, boundary=7)
    events = [
        *play(1, 7, words=4),
        event(8, "eight " * 4_000),
        event(8, "reply " * 4_000, Slot.RED),
        *play(9, 9),
    ]
    made = builder(6_000).character(known(mine, memory(1), events), "On.")
    recent = text_of(made, SegmentName.RECENT_CONTEXT)
    assert not any(f"{prompt}) gm" in recent for prompt in range(1, 8))
    assert "9) gm9w0" in recent
    assert made.left_out[-2:] == (
        "Recent context of prompts 1–7 (they are in memory)",
        "The middle of long texts in prompts 8 (not yet in memory; no room)",
    )
