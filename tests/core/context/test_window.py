"""The picture of an input: shares, how parts were made shorter, and what is kept of that with a call."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.agents.context_builder import ContextBuilder
from core.context.lore import NOTE_ROLE
from core.context.segments import Compression, CompressionMethod
from core.context.window import (
    WINDOW_NOTES,
    WindowPart,
    kept_share,
    notes_of,
    parts_of,
    read_notes,
    read_places,
    window_text,
)
from core.gateway.call_records import input_contents
from core.text.delimiters import SegmentName
from tests.core.values.sessions import choices, known, memory, play, session

EXTRACTED = Compression(CompressionMethod.EXTRACTION, 4_000)


def test_every_part_has_a_letter_in_the_bar_and_a_line_with_its_share() -> None:
    parts = [WindowPart("SYSTEM_PROMPT", 500), WindowPart("STRUCTURED_MEMORY", 1_000, EXTRACTED)]
    assert window_text(parts, ["Details of prompts 1–7"], 3_000).splitlines() == [
        "About 1,500 of 3,000 tokens (50 %)",
        "[" + "A" * 10 + "B" * 20 + "·" * 30 + "]",
        "A SYSTEM_PROMPT              system          500  33 %",
        "B STRUCTURED_MEMORY          memory        1,000  67 %",
        "  extraction, from 4,000 to 1,000 tokens (25 %)",
        "Left out: Details of prompts 1–7",
    ]


def test_a_part_that_a_budget_may_reduce_says_in_which_order_and_what_speaks_for_it() -> None:
    context = ContextBuilder(choices()).character(
        known(session(prompts=30, boundary=28), memory(4), ()), "Now?"
    )
    lines = window_text(parts_of(context)).splitlines()
    said = {
        lines[number - 1][2:].split()[0]: one.strip() for number, one in enumerate(lines) if one[0] == " "
    }
    assert said == {
        "STRUCTURED_MEMORY": "reduced first, newest 2 prompts ago",
        "RECENT_CONTEXT": "reduced second, up to date",
    }
    [recalled] = [
        replace(one, relevance=0.75, name=SegmentName.RECALLED)
        for one in context.segments
        if one.name is SegmentName.RECENT_CONTEXT
    ]
    [part] = parts_of(replace(context, segments=(replace(recalled, recency=None),)))
    assert part.place == "reduced third, 75 % for this prompt"


@given(st.lists(st.integers(0, 200_000), max_size=40), st.integers(0, 300_000))
def test_the_bar_has_the_same_length_and_a_cell_for_each_part_whatever_the_tokens(
    tokens: list[int], most: int
) -> None:
    parts = [WindowPart(f"P{number}", count) for number, count in enumerate(tokens)]
    lines = window_text(parts, (), most).splitlines()
    assert len(lines[1]) == 62
    assert len(lines) == 2 + len(parts)
    assert max(map(len, lines)) <= 62
    if 0 < len(tokens) <= 26 and all(tokens):
        assert {line[0] for line in lines[2:]} <= set(lines[1])


def test_what_was_made_shorter_is_kept_with_the_call_and_only_then() -> None:
    def made(budget: int) -> tuple[list[str], str]:
        mine = session(prompts=30, boundary=28)
        context = ContextBuilder(choices(budget)).character(known(mine, memory(4), play(22, 30)), "Now?")
        manifest, parts = input_contents(context)
        notes = {part.hash: part.text for part in parts}
        names = [one for one in (WINDOW_NOTES, NOTE_ROLE) if f'"{one}"' in manifest.text]
        note = parts[-1].text if names else ""
        assert note == notes_of(context.segments)
        assert len(notes) == len({one.text for one in context.segments}) + bool(names)
        assert read_notes(note) == tuple(part for part in parts_of(context) if part.compression)
        return names, note

    assert made(48_000) == ([], "")
    names, note = made(4_000)
    assert names == [WINDOW_NOTES, NOTE_ROLE]
    assert "extraction" in note


def test_how_recent_and_relevant_parts_were_is_kept_with_a_call_that_recalled_something() -> None:
    mine = session(prompts=30, boundary=28)
    context = ContextBuilder(choices()).character(known(mine, memory(4), play(22, 30)), "Now?")
    assert notes_of(context.segments) == "", "without a bank a call has no more to keep than before"
    [recent] = [one for one in context.segments if one.name is SegmentName.RECENT_CONTEXT]
    recalled = replace(recent, name=SegmentName.RECALLED, relevance=0.75, recency=None)
    context = replace(context, segments=(*context.segments, recalled))
    manifest, parts = input_contents(context)
    assert f'["note","{WINDOW_NOTES}",' in manifest.text
    places = read_places(parts[-1].text)
    assert places == {part.name: part.place for part in parts_of(context) if part.place}
    assert places["RECALLED"] == "reduced third, 75 % for this prompt"
    assert read_notes(parts[-1].text) == ()


@given(st.text() | st.binary().map(repr))
def test_notes_from_outside_are_read_without_trouble(text: str) -> None:
    assert isinstance(read_notes(text), tuple)
    assert isinstance(read_places(text), dict)


def test_what_is_no_note_is_left_out() -> None:
    listed = '[["A","extraction",0,0],["B","melted",5,1],["C","summary",5,2],["D","summary",true,1],7,["E"]]'
    assert read_notes(listed) == (WindowPart("C", 2, Compression(CompressionMethod.SUMMARY, 5)),)
    assert read_notes('[["A","summary",5,9]]') == read_notes("[" * 100_000) == ()
    places = '[["LORE",-1,5],["LORE",true,5],["LORE",1,101],[5,1,1],["OTHER",1,1],["RECALLED",null,null]]'
    assert read_places(places) == {"OTHER": "", "RECALLED": "reduced third"}


def test_what_is_left_is_the_share_of_all_that_was_made_shorter() -> None:
    assert kept_share(()) is None
    half = WindowPart("A", 500, Compression(CompressionMethod.EXTRACTION, 1_000))
    assert kept_share([half, WindowPart("B", 1_000, EXTRACTED)]) == 0.3
