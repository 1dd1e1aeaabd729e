"""What a character may know is decided in one place."""

from dataclasses import replace

import pytest

from core.context.visibility import Knowledge, known_to
from core.domain.cast import Cast, Character
from core.domain.slot import Slot
from tests.core.samples import TAB1, delta_block, lock_block, play, session


def test_everybody_knows_the_whole_story_and_only_its_own_identity() -> None:
    mine, blocks, recent = session(prompts=9, boundary=7), [lock_block(), delta_block(1)], play(8, 9)
    for slot in mine.slots:
        known = known_to(Cast(mine, TAB1)[slot], mine, blocks, recent)
        assert (list(known.blocks), list(known.recent)) == (blocks, recent)
        assert known.character.identity == TAB1.identities.get(slot, "")


def test_what_a_character_knows_cannot_be_made_past_the_gate() -> None:
    with pytest.raises(TypeError, match="known_to"):
        Knowledge(character=Character(slot=Slot.RED), session=session(), blocks=(), recent=(), gate=object())


def test_less_of_what_is_known_is_still_known() -> None:
    known = known_to(Cast(session(), TAB1)[Slot.RED], session(), [lock_block()], play(1, 1))
    assert replace(known, recent=()).recent == ()
