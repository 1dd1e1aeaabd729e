"""Condensed memory in inputs: in the place of details that a budget would leave out, and nowhere else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from core.config.models.model_config import PromptStyle
from core.context.memory_digest import CompactBlock, Digest, MemoryDigester
from core.domain.audience import EVERYONE, Audience
from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from core.domain.story.condensed import (
    NOT_CONDENSING,
    CondensedMemory,
    Condensing,
    Strategy,
    next_run,
    still_condensed,
)
from core.domain.story.memory import BlockType, MemoryBlock, canon_of, correction_payload
from tests.core.values.sessions import NOW, SESSION_ID, delta_payload, memory

ADAPTIVE, FIXED = Condensing(Strategy.ADAPTIVE), Condensing(Strategy.FIXED)
RED = Audience.of([Slot.RED])
BLOCKS = memory(8)
DELTAS = BLOCKS[1:]
ALL = frozenset(block.place for block in DELTAS)


def condensed(sources: Sequence[MemoryBlock], text: str = "in short", number: int = 1) -> CondensedMemory:
    payload = {**delta_payload(), "canon_locks": [], "character_actions": []}
    payload["major_events"] = [{"event": text, "cause": "", "effect": "", "participants": []}]
    return CondensedMemory(
        id=BlockId(UUID(int=9_000_000 + number)),
        session_id=SESSION_ID,
        first=sources[0].first,
        last=sources[-1].last,
        audience=sources[0].audience,
        sources=tuple(block.id for block in sources),
        payload=payload,
        created_at=NOW,
    )


OLD, NEW = condensed(DELTAS[:4], "the old days", 1), condensed(DELTAS[4:8], "the new days", 2)


def digest(
    budget: int,
    *told: CondensedMemory,
    condensing: Condensing = ADAPTIVE,
    blocks: Sequence[MemoryBlock] = BLOCKS,
    style: PromptStyle = PromptStyle.FULL,
) -> Digest:
    return MemoryDigester(style, condensing).digest((*blocks, *(one.block for one in told)), budget)


WHOLE = digest(10**6).tokens


def test_where_all_details_have_room_nothing_is_told_condensed() -> None:
    assert digest(WHOLE, OLD, NEW) == digest(WHOLE, condensing=NOT_CONDENSING)


@pytest.mark.parametrize("budget", [0, 200, WHOLE // 2, WHOLE - 1, WHOLE])
@pytest.mark.parametrize("style", PromptStyle)
def test_without_the_strategy_or_without_condensed_memory_each_byte_is_as_before(
    budget: int, style: PromptStyle
) -> None:
    plain = digest(budget, condensing=NOT_CONDENSING, style=style)
    assert digest(budget, OLD, NEW, condensing=NOT_CONDENSING, style=style) == plain
    for condensing in (ADAPTIVE, FIXED):
        assert digest(budget, condensing=condensing, style=style) == plain


def test_the_details_that_have_no_room_are_told_condensed_beside_their_locks() -> None:
    plain, made = digest(WHOLE - 1, condensing=NOT_CONDENSING), digest(WHOLE - 1, OLD, NEW)
    assert plain.compacted == PromptRange(1, 28)
    assert plain.shrunk == {block.place for block in DELTAS[:4]}
    told = [line for line in made.lines if "days" in line]
    assert [line for line in made.lines if line not in told] == list(plain.lines)
    assert len(told) == 1
    assert "the old days" in told[0]
    assert made.lines.index(told[0]) < next(i for i, line in enumerate(made.lines) if "event5w0" in line)
    assert made.compacted is None
    assert made.shrunk == frozenset()
    assert made.tokens == plain.tokens + made.condensed[0].tokens
    [part] = made.condensed
    assert part.prompts == PromptRange(1, 28)
    assert part.ratio is not None
    assert 0 < part.ratio < 1
    [note] = made.left_out
    assert note.startswith(f"Prompts 1–28 are told condensed, to {part.ratio:.0%} of ")


def test_the_oldest_condensed_memory_goes_first_and_a_digest_gets_as_small_as_without() -> None:
    least = digest(0, condensing=NOT_CONDENSING)
    assert digest(0, OLD, NEW) == least
    one_fits = digest(least.tokens + digest(WHOLE - 1, OLD).condensed[0].tokens + 2, OLD, NEW)
    assert [str(part.prompts) for part in one_fits.condensed] == ["29–56"]
    assert one_fits.compacted == PromptRange(1, 28)
    assert one_fits.shrunk == {block.place for block in DELTAS[:4]}


def test_the_strategy_fixed_has_condensed_memory_at_any_budget() -> None:
    made = digest(10**6, OLD, condensing=FIXED)
    assert [str(part.prompts) for part in made.condensed] == ["1–28"]
    assert not any("event4w0" in line for line in made.lines)
    assert any("Canon of chunk 3." in line for line in made.lines)
    assert sum("event" in line for line in made.lines) == len(DELTAS) - 4 + 1


def test_a_correction_keeps_its_place_behind_what_it_corrects() -> None:
    correction = replace(
        DELTAS[3],
        id=BlockId(UUID(int=5)),
        type=BlockType.CANON_CORRECTION,
        first=28,
        ordinal=1,
        payload=correction_payload("The bell is whole.", 28),
    )
    made = digest(WHOLE, OLD, blocks=(*BLOCKS[:5], correction, *BLOCKS[5:]), condensing=FIXED)
    found = [number for number, line in enumerate(made.lines) if "old days" in line or "bell" in line]
    assert found == [found[0], found[0] + 1]
    assert "old days" in made.lines[found[0]]


def test_deltas_that_were_read_as_canon_alone_are_told_condensed_without_a_ratio() -> None:
    old = tuple(canon_of(block) if block in DELTAS[:4] else block for block in BLOCKS)
    made = digest(10**6, OLD, blocks=old)
    assert made.compacted is None
    assert made.left_out == ("Prompts 1–28 are told condensed (their canon locks are kept)",)


def test_a_very_small_model_reads_phrases() -> None:
    made = digest(10**6, OLD, condensing=FIXED, style=PromptStyle.SMALL)
    assert "the old days" in made.text
    assert "{" not in made.text


def private(block: MemoryBlock, number: int) -> MemoryBlock:
    return replace(block, id=BlockId(UUID(int=6_000_000 + number)), audience=RED, ordinal=1)


def test_a_run_is_of_one_audience_and_of_wanted_deltas_that_are_not_condensed() -> None:
    assert next_run(BLOCKS, (), frozenset()) == ()
    assert next_run(BLOCKS, (), ALL) == DELTAS[:4]
    assert next_run(BLOCKS, (OLD,), ALL) == DELTAS[4:8]
    assert next_run(BLOCKS, (OLD, NEW), ALL) == ()
    assert next_run(BLOCKS, (), frozenset(block.place for block in DELTAS[2:4])) == DELTAS[2:4]
    assert next_run(BLOCKS, (), frozenset({DELTAS[1].place})) == ()
    assert next_run(BLOCKS, (), frozenset(block.place for block in DELTAS[:3]), 4) == ()
    own = [private(block, number) for number, block in enumerate(DELTAS[:3])]
    mixed = sorted((*BLOCKS, *own), key=lambda block: block.place)
    wanted = ALL | {block.place for block in own}
    assert next_run(mixed, (), wanted) == DELTAS[:4]
    assert next_run(mixed, (OLD, NEW), wanted) == tuple(own)


def test_no_run_goes_across_a_correction() -> None:
    correction = replace(DELTAS[0], type=BlockType.CANON_CORRECTION, first=7, ordinal=1)
    assert next_run((*BLOCKS[:2], correction, *BLOCKS[2:]), (), ALL) == DELTAS[1:5]


def test_it_survives_what_leaves_its_sources_in_canon_and_nothing_else() -> None:
    again = replace(DELTAS[1], id=BlockId(UUID(int=7)), revision=2)
    assert OLD.survives((), None)
    assert OLD.survives((DELTAS[6], private(DELTAS[1], 1)), 28)
    assert not OLD.survives((again,), None)
    assert not OLD.survives((), 27)
    assert still_condensed((OLD, NEW), BLOCKS[:8]) == (OLD,)
    assert OLD.block.audience == EVERYONE
    assert json.dumps(OLD.block.payload) == json.dumps(OLD.payload)


def test_the_deltas_of_condensed_memory_are_looked_up_once_and_not_for_each_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks, looked_at = memory(200, 2), []
    told = [condensed(blocks[first : first + 4], number=first) for first in range(1, 190, 4)]
    covers = CompactBlock.covers

    def counted(one: CompactBlock, delta: CompactBlock) -> bool:
        looked_at.append(delta)
        return covers(one, delta)

    monkeypatch.setattr(CompactBlock, "covers", counted)
    assert len(digest(0, *told, blocks=blocks).lines) < len(blocks)
    assert len(looked_at) <= 2 * len(blocks)
