"""Characters that are away for a while: the scene without them, and their return."""

from dataclasses import replace

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.errors import IllegalCommandError
from core.domain.session.session import LATEST_RETURN, PAUSED, absence_text, read_away, require_here
from core.domain.slot import Slot
from tests.core.values.sessions import session

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


def test_while_nobody_is_away_the_scene_is_those_present() -> None:
    mine = session(prompts=3)
    assert mine.here is EVERYONE
    assert replace(mine, present=Audience.of([RED])).here == Audience.of([RED])


def test_a_character_that_is_away_neither_hears_nor_is_called_next() -> None:
    mine = replace(session(prompts=3), away={ORANGE: 0})
    assert mine.here == Audience.of([RED, YELLOW])
    assert mine.hearers_of(RED, None) == Audience.of([RED, YELLOW])
    assert mine.speaker_after(RED) is YELLOW


def test_the_gm_may_let_one_that_is_away_hear_a_prompt() -> None:
    mine = replace(session(prompts=3), away={ORANGE: 0})
    assert mine.hearers_of(RED, Audience.of([ORANGE])) == Audience.of([RED, ORANGE])


def test_a_character_is_back_at_its_prompt_by_itself_and_away_again_when_that_is_undone() -> None:
    mine = replace(session(prompts=3), away={ORANGE: 6})
    assert mine.is_away(ORANGE)
    played = mine.played_to(5, RED)
    assert not played.is_away(ORANGE)
    assert played.here is EVERYONE
    assert played.next_slot is ORANGE
    assert mine.played_to(4, RED).next_slot is YELLOW
    assert replace(played, prompt_index=4).is_away(ORANGE)


def test_the_rotation_calls_one_who_is_not_in_the_scene_before_one_who_is_away() -> None:
    mine = replace(session(), present=Audience.of([RED]), away={RED: 0})
    assert mine.speaker_after(RED) is ORANGE


def test_a_prompt_to_one_that_is_away_is_refused_with_what_to_do() -> None:
    mine = replace(session(prompts=3, names={ORANGE: "Joss"}), away={ORANGE: 12})
    require_here(mine, RED)
    with pytest.raises(IllegalCommandError, match="Joss is away until prompt 12; bring Joss back first"):
        require_here(mine, ORANGE)


def test_who_is_away_is_read_back_from_json_and_nothing_else_is() -> None:
    assert read_away({"1": PAUSED, "2": 12, "3": 0}) == {RED: PAUSED, ORANGE: 12, YELLOW: 0}
    for wrong in ({"9": 1}, {"2": PAUSED - 1}, {"2": "12"}, {"2": True}, {"2": LATEST_RETURN + 1}, {"x": 1}):
        with pytest.raises(ValueError, match=r"."):
            read_away(wrong)


def test_one_that_is_paused_in_the_library_is_away_at_every_prompt() -> None:
    mine = replace(session(prompts=3), away={ORANGE: PAUSED})
    assert mine.is_away(ORANGE)
    assert replace(mine, prompt_index=900).is_away(ORANGE)
    assert absence_text(PAUSED) == "away while it is paused in the library"
