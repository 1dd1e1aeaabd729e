"""What an item says has the names and numbers of play, whatever a model says."""

import pytest

from tests.core.rooms.bank_room import answer, calls, fact, items, read, room, scan
from tests.core.rooms.takes_model import play

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("change", "text", "kept"),
    [
        ("contradicts", "The brass key was sold to Quill.", "The brass key lies with 7 thieves."),
        ("contradicts", "7 thieves have it.", "7 thieves have it."),
        (
            "adds",
            "The mill is sold.",
            "The brass key lies under the mill. The brass key lies with 7 thieves.",
        ),
        ("adds", "", "The brass key lies under the mill. The brass key lies with 7 thieves."),
        (
            "adds",
            "7 thieves left the brass key under the mill.",
            "7 thieves left the brass key under the mill.",
        ),
    ],
)
async def test_an_item_brought_up_to_date_has_no_name_or_number_of_the_models_own_and_keeps_those_of_both(
    change: str, text: str, kept: str
) -> None:
    later = fact("the 7 thieves", prompt=4, name="The key", text="The brass key lies with 7 thieves.")
    made = room(
        scan(last="4)", facts=[later]),
        scan(facts=[fact()]),
        answer("bank_match", {"n1": "a"}),
        answer("bank_update", {"n1": {"change": change, "text": text}}),
    )
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?", "And the 7 thieves?", "5?", "6?")
        await read(session)
        assert [one.text for one in await items(session)] == [kept]


async def test_what_an_item_says_beyond_play_is_replaced_by_the_words_of_the_event() -> None:
    made = room(
        scan(facts=[fact(text="The brass key lies under the mill of Quill."), fact(text="9 brass keys.")])
    )
    async with made.opened() as session:
        await play(session, "One?", "Two?", "Three?")
        await read(session)
        [item] = await items(session)
        assert item.text == item.evidence[0].words
        [call] = await calls(session)
        assert call.left_out[0] == (
            "2 items had no evidence and were dropped: “The brass key (its text)”, “The brass key (its text)”"
        )
