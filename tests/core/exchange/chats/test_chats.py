"""A chat of SillyTavern becomes a chapter, and nothing of it that counts is lost."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, NOBODY
from core.domain.session.prompt_block import LONGEST_PROMPT_BLOCK, BlockPlace
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.exchange.chats.chapter_of_chat import NO_WORDS, ChatChapter, chapter_of
from core.exchange.chats.chat_log import LONGEST_MESSAGE, MOST_SWIPES, read_chat
from core.exchange.session_export import from_json, to_json
from core.library.refusal import FileRefusedError
from tests.core.values.sessions import NOW

HEADER = {"user_name": "GM", "character_name": "Kara", "create_date": "2024-6-5 @15h 07m 03s 9ms"}


def lines(*records: object) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"name": "GM", "is_user": True, "is_system": False, "mes": text, **fields}


def says(name: str, text: str, *swipes: str, **fields: Any) -> dict[str, Any]:
    listed = {"swipes": list(swipes), "swipe_id": swipes.index(text)} if swipes else {}
    return {"name": name, "is_user": False, "is_system": False, "mes": text, **listed, **fields}


def chapter(*records: object) -> ChatChapter:
    return chapter_of(read_chat(lines(HEADER, *records)), "A chat", NOW)


def told(made: ChatChapter, take: int | None = None) -> list[tuple[int, Role, Slot | None, str]]:
    """Return the story that counts, or one take of each prompt, without audiences."""
    canon = dict(enumerate(made.body.takes, start=1))
    return [
        (event.prompt_index, event.role, event.slot, event.text)
        for event in made.body.events
        if event.take == (canon.get(event.prompt_index, 1) if take is None else take)
    ]


def test_messages_become_prompts_and_replies_and_names_the_cast() -> None:
    made = chapter(user("Who is there?"), says("Kara", "I am."), user("And you?"), says("Joss", "Me too."))
    assert told(made) == [
        (1, Role.USER, None, "Who is there?"),
        (1, Role.AGENT, Slot.RED, "I am."),
        (2, Role.USER, None, "And you?"),
        (2, Role.AGENT, Slot.ORANGE, "Me too."),
    ]
    session = made.body.session
    assert session.state is SessionState.DRAFT_TAB1, "the GM writes world, chapter and identities first"
    assert session.roster == ((Slot.RED, "Kara"), (Slot.ORANGE, "Joss"))
    assert (session.title, session.prompt_index, session.next_slot) == ("A chat", 2, Slot.RED)


WHOLE = {
    "title": "",
    "gen_started": "2024-06-05T15:07:00.000Z",
    "gen_finished": "2024-06-05T15:07:09.000Z",
    "send_date": "June 5, 2024 3:07pm",
    "swipe_info": [{"send_date": "June 5, 2024 3:07pm", "gen_started": None, "extra": {"api": "x"}}] * 2,
    "extra": {"api": "x", "model": "y", "token_count": 7, "display_text": "Shown.", "bookmark_link": "b"},
    "force_avatar": "/thumbnail?type=avatar&file=Joss.png",
    "original_avatar": "Joss.png",
    "of_another_program": {"deep": [1.50]},
}
"""Every field of a message that a chat may have besides name, text and swipes."""
METADATA = {
    "note_prompt": "Rain.",
    "note_interval": 1,
    "note_depth": 4,
    "main_chat": "Kara",
    "integrity": "x",
}
HEADERS = (
    {**HEADER, "chat_metadata": METADATA},
    {"user_name": "unused", "character_name": "unused", "chat_metadata": METADATA},
    None,
)
"""Those of a chat, of a newer one or of a group, and none, as older groups have it."""


@pytest.mark.parametrize("header", HEADERS, ids=["of a chat", "newer", "none"])
def test_a_chat_of_any_age_and_of_a_group_is_read_with_every_field_that_it_may_have(header: object) -> None:
    records = [
        user("Who is there?", **WHOLE),
        says("Kara", "I am.", "Nobody.", "I am.", **WHOLE),
        says("Joss", "And I.", **WHOLE),
    ]
    made = chapter_of(read_chat(lines(*([header] if header else []), *records)), "A chat", NOW)
    assert list(made.body.session.names.values())[:2] == ["Kara", "Joss"]
    assert [text for *_, text in told(made)] == ["Who is there?", "I am.", "And I."]
    assert (made.prompts, made.replies, made.further_takes) == (1, 2, 1)


def test_the_note_of_a_chat_becomes_a_prompt_block_for_its_characters() -> None:
    def noted(**metadata: object) -> ChatChapter:
        header = {**HEADER, "chat_metadata": metadata}
        return chapter_of(read_chat(lines(header, says("Kara", "I am."))), "A chat", NOW)

    made = noted(note_prompt=" [Rain\x1b[31m, all day.]\r\n", note_interval=1, note_depth=4)
    (block,) = made.body.prompt_blocks.applying(AgentRole.CHARACTER, Slot.RED)
    assert (block.name, block.text, block.place) == ("Author's note", "[Rain, all day.]", BlockPlace.MATERIAL)
    assert not made.body.prompt_blocks.applying(AgentRole.NARRATIVE)
    assert "Its author's note is a prompt block for the characters" in made.report
    off = noted(note_prompt="Rain.", note_interval=0).body.prompt_blocks
    assert (off.blocks[0].text, off.applying(AgentRole.CHARACTER, Slot.RED)) == ("Rain.", ())
    long = noted(note_prompt="x" * (LONGEST_PROMPT_BLOCK + 1))
    assert not long.body.prompt_blocks
    assert "Left out: the author's note, longer than 4,000 characters" in long.report
    for nothing in ({}, {"note_prompt": ""}, {"note_prompt": " \n"}, {"note_prompt": ["Rain."]}):
        none = noted(**nothing)
        assert not none.body.prompt_blocks
        assert not any("author's note" in line for line in none.report)


def test_swipes_become_takes_and_the_one_that_was_chosen_counts() -> None:
    made = chapter(user("Who is there?"), says("Kara", "Nobody.", "I am.", "Nobody.", "We are."))
    assert made.body.takes == (2,)
    assert [told(made, take)[1][3] for take in (1, 2, 3)] == ["I am.", "Nobody.", "We are."]
    assert made.further_takes == 2


def test_swipes_before_one_that_is_blank_are_kept_and_the_last_of_them_counts() -> None:
    failed = says("Kara", "", "I am.", "It is I.", "")
    made = chapter(user("Who is there?"), failed, says("Joss", " ", " "))
    assert told(made) == [(1, Role.USER, None, "Who is there?"), (1, Role.AGENT, Slot.RED, "It is I.")]
    assert [text for *_, text in told(made, 1)] == ["Who is there?", "I am."]


def test_swipes_that_become_no_take_are_counted_in_the_report() -> None:
    kept = chapter(user("Well?"), says("Kara", "No.", "Yes.", "No."), says("Joss", "So?", "So?", "Why?"))
    assert not kept.left_out
    assert not any("Left out" in line for line in kept.report)
    many = [str(number) for number in range(MOST_SWIPES + 3)]
    hidden = says("Kara", "Aside.", "Aside.", "Other.", "Third.", is_system=True)
    made = chapter(user("Well?"), says("Kara", "0", *many), hidden)
    assert (made.further_takes, made.left_out) == (MOST_SWIPES - 1, 5)
    assert any(line.startswith("Left out: 5 further swipes") for line in made.report)


def test_a_number_of_another_swipe_loses_none_of_them() -> None:
    stale = {**says("Kara", "We are.", "I am.", "We are."), "swipe_id": 0}
    made = chapter(user("Who is there?"), stale)
    assert made.body.takes == (2,)
    assert [told(made, take)[1][3] for take in (1, 2)] == ["I am.", "We are."]


def test_a_greeting_answers_a_prompt_without_words() -> None:
    made = chapter(says("Kara", "The lamp is out.", "Good evening.", "The lamp is out."), user("Well?"))
    assert told(made) == [(1, Role.USER, None, NO_WORDS), (1, Role.AGENT, Slot.RED, "The lamp is out.")]
    assert made.body.unsent == {Slot.RED: "Well?"}, "what had no answer yet waits in a panel"


def test_what_the_narrator_says_is_a_line_that_everyone_hears_and_no_one_of_the_cast() -> None:
    narrator = {"extra": {"type": "narrator"}}
    made = chapter(
        says("System", "Night falls.", **narrator),
        user("Who is there?"),
        says("Kara", "I am."),
        says("System", "The lamp goes out.", **narrator),
        says("Kara", "Oh."),
        says("System", "Never shown.", **narrator, is_system=True),
    )
    assert made.body.session.roster == ((Slot.RED, "Kara"),)
    assert told(made) == [
        (0, Role.SYSTEM, None, "Night falls."),
        (1, Role.USER, None, "Who is there?"),
        (1, Role.AGENT, Slot.RED, "I am."),
        (1, Role.SYSTEM, None, "The lamp goes out."),
        (2, Role.USER, None, NO_WORDS),
        (2, Role.AGENT, Slot.RED, "Oh."),
        (2, Role.SYSTEM, None, "Never shown."),
    ]
    assert [event.audience for event in made.body.events if event.role is Role.SYSTEM] == [
        EVERYONE,
        EVERYONE,
        NOBODY,
    ]
    assert "1 hidden message that no character knows, 2 lines of the narrator" in made.report[0]


def test_several_that_answer_one_message_answer_one_prompt() -> None:
    made = chapter(
        user("All of you?"), says("Kara", "Yes."), says("Joss", "No.", "No.", "Never."), says("Kara", "Oh.")
    )
    assert told(made) == [
        (1, Role.USER, None, "All of you?"),
        (1, Role.AGENT, Slot.RED, "Yes."),
        (1, Role.AGENT, Slot.ORANGE, "No."),
        (2, Role.USER, None, NO_WORDS),
        (2, Role.AGENT, Slot.RED, "Oh."),
    ]
    assert made.body.takes == (2, 1)
    assert [text for *_, text in told(made, 1)][:3] == ["All of you?", "Yes.", "Never."]


def test_a_hidden_message_is_a_line_that_no_character_knows() -> None:
    made = chapter(
        user("A"),
        says("Kara", "B"),
        {**user("[scene notes]"), "is_system": True},
        user("C"),
        says("Kara", "D"),
    )
    hidden = [event for event in made.body.events if event.text == "[scene notes]"]
    assert [(event.prompt_index, event.role, event.audience) for event in hidden] == [
        (1, Role.SYSTEM, NOBODY)
    ]
    assert all(event.audience == EVERYONE for event in made.body.events if event not in hidden)


def test_a_line_separator_within_a_message_ends_no_record() -> None:
    document = json.dumps(says("Kara", "One\u2028two."), ensure_ascii=False).encode()
    assert [message.text.split() for message in read_chat(document).messages] == [["One", "two."]]


def test_of_two_messages_without_an_answer_between_them_the_first_is_a_line() -> None:
    made = chapter(user("A"), says("Kara", "B"), user("It is night."), user("C"), says("Kara", "D"))
    assert told(made)[2:5] == [
        (1, Role.SYSTEM, None, "It is night."),
        (2, Role.USER, None, "C"),
        (2, Role.AGENT, Slot.RED, "D"),
    ]


def test_those_for_whom_the_cast_has_no_place_say_lines() -> None:
    records = [says(f"Name {number}", "Here.") for number in range(8) for _ in range(2 if number else 1)]
    made = chapter(*records)
    assert len(made.body.session.slots) == 7
    assert made.without_slot == ("Name 0",)
    assert (0, Role.SYSTEM, None, "Name 0: Here.") in told(made)


def test_a_message_longer_than_a_prompt_comes_in_pieces_and_no_word_is_lost() -> None:
    text = "\n".join(f"line {number} {'word ' * 60}".strip() for number in range(120))
    made = chapter(user(text), says("Kara", "Long."))
    pieces = [event.text for event in made.body.events if event.role is not Role.AGENT]
    assert "\n".join(pieces).split() == text.split()
    assert max(map(len, pieces)) <= made.body.session.limits.prompt


@pytest.mark.parametrize(
    ("stored", "at"),
    [
        ("June 5, 2024 3:07pm", datetime(2024, 6, 5, 15, 7, tzinfo=UTC)),
        ("2024-6-5 @15h 07m 03s 9ms", datetime(2024, 6, 5, 15, 7, 3, 9_000, tzinfo=UTC)),
        ("2024-06-05@15h07m03s", datetime(2024, 6, 5, 15, 7, 3, tzinfo=UTC)),
        ("2024-06-05T15:07:03.009Z", datetime(2024, 6, 5, 15, 7, 3, 9_000, tzinfo=UTC)),
        (1717600023000, datetime(2024, 6, 5, 15, 7, 3, tzinfo=UTC)),
        ("1717600023", datetime(2024, 6, 5, 15, 7, 3, tzinfo=UTC)),
        ("yesterday", NOW),
        (1e300, NOW),
        (True, NOW),
        ([], NOW),
        ("0001-01-01T00:00:00Z", NOW),
    ],
)
def test_the_time_of_a_message_is_that_of_its_prompt(stored: object, at: datetime) -> None:
    made = chapter(user("A", send_date=stored), says("Kara", "B"))
    assert {event.created_at for event in made.body.events} == {at}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "it has no message"),
        (b"\xff\xfe\x00", "not text"),
        (b"{}", "it has no message"),
        (b"[1]", "line 1 is not an object"),
        (b"{", "not valid JSON"),
        (lines(HEADER, {"name": "Kara"}), "line 2 has no message"),
        (lines(HEADER, {"mes": 7}), "the message of line 2 is not a text"),
        (lines(HEADER, says("Kara", "x" * (LONGEST_MESSAGE + 1))), "Line 2 of the chat is longer"),
        (lines(HEADER, user("Only me.")), "No character says anything"),
        (b'{"mes": ' + b"[" * 100_000, "nested deeper"),
        (b'{"mes": "a", "n": ' + b"9" * 10_000 + b"}", "cannot be read"),
    ],
)
def test_what_is_no_chat_is_refused_with_a_sentence(document: bytes, why: str) -> None:
    with pytest.raises(FileRefusedError, match=why) as refused:
        chapter_of(read_chat(document), "A chat", NOW)
    assert refused.value.message.endswith(".")


NAMES = st.sampled_from(["Kara", "kara", "Joss", "", "Agent Red", "x" * 60, "\x1b[31mIda", *"ABCDEFGH"])
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["\x1b]0;title\x07", "[b]bold[/b]", " ", "many words " * 2_500]
)
MESSAGES = st.fixed_dictionaries(
    {"name": NAMES, "mes": TEXTS},
    optional={
        "is_user": st.booleans() | st.none(),
        "is_system": st.booleans(),
        "swipes": st.lists(TEXTS, max_size=4) | st.none() | st.just("no list"),
        "swipe_id": st.integers(-2, 5) | st.text(max_size=2),
        "extra": st.sampled_from([{"type": "narrator"}, {"type": "comment"}, {}, None, "narrator"]),
        "send_date": st.none() | st.integers() | st.text(max_size=20) | st.floats(),
    },
)


@given(st.lists(MESSAGES, max_size=20), TEXTS)
def test_any_chat_becomes_a_chapter_that_is_what_this_program_stores(
    records: list[dict[str, Any]], note: str
) -> None:
    header = {**HEADER, "chat_metadata": {"note_prompt": note}}
    try:
        made = chapter_of(read_chat(lines(header, *records)), "A \x1b[0m title", NOW)
    except FileRefusedError:
        return
    again = from_json(to_json(made.body))
    assert again == made.body

    def words(text: str) -> list[str]:
        return text.split()

    kept = [word for event in made.body.events for word in words(event.text)]
    kept += [word for text in made.body.unsent.values() for word in words(text)]
    for message in read_chat(lines(HEADER, *records)).messages:
        missing = [word for word in words(message.text) if not any(word in one for one in kept)]
        assert not missing, "a word that counts is lost"
    assert _in_order(made.body.events)


def _in_order(events: tuple[Event, ...]) -> bool:
    places = [event.log_place for event in events]
    return places == sorted(places) and len(set(places)) == len(places)
