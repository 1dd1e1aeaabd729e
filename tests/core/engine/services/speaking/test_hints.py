"""Hints at characters that were silent for long: by rule, from canon alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.domain.audience import Audience
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.memory import MemoryBlock
from core.engine.services.speaking.hints import Hint, hints_of
from tests.core.values.sessions import NOW, delta_block, lock_block, session

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
LAST = {RED: (20, NOW), ORANGE: (11, NOW - timedelta(minutes=12)), YELLOW: (19, NOW - timedelta(minutes=1))}
ON = replace(session(prompts=20, names={ORANGE: "Joss"}), hint_after=9)


def test_nothing_is_hinted_at_until_the_gm_wants_it() -> None:
    assert hints_of(replace(ON, hint_after=0), LAST, ()) == ()


def test_a_character_without_a_reply_for_as_many_prompts_as_the_gm_named_is_pointed_out() -> None:
    assert hints_of(ON, LAST, ()) == (Hint(ORANGE, 9),)
    assert hints_of(replace(ON, hint_after=10), LAST, ()) == ()
    assert hints_of(ON, LAST, ())[0].text == "silent for 9 prompts"


def test_one_that_never_replied_is_silent_since_the_beginning() -> None:
    last = {RED: LAST[RED], ORANGE: (20, NOW)}
    assert hints_of(ON, last, ()) == (Hint(YELLOW, 20),)


def test_half_an_hour_of_play_counts_as_long_once_everyone_could_have_had_a_turn() -> None:
    last = {**LAST, ORANGE: (17, NOW - timedelta(minutes=31))}
    assert hints_of(ON, last, ()) == (Hint(ORANGE, 3, 31),)
    assert hints_of(ON, last, ())[0].text == "silent for 3 prompts (31 minutes)"
    assert hints_of(ON, {**last, ORANGE: (18, NOW - timedelta(minutes=31))}, ()) == ()


@pytest.mark.parametrize(
    "without", [replace(ON, away={ORANGE: 0}), replace(ON, present=Audience.of([RED, YELLOW]))]
)
def test_those_who_are_not_in_the_scene_are_not_pointed_out(without: Session) -> None:
    assert hints_of(without, LAST, ()) == ()


def chunk(number: int, *threads: str) -> MemoryBlock:
    block = delta_block(number)
    listed = [{"thread": one, "stakes": "", "next_likely_trigger": ""} for one in threads]
    return replace(block, payload={**block.payload, "unresolved_threads": listed})


def test_a_hint_names_the_open_thread_of_the_character_else_the_newest() -> None:
    first, second = chunk(1, "Who rang the bell?"), chunk(2, "Where is the key?", "What does Joss owe?")
    assert hints_of(ON, LAST, [lock_block(), first, second])[0].thread == "What does Joss owe?"
    assert hints_of(ON, LAST, [lock_block(), first, chunk(2)])[0].thread == "Who rang the bell?"
    assert hints_of(ON, LAST, [first, second])[0].text.endswith("; open: What does Joss owe?")


def test_a_thread_whose_words_only_have_the_letters_of_a_name_does_not_name_it() -> None:
    named = replace(ON, names={ORANGE: "Al"})
    threads = chunk(1, "Who rang the bell?", "The reeve is also in debt.", "What is AL’s debt?")
    assert hints_of(named, LAST, [threads])[0].thread == "What is AL’s debt?"
    assert hints_of(named, LAST, [chunk(1, "Who rang it?", "Is it also paid?")])[0].thread == "Who rang it?"
    assert (
        hints_of(replace(ON, names={ORANGE: "灰"}), LAST, [chunk(1, "Why?", "彼は灰を")])[0].thread
        == "彼は灰を"
    )


def test_memory_of_any_shape_makes_no_hint_fail() -> None:
    odd = replace(delta_block(1), payload={"unresolved_threads": [None, {"thread": 3}, {}, "Why?"]})
    assert hints_of(ON, LAST, [odd])[0].thread == "Why?"
    assert hints_of(ON, LAST, [replace(odd, payload={"unresolved_threads": "no list"})])[0].thread == ""
