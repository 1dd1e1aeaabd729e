"""A wrong value in memory that the GM edits is told in plain words, with its place."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import ValidationError

from core.agents.answers.plain_problem import in_plain_words
from core.domain.errors import IllegalCommandError
from core.domain.story.memory import TurnDelta
from core.engine.session.session_handle import SessionHandle
from tests.core.rooms.takes_model import CHUNK, play, room


@asynccontextmanager
async def played() -> AsyncIterator[SessionHandle]:
    """A chapter with one block of prompts in memory."""
    async with room().opened() as session:
        await play(session, *(f"Prompt {number}" for number in range(CHUNK)))
        yield session


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("edited", "said"),
    [
        ({"canon_locks": "The gate."}, "canon_locks: expected a list ([…]), found “The gate.”."),
        (
            {"canon_locks": ["The gate.", 7], "major_events": [None]},
            "major_events, entry 1: expected an object ({…}), found null. "
            "canon_locks, entry 2: expected a text in quotation marks, found the number 7.",
        ),
        (
            {"character_actions": [{"agent_slot": 1, "name": "", "did": "", "intent": "", "result": []}]},
            "character_actions, entry 1, result: expected a text in quotation marks, found an empty list.",
        ),
        ({"location_updates": True}, "location_updates: expected an object ({…}), found true."),
    ],
    ids=["list", "two", "text", "object"],
)
async def test_a_wrong_value_is_said_with_its_place(edited: dict[str, object], said: str) -> None:
    async with played() as session:
        [*_, block] = await session.reads.memory_blocks()
        with pytest.raises(IllegalCommandError) as refused:
            await session.takes.edit_block(CHUNK, json.dumps({**block.payload, **edited}))
        assert refused.value.message == f"That is not valid memory. {said}"


@pytest.mark.anyio
async def test_a_part_that_is_missing_is_named_and_a_list_is_no_memory() -> None:
    async with played() as session:
        [*_, block] = await session.reads.memory_blocks()
        less = {name: value for name, value in block.payload.items() if name != "canon_locks"}
        said = r"memory\. canon_locks: expected a list .*, found nothing\.$"
        with pytest.raises(IllegalCommandError, match=said):
            await session.takes.edit_block(CHUNK, json.dumps(less))
        with pytest.raises(IllegalCommandError, match="all of it has to be one object"):
            await session.takes.edit_block(CHUNK, json.dumps([block.payload]))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("9" * 5_000, "it has a number that is too large, which cannot be stored."),
        ("1e999", "it has a number that is too large, which cannot be stored."),
        ("NaN", "it has NaN, which cannot be stored."),
        ("[" * 50_000 + "]" * 50_000, "it has too many lists inside each other."),
    ],
    ids=["digits", "infinite", "not a number", "deep"],
)
async def test_a_value_that_no_store_takes_is_refused_also_in_a_part_of_another_name(
    value: str, said: str
) -> None:
    async with played() as session:
        [*_, block] = await session.reads.memory_blocks()
        edited = f'{json.dumps({**block.payload})[:-1]}, "weather": {value}}}'
        with pytest.raises(IllegalCommandError) as refused:
            await session.takes.edit_block(CHUNK, edited)
        assert refused.value.message == f"That is not valid memory: {said}"


@pytest.mark.anyio
@pytest.mark.parametrize("other", ["canon_locks", "canon_locks\\u0000", "canon_\\ud800locks"])
async def test_a_name_that_stands_twice_is_refused_since_its_first_value_would_be_lost(other: str) -> None:
    async with played() as session:
        [*_, block] = await session.reads.memory_blocks()
        edited = json.dumps({**block.payload}).replace(
            '"canon_locks"', f'"{other}": ["Lost."], "canon_locks"'
        )
        with pytest.raises(IllegalCommandError, match="one object has “canon_locks” twice"):
            await session.takes.edit_block(CHUNK, edited)


def test_numbers_names_and_long_texts_are_told_in_plain_words() -> None:
    wrong = {
        "memory_type": "lock",
        "range": {"prompt_count_in_chunk": 0},
        "character_actions": [{"agent_slot": 9}],
        "canon_locks": f"One\n{'word ' * 40}",
    }
    with pytest.raises(ValidationError) as refused:
        TurnDelta.model_validate(wrong)
    said = [in_plain_words(TurnDelta, detail) for detail in refused.value.errors()]
    assert "memory_type: expected “turn_delta”, found “lock”." in said
    assert "range, prompt_count_in_chunk: expected a whole number of 1 or more, found the number 0." in said
    assert (
        "character_actions, entry 1, agent_slot: expected a whole number from 0 to 7, found the number 9."
        in said
    )
    assert "canon_locks: expected a list ([…]), found “One word word word word word word word …”." in said


def test_a_list_that_is_too_short_is_said_and_hostile_names_and_endless_numbers_are_cut() -> None:
    shift = {"between": ["Mira"], "change": "", "evidence": ""}
    wrong = {"relationship_shifts": [shift], "canon_locks": [int("9" * 400)]}
    with pytest.raises(ValidationError) as refused:
        TurnDelta.model_validate(wrong)
    said = [in_plain_words(TurnDelta, detail) for detail in refused.value.errors()]
    assert any(
        line.startswith("relationship_shifts, entry 1, between: List should have at least 2") for line in said
    )
    assert any(f"found the number {'9' * 39}…." in line for line in said)
    of_name = {"type": "string_type", "loc": ("\x1b[2J" + "x" * 200,), "input": 1}
    line = in_plain_words(TurnDelta, of_name)
    assert "\x1b" not in line
    assert len(line) < 120
