"""Texts longer than their room: the longest are shortened, and keep their beginning and their end."""

import re

import pytest

from core.agents.role.shortening import fit_events, shortened
from core.config.models.model_config import PromptStyle
from core.context.tokens import characters_for, estimate_tokens
from core.domain.slot import Slot
from core.domain.story.transcript import render_event
from tests.core.values.sessions import event, play, session

FULL = PromptStyle.FULL


def cost(text: str) -> int:
    return estimate_tokens(text, FULL)


def test_of_a_text_its_first_two_thirds_and_its_last_third_are_kept_about_a_note() -> None:
    text = "a" * 3_000 + "b" * 3_000
    made = shortened(text, 300, FULL)
    first, note, last = re.fullmatch(r"(a+)\n\[… ([\d,]+) characters left out …\]\n(b+)", made).groups()  # type: ignore[union-attr]  # it matches
    assert len(first) == pytest.approx(2 * len(last), abs=3)
    assert int(note.replace(",", "")) == len(text) - len(first) - len(last)
    assert 200 < cost(made) <= 300


@pytest.mark.parametrize("tokens", [0, 1, 8])
def test_where_there_is_hardly_any_room_some_letters_are_kept(tokens: int) -> None:
    made = shortened("abcdefgh" * 100, tokens, FULL)
    assert made.startswith("abcde")
    assert made.endswith("fgh")


def test_what_fits_is_left_as_it_is_and_nothing_is_said() -> None:
    events = play(1, 3)
    room = sum(cost(render_event(one, session())) + 2 for one in events)
    assert fit_events(events, session(), room, FULL).events == tuple(events)
    assert fit_events(events, session(), room, FULL).left_out == ()
    assert fit_events(events, session(), room - 1, FULL).left_out != ()
    assert fit_events([], session(), 0, FULL).events == ()


def test_the_longest_texts_are_shortened_to_one_length_and_the_others_left() -> None:
    short, long, longer = "s " * 50, "l " * 1_000, "x " * 2_000
    events = [event(1, short), event(1, long, Slot.RED), event(2, longer), event(2, short, Slot.RED)]
    made = fit_events(events, session(), 700, FULL)
    assert [one.text == kept.text for one, kept in zip(events, made.events, strict=True)] == [
        True,
        False,
        False,
        True,
    ]
    lengths = [cost(one.text) for one in made.events[1:3]]
    assert lengths[0] == pytest.approx(lengths[1], abs=15)
    assert 550 < sum(cost(render_event(one, session())) for one in made.events) <= 700
    assert made.left_out == ("The middle of long texts in prompts 1, 2 (not yet in memory; no room)",)


def test_only_where_each_would_keep_hardly_a_sentence_the_oldest_prompts_go() -> None:
    events = play(1, 10)
    made = fit_events(events, session(), 500, FULL)
    kept = sorted({one.prompt_index for one in made.events})
    assert kept == list(range(11 - len(kept), 11))
    assert 2 <= len(kept) <= 4
    assert made.left_out[0] == f"Prompts 1–{kept[0] - 1} (not yet in memory; no room)"
    newest = fit_events(events, session(), 1, FULL)
    assert {one.prompt_index for one in newest.events} == {10}, "the newest prompt always stays"


def test_a_prompt_stays_where_there_is_just_room_for_the_least_of_each_text() -> None:
    events = [event(n, "word " * 400, slot) for n in range(1, 5) for slot in (None, Slot.RED)]
    for room, first in ((6 * 60, 2), (6 * 60 - 1, 3)):
        made = fit_events(events, session(), room, FULL)
        assert min(one.prompt_index for one in made.events) == first


def test_a_reply_whose_prompt_is_in_memory_stays_where_there_is_room() -> None:
    events = [event(1, "word " * 400, Slot.RED), event(2, "word " * 400)]
    assert [one.prompt_index for one in fit_events(events, session(), 120, FULL).events] == [1, 2]
    assert [one.prompt_index for one in fit_events(events, session(), 119, FULL).events] == [2]


def test_how_many_characters_a_number_of_tokens_takes() -> None:
    assert characters_for(100, "") == 1
    assert characters_for(0, "text") == 1
    assert characters_for(1, "a") == 1
    assert characters_for(10, "a" * 349) == 34
    assert characters_for(10, "語" * 100) == 6


def test_where_old_prompts_go_and_the_rest_fits_it_stays_whole() -> None:
    events = [event(prompt, "word " * 20) for prompt in range(1, 11)]
    made = fit_events(events, session(), 100, FULL)
    assert [one.prompt_index for one in made.events] == [8, 9, 10]
    assert made.events == tuple(events[7:])
    assert made.left_out == ("Prompts 1–7 (not yet in memory; no room)",)
