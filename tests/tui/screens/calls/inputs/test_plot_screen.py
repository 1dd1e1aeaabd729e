"""The inputs of a chapter over time: how long they were, and what was left of what was made shorter."""

from typing import Any

from textual.pilot import Pilot

from core.context.window import WINDOW_NOTES
from core.domain.requests.request import Usage
from core.domain.slot import Slot
from core.engine.engine import Engine
from storyengine_tui.screens.calls.inputs.call_rows import CallRow, Segment
from storyengine_tui.screens.calls.inputs.plot_screen import (
    ALL_WHOLE,
    NONE_YET,
    InputLength,
    PlotScreen,
    length_of,
    passages_of_plot,
)
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, until
from tests.tui.screens.calls.test_calls_screen import artifact, calls_shown


async def make_played(engine: Engine) -> None:
    """Store a chapter with six replies, of which the last prompts are longer."""
    session = await engine.open(await make_active(engine, 1))
    for number in range(2, 7):
        await session.wait(
            await session.submit_prompt(Slot.RED, f"Prompt {number}. " + "So it goes on. " * 40 * number)
        )
    await session.aclose()


def test_the_length_is_that_of_the_service_or_an_estimate_of_what_was_sent() -> None:
    parts = [Segment("user", "USER_PROMPT", "a"), Segment("note", WINDOW_NOTES, "b")]
    texts = {"a": "word " * 100, "b": '[["RECENT_CONTEXT","extraction",1000,250]]'}
    counted = CallRow(1, artifact(1), None)
    assert length_of(counted, parts, texts) == InputLength(1_000, 0.25)
    uncounted = CallRow(1, artifact(1, usage=Usage()), None)
    estimate = length_of(uncounted, parts[:1], texts)
    assert 100 < estimate.tokens < 200
    assert estimate.kept is None


def test_the_plots_say_in_words_what_they_show() -> None:
    assert [one.text for one in passages_of_plot([])] == [NONE_YET]
    tokens, whole = passages_of_plot([InputLength(1_000, None), InputLength(3_000, None)])
    assert tokens.text.endswith("Least 1,000, most 3,000, the newest 3,000 tokens")
    assert whole.text.endswith(ALL_WHOLE)
    _, shorter = passages_of_plot([InputLength(1_000, None), InputLength(3_000, 0.25)])
    assert shorter.text.endswith("1 of 2 inputs, least 25 %")
    assert "100 % │█" in shorter.text


def test_picture_of_the_plots(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_played)

    async def show(pilot: Pilot[Any]) -> None:
        await calls_shown(pilot)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, PlotScreen))
        view = pilot.app.screen.query_one(PassageView)
        await until(pilot, lambda: view.lines.height > 3)
        assert "the newest" in view.lines.text

    assert pictures_match(desktop.app(), run_before=show)
