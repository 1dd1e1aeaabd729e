"""Kills in the engine room: prompts to several, additions and strikes, who is silent or away, proposals for a
text and for a character, a queue that is paused, prompts in it that are moved, edited and taken back, and
work beside the play that makes room. What was begun can be finished, and an answer that is stored is not
asked for again."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from tests.core.library.cards.card_samples import V2
from tests.torture.kills.dying_program import ONE_PLACE
from tests.torture.kills.kill_matrix import MOST_RUNS_IN_VAIN, Torturer
from tests.torture.kills.kill_operations import Operation, give, of, points_of
from tests.torture.kills.kill_orders import Point, Report
from tests.torture.kills.kill_scene import begin_played, end_played
from tests.torture.kills.kill_storage import rows, served
from tests.torture.operations.operations_beside import CUT_SECOND, HANGS

_STATE: Final = """
SELECT (SELECT COALESCE(bool_or(is_paused), false) FROM queue_state),
    prompt_index, adds_unasked, may_be_silent, hint_after, away::text,
    (SELECT count(*) FROM event WHERE session_id = id),
    (SELECT array_agg(take ORDER BY prompt_index) FROM canon WHERE session_id = id),
    (SELECT count(*) FROM llm_request WHERE session_id = id AND kind IN ('assist', 'heartbeat', 'gaps')
        AND state = 'done'),
    (SELECT count(*) FROM llm_request WHERE session_id = id AND kind = 'reply'
        AND state IN ('pending', 'processing', 'failed')),
    (SELECT array_agg((slot, text)::text ORDER BY slot) FROM unsent_text WHERE session_id = id)
