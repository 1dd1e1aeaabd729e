"""Kills while something is stored beside the play of a chapter: a correction of canon, a test call.
Each is stored once or not at all, and the chapter is played on afterwards."""

from contextlib import suppress
from functools import partial
from uuid import UUID

import psycopg

from tests.e2e.terminal.game_master import TRIES, GameMaster
from tests.torture.kills.kill_commands import begin_active, on_screen, play_on, session_called
from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_orders import Point
from tests.torture.kills.kill_storage import clear, drawn, play_one, rows, served, steps_of

_CORRECTIONS = (
    "SELECT payload->>'correction' FROM memory_block WHERE session_id = '{}' AND ordinal > 0 ORDER BY ordinal"
)
_SENT = "SELECT count(*) FROM llm_content WHERE text LIKE '%{}%'"
_TESTS = (
    "SELECT state, count(artifact_id) FROM llm_request LEFT JOIN llm_artifact USING (session_id, request_id)"
    " WHERE kind = 'test' GROUP BY request_id, state"
)


CORRECTIONS = 12
"""How many a chapter gets here: what all its corrections are in tokens has a bound."""


def kill_corrections(torturer: Torturer, most: int | None = None) -> None:
    """Kill `storyengine correct` at its own steps, in as many chapters as that takes."""
    session_id = _begin_chapter(torturer, "Not killed")
    common = set(steps_of(torturer, "sessions"))
    of_correcting = steps_of(torturer, "correct", str(session_id), "Nothing is lit.")
    own = [step for step in of_correcting if step not in common]
    assert "correction stored: under way" in own
    points = drawn(own, torturer, most)
    for first in range(0, len(points), CORRECTIONS):
        _kill_in_chapter(torturer, f"Corrected {first}", points[first : first + CORRECTIONS])
    clear(torturer)
    torturer.forget()


def _kill_in_chapter(torturer: Torturer, title: str, points: list[Point]) -> None:
    """Kill at these points; then the chapter is told with every correction."""
    session_id = _begin_chapter(torturer, title)
    for number, point in enumerate(points):
        _kill_correction(torturer, point, session_id, f"{title}: lamp {number} is out.")
    stored = _corrections(torturer, session_id)
    play_one(torturer, title)
    torturer.look()
    assert _corrections(torturer, session_id) == stored
    with served(torturer) as url:
        assert all(rows(url, _SENT.format(text)) > [(0,)] for text in stored), "a correction was never sent"


def _begin_chapter(torturer: Torturer, title: str) -> UUID:
    play_one(torturer, title, until="end of the chapter wanted: before")
    return UUID(session_called(torturer, title))


def _kill_correction(torturer: Torturer, point: Point, session_id: UUID, text: str) -> None:
    before = _corrections(torturer, session_id)
    ended, done = torturer.run([point], "correct", str(session_id), text, most_turns=1)
    assert done.killed == [point]
    torturer.look()
    now = _corrections(torturer, session_id)
    assert now in (before, [*before, text]), "half a correction, or two"
    assert ended.returncode or now != before, "it says that it is stored, and it is not"
    if now == before:
        again, _ = torturer.run([], "correct", str(session_id), text)
        assert again.returncode == 0, again.stderr
        assert _corrections(torturer, session_id) == [*before, text]


def _corrections(torturer: Torturer, session_id: UUID) -> list[str]:
    with served(torturer) as url:
        return [str(text) for (text,) in rows(url, _CORRECTIONS.format(session_id))]


def kill_test_calls(torturer: Torturer, most: int | None = None) -> None:
    """Kill while the page of models makes a test call and stores it: it is there with its call, or not."""
    title = "Tested"
    begin_active(torturer, title)
    done = on_screen(torturer, [], _test, partial(_is_stored, torturer, 1), _REFUSED, names_steps=True)
    first, last = done.steps.index("reply asked for"), done.steps.index("test done: before")
    steps = list(dict.fromkeys(done.steps[first:last]))
    steps += [f"test done: {when}" for when in ("before", "under way", "after")]
    for point in drawn(steps, torturer, most):
        before = len(_tests(torturer))
        on_screen(torturer, [point], _test, partial(_is_stored, torturer, before + 1), _REFUSED)
        torturer.look()
        now = _tests(torturer)
        assert len(now) in (before, before + 1)
        assert all(kept == ("done", 1) for kept in now), "half a test call"
    play_on(torturer, title)
    torturer.look()
    clear(torturer)
    torturer.forget()


_REFUSED = "not recorded"


def _test(window: GameMaster) -> None:
    window.wait_for("being played")  # a page that comes before the chapter is open records no test
    for _ in range(TRIES):
        window.press("f6")  # lost where it comes while the chapter is still being opened
        with suppress(AssertionError):
            window.wait_for("Test (F8)", window.patience / TRIES)
            break
    window.wait_for("Test (F8)")
    window.press("f8")


def _is_stored(torturer: Torturer, count: int) -> bool:
    try:
        return len(_tests(torturer)) == count
    except psycopg.OperationalError:  # killed in this moment
        return False


def _tests(torturer: Torturer) -> list[tuple[object, ...]]:
    """Return the state of each test call, and how many calls are on record for it."""
    with served(torturer) as url:
        return rows(url, _TESTS)
