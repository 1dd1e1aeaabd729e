"""What is drawn from play is known to those who heard it, and its reading is told no more than they know."""

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from tests.core.rooms.bank_room import calls, extractions, fact, items, read, room, scan, texts_of_calls
from tests.core.rooms.takes_model import done, play

pytestmark = pytest.mark.anyio


async def test_what_only_some_heard_is_known_to_them_alone() -> None:
    secret = fact("the brass key", name="A whisper", text="It was whispered.")
    made = room(scan(facts=[secret]))
    alone = Audience.of([Slot.RED])
    async with made.opened() as session:
        await done(session, await session.submit_prompt(Slot.RED, "Quietly?", heard_by=alone))
        await play(session, "Two?", "Three?")
        await read(session)
        wide, private = await extractions(session)
        assert (wide.audience, private.audience) == (EVERYONE, alone)
        assert (wide.text, private.text) == ("2.1.0 2.1.1 3.1.0 3.1.1", "1.1.0 1.1.1 3.1")
        [item] = await items(session)
        assert (item.label, item.evidence[0].prompt_index) == (alone, 1)


@pytest.mark.parametrize("whispered", [1, 3])
async def test_what_another_audience_heard_counts_again_after_another_take_of_the_last_prompt(
    whispered: int,
) -> None:
    """Items depend on the last prompt of their chunk, also where those who know them did not hear it."""
    first = fact("the brass key", name="The key", text="It is of brass.", prompt=1)
    last = fact("under the mill", name="Hiding place", text="Something lies under the mill.", prompt=3)
    made = room(scan(facts=[first, last]))
    async with made.opened() as session:
        for number in (1, 2, 3):
            heard_by = Audience.of([Slot.RED]) if number == whispered else None
            await done(session, await session.submit_prompt(Slot.RED, f"{number}?", heard_by=heard_by))
        await read(session)
        before = {(item.label, item.evidence[0].prompt_index) for item in await items(session)}
        assert len(before) == 2
        await done(session, await session.takes.reroll())
        await read(session)
        assert {(item.label, item.evidence[0].prompt_index) for item in await items(session)} == before
        await session.takes.choose(1)
        await read(session)
        assert {(item.label, item.evidence[0].prompt_index) for item in await items(session)} == before
        assert {item.take for item in await items(session)} == {1}


async def test_who_is_called_by_another_name_is_told_to_a_reading_for_that_character_alone() -> None:
    made = room(scan(), other_names={Slot.RED: "The Fox", Slot.ORANGE: "The Owl"})
    async with made.opened() as session:
        alone = Audience.of([Slot.RED])
        await done(session, await session.submit_prompt(Slot.RED, "The Fox bows?", heard_by=alone))
        await play(session, "The Fox and The Owl rob the bank?", "Three?")
        await read(session)
        wide, private = await texts_of_calls(session, await calls(session))
        assert "The Fox" in wide
        assert "(also" not in wide
        assert "- Agent Red (also The Fox)\n- Agent Orange\n" in private


async def test_a_line_that_is_never_sent_is_left_out_of_what_is_read_and_the_rest_is_read() -> None:
    made = room(scan(facts=[fact(prompt=2)]))
    async with made.opened() as session:
        await play(session, "The vault is open?")
        await session.scene.set_status(list(await session.reads.canon()), ContextStatus.NEVER)
        await play(session, "Two?", "Three?")
        await read(session)
        [text] = await texts_of_calls(session, await calls(session))
        assert "2) Two?" in text
        assert "vault" not in text
        [item] = await items(session)
        assert item.evidence[0].prompt_index == 2
