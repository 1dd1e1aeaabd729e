"""Replies without words: what a model writes, and what of it becomes the story."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.slot import Slot
from core.domain.story.event import LONGEST_REASON, MANNER, REASON, Manner
from core.domain.story.silence import SAYS_NOTHING, Spoken, before_marks, read_spoken
from core.domain.story.transcript import render_event
from tests.core.values.sessions import event, session

FEAR = "She is afraid of Kara."


@pytest.mark.parametrize(
    ("reply", "spoken"),
    [
        ("I nod.", Spoken("I nod.")),
        ("I nod [slowly].\n\nThen I go.", Spoken("I nod [slowly].\n\nThen I go.")),
        ("", Spoken(SAYS_NOTHING, Manner.SILENT)),
        (" \u200b\n", Spoken(SAYS_NOTHING, Manner.SILENT)),
        ("[silent]", Spoken(SAYS_NOTHING, Manner.SILENT)),
        ("**[Silent]**", Spoken(SAYS_NOTHING, Manner.SILENT)),
        (f"[silent] {FEAR}", Spoken(SAYS_NOTHING, Manner.SILENT, FEAR)),
        (f"[silent]\n[why] {FEAR}", Spoken(SAYS_NOTHING, Manner.SILENT, FEAR)),
        (f"[silence: {FEAR}]", Spoken(SAYS_NOTHING, Manner.SILENT, FEAR)),
        (f"[why: {FEAR}]", Spoken(SAYS_NOTHING, Manner.SILENT, FEAR)),
        (
            f"[silent]\n[why] {FEAR}\n\nAnd of the dark.",
            Spoken(SAYS_NOTHING, Manner.SILENT, f"{FEAR} And of the dark."),
        ),
        ("[action] turns the lamp down", Spoken("*turns the lamp down*", Manner.ACTION)),
        ("[action] *turns the\nlamp down*", Spoken("*turns the lamp down*", Manner.ACTION)),
        ("[action] draws [a door]", Spoken("*draws [a door]*", Manner.ACTION)),
        ("[action: draws [a door]]", Spoken("*draws [a door]*", Manner.ACTION)),
        ("[action]", Spoken(SAYS_NOTHING, Manner.SILENT)),
        (f"[action] nods\n[why] {FEAR}", Spoken("*nods*", Manner.ACTION, FEAR)),
        ("[action] nods\n[action] leaves", Spoken("*nods*\n\n*leaves*", Manner.ACTION)),
        (f"I nod. [why] {FEAR}", Spoken("I nod.", None, FEAR)),
        ("I nod.\n[action] leaves", Spoken("I nod.\n\n*leaves*")),
        (f"I nod. [silent] {FEAR}", Spoken("I nod.", None, FEAR)),
    ],
)
def test_a_reply_is_words_an_action_or_silence_and_its_reason_is_apart(reply: str, spoken: Spoken) -> None:
    assert read_spoken(reply) == spoken


@given(
    st.lists(
        st.sampled_from(["[why]", "[silent]", "[why:", "]", "*", "[", "\n", " ", "I nod.", "[action] bows"])
    )
)
def test_what_stands_behind_the_mark_of_a_reason_is_never_part_of_the_story(pieces: list[str]) -> None:
    before = "".join(pieces)
    for mark in ("[why]", "[ WHY ]", "**[why]**", "[why: ", "[silent] ", "\n[Silence]: "):
        spoken = read_spoken(f"{before}{mark}hidden thought")
        assert "hidden" not in spoken.text
        assert "hidden" in spoken.reason


@given(st.text(alphabet="[]whysilentac*:\n I", max_size=60))
def test_what_is_shown_while_a_reply_streams_only_grows_and_has_no_reason(text: str) -> None:
    shown = ""
    for end in range(len(text) + 1):
        now = before_marks(text[:end])
        assert now.startswith(shown)
        shown = now
    assert read_spoken(shown).reason == ""


@pytest.mark.parametrize("text", ["[", "[wh", "**[act", "[silent", "[why] She", "[silent]"])
def test_what_may_become_a_mark_waits_for_its_end(text: str) -> None:
    assert before_marks(f"I nod. {text}") == "I nod. "


def test_what_is_no_mark_is_shown() -> None:
    assert before_marks("I nod [slowly") == "I nod [slowly"


def test_a_reason_has_a_bound() -> None:
    spoken = read_spoken(f"[silent] {'a' * 5_000}")
    assert len(spoken.reason) == LONGEST_REASON
    assert spoken.reason.endswith("…")


def test_the_transcript_says_in_one_line_that_a_character_says_nothing_and_not_why() -> None:
    mine = session(names={Slot.RED: "Joss"})
    silent = read_spoken(f"[silent] {FEAR}")
    said = replace(event(1, silent.text, Slot.RED), metadata=silent.metadata)
    assert render_event(said, mine) == "Joss says nothing."
    assert (said.is_silent, said.reason) == (True, FEAR)
    acted = read_spoken("[action] turns the lamp down")
    assert render_event(replace(said, text=acted.text, metadata=acted.metadata), mine) == (
        "Joss: *turns the lamp down*"
    )


def test_plain_words_leave_the_metadata_of_a_reply_as_it_was() -> None:
    assert read_spoken("I nod.").metadata == {}
    assert read_spoken("[silent] So.").metadata == {MANNER: "silent", REASON: "So."}