FROM session WHERE id = '{}'
"""
"""Whether the queue is paused, and what the operations change in the session."""
_ANSWERS: Final = """
SELECT count(*) FROM llm_artifact
WHERE session_id = '{}' AND (error_code IS NULL OR error_code = 'LLM_INVALID_JSON')
"""
"""What came and was paid for, also where it could not be read and its correction was asked for."""
_PLACES: Final = "SELECT session_id, request_id FROM lane_call"
_CALM: Final = """
[[reply]]
match = { schema = "afterthought" }
payload = { reason = "A second thought.", speaks = true }
"""
_REPLIES: Final = f"""{_CALM}
[[reply]]
match = {{ schema = "text", last = "{CUT_SECOND}", anywhere = "Slot: 2 (" }}
fault = "cut"
[[reply]]
match = {{ schema = "text", anywhere = "{HANGS}" }}
fault = "hang"
times = 1
[[reply]]
match = {{ schema = "gaps", last = "Propose for Kara" }}
fault = "wrong_shape"
"""
_SETTINGS: Final = {
    ONE_PLACE: "1",
    "STORYENGINE_AFTERTHOUGHTS": "1",
    "STORYENGINE_HINTS_BY_MODEL": "true",
    "STORYENGINE_BACKGROUND_BACKOFF": "0.05",
}
"""One addition to a reply, so that none follows on the first; short waits for what a kill interrupted."""
_TIDY: Final = ("operation", "tidy", "{}")
"""Finishes what a kill left, and brings back two prompts without additions, and a queue that runs."""
_DROP_FAILED: Final = ("operation", "drop failed", "{}")
_PLACE: Final = "place"
_ROUND: Final = (
    Operation(("operation", "ask both", "{}"), ("reply", "further reply", _PLACE)),
    Operation(
        ("operation", "leave out", "{}"), ("further reply",), before=(("operation", "cut second", "{}"),)
    ),
    Operation(
        ("operation", "speak up", "{}"),
        ("session stored", "afterthought", "decision", "call on record", "addition"),
    ),
    Operation(("operation", "strike", "{}"), ("take stored",), before=(("operation", "speak up", "{}"),)),
    Operation(("silence", "{}", "--everyone"), ("session stored",), after=(("silence", "{}", "--off"),)),
    Operation(("away", "{}", "Kara"), ("session stored",), after=(("away", "{}", "Kara", "--back"),)),
    Operation(("hint", "{}", "9"), ("session stored",), after=(("hint", "{}", "0"),)),
    Operation(("operation", "point out", "{}"), ("heartbeat",)),
    Operation(("operation", "propose", "{}"), ("assist", "proposal")),
    Operation(("cast", "assist", "Kara", "--in", "{}"), ("gaps", "call on record")),
    Operation(
        ("operation", "make room", "{}"),
        ("assist", "proposal", "reply", "work beside", _PLACE),
        in_vain=2,  # the call that makes room had not begun to stream
    ),
    Operation(("operation", "stop call", "{}"), ("reply failed",), after=(_DROP_FAILED,)),
    Operation(
        _DROP_FAILED,
        ("reply cancelled",),
        before=(("operation", "stop call", "{}"),),
    ),
    Operation(("operation", "pause", "{}"), ("queue paused",)),
    Operation(("operation", "resume", "{}"), ("queue resumed",), before=(("operation", "pause", "{}"),)),
    *(
        Operation(("operation", name, "{}"), kinds, before=(("operation", "pause", "{}"),))
        for name, kinds in (
            ("ask paused", ("reply",)),
            ("move up", ("waiting prompt moved",)),
            ("edit waiting", ("waiting prompt edited",)),
            ("recall", ("reply cancelled",)),
            ("drop waiting", ("reply cancelled",)),
        )
    ),
)


def kill_beside(torturer: Torturer, most: int | None = None) -> None:
    """Kill each operation at the steps of its own: it is done, or it can be given again, or finished."""
    session_id = begin_played(torturer, "In the engine room")
    torturer.environment |= _SETTINGS
    torturer.home.write("kara.json", json.dumps(V2))
    assert torturer.home.call("cast", "import", "kara.json").returncode == 0
    operations = [_tidied(operation) for operation in _ROUND]
    _reply(torturer, _REPLIES)
    for operation, points in points_of(torturer, operations, session_id, most).items():
        for point in points:
            if not any(_kill(torturer, operation, point, session_id) for _ in range(MOST_RUNS_IN_VAIN)):
                torturer.figures.unreached.append(point)
    give(torturer, (("operation", "ask both", "{}"), _TIDY), session_id)
    with served(torturer) as url:
        assert rows(url, _PLACES) == [], "a place that nobody has any more is taken from all others"
    end_played(torturer, session_id)


def _tidied(operation: Operation) -> Operation:
    return replace(operation, after=(*operation.after, _TIDY))


def _kill(torturer: Torturer, operation: Operation, point: Point, session_id: str) -> bool:
    """Kill an operation, repeat it if it had no effect, and finish it; return whether it was killed."""
    give(torturer, operation.before, session_id)
    before, answers = _state(torturer, session_id), _answers(torturer, session_id)
    ended, done = torturer.run([point], *of(operation.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now = _state(torturer, session_id)
    assert ended.returncode or now != before, f"{point}: it says that it is done, and it is not"
    assert operation.command[1] != "ask paused" or now[0], "a queue that is paused stays paused"
    reports: list[Report] = [done]
    if now == before:
        reports += give(torturer, (operation.command,), session_id)
        assert _state(torturer, session_id) != before, f"{point}: given again, and not done"
    _reply(torturer, _CALM)
    reports += give(torturer, operation.after, session_id)
    _reply(torturer, _REPLIES)
    calls = sum(len(report.calls) for report in reports)
    stored = _answers(torturer, session_id) - answers
    assert calls <= stored + operation.in_vain, f"{point}: {calls} calls for {stored} answers"
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _reply(torturer: Torturer, replies: str) -> None:
    torturer.home.write("replies.toml", replies)


def _state(torturer: Torturer, session_id: str) -> Sequence[object]:
    with served(torturer) as url:
        [found] = rows(url, _STATE.format(session_id))
    return found


def _answers(torturer: Torturer, session_id: str) -> int:
    """Return how many answers of models are on record."""
    with served(torturer) as url:
        [(count,)] = rows(url, _ANSWERS.format(session_id))
    assert isinstance(count, int)
    return count
