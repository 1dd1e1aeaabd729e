"""What F7 says of the window of a call."""

from dataclasses import replace

from core.agents.context_builder import ContextBuilder
from core.context.lore import NOTE_ROLE
from core.context.window import WINDOW_NOTES, notes_of, parts_of
from core.text.delimiters import SegmentName
from storyengine_tui.screens.calls.inputs.call_rows import Segment, calls_of, passages_of_call
from storyengine_tui.screens.calls.inputs.passages import window_parts
from tests.core.values.sessions import choices, known, memory, play, session
from tests.tui.screens.calls.test_calls_screen import artifact


def test_a_call_says_once_what_was_left_out_of_its_input() -> None:
    made = artifact(1, left_out=("The memory bank (it did not answer in time)",))
    [call] = calls_of([made], [])
    segments = [Segment("user", "THE_PROMPT", "hash")]
    shown = passages_of_call(call, session(prompts=1), segments, {"hash": "Now?"})
    assert "The window" in [passage.text for passage in shown]
    assert "\n".join(passage.text for passage in shown).count("did not answer in time") == 1


def test_a_call_that_recalled_something_shows_what_was_shown_before_it_was_made() -> None:
    mine = session(prompts=30, boundary=28)
    context = ContextBuilder(choices()).character(known(mine, memory(4), play(22, 30)), "Now?")
    [recent] = [one for one in context.segments if one.name is SegmentName.RECENT_CONTEXT]
    recalled = replace(recent, name=SegmentName.RECALLED, relevance=0.75, recency=None)
    segments = (*context.segments, recalled)
    stored = [(one.role, one.name.value, one.text) for one in segments]
    shown = window_parts(context.prompt_version, [*stored, (NOTE_ROLE, WINDOW_NOTES, notes_of(segments))])
    assert [(part.name, part.place) for part in shown] == [
        (part.name, part.place) for part in parts_of(replace(context, segments=segments))
    ]
    assert shown[-1].place == "reduced third, 75 % for this prompt"
    assert not any(part.place for part in window_parts(context.prompt_version, stored))
