"""The rules of the queue, held against what the database noted of it; nothing of the engine is used here."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final, LiteralString

from tests.torture.queue.audit import Connection, RowChange, changes

Row = Mapping[str, Any]

RUNS_IN: Final = {"lock": "LOCKING", "summary": "SUMMARIZING", "reply": "ACTIVE", "narrative": "NARRATING"}
"""The kinds of the play, and the state of a chapter in which each is taken."""
ANYWHERE: Final = "assist"
BESIDE: Final = {ANYWHERE: "", "afterthought": "ACTIVE"}
"""The kinds beside the play, likewise; help with a text is taken in any state."""
SETTLED: Final = ("done", "cancelled")
LEVELS: Final = ("high", "normal", "low")
_A_MOMENT: Final = timedelta(milliseconds=5)
"""Between looking at the clock and storing the time of it."""
_ONE_ANSWER: Final = ("lock", "reply", "summary", "assist")

_ANSWERS: LiteralString = """
SELECT request_id::text, kind, (SELECT count(*) FROM llm_artifact call
    WHERE call.session_id = asked.session_id AND call.request_id = asked.request_id AND error_code IS NULL)
FROM llm_request asked WHERE state = 'done'
"""
_TOLD: LiteralString = """
SELECT metadata->>'request_id', role, count(*) FROM event WHERE metadata ? 'request_id' GROUP BY 1, 2
"""
_PROMPTS: LiteralString = """
SELECT prompt_index, (SELECT count(DISTINCT event.prompt_index) FROM canon
    JOIN event USING (session_id, prompt_index, take)
    WHERE session_id = session.id AND role = 'user' AND event.prompt_index <= session.prompt_index)
FROM session
"""


@dataclass(slots=True)
class QueueFigures:
    """Figures of a run. Waits are in calls that were made meanwhile, of all chapters."""

    requests: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    takes: int = 0
    """Requests given to a model, repeated tries among them."""
    calls: int = 0
    """Places taken at the account."""
    put_back: int = 0
    """Calls beside the play that made room, or that a kill interrupted."""
    failed: int = 0
    dead: int = 0
    most_at_once: int = 0
    longest_wait: Counter[str] = field(default_factory=Counter)
    """By level, at most: from being ready to having a place."""
    passed: Counter[str] = field(default_factory=Counter)
    """Likewise: calls that were no more urgent, were taken later and had a place before."""
    confirmed: int = 0
    lost: int = 0


def check(connection: Connection, places: int, confirmed: Collection[str]) -> QueueFigures:
    """Raise AssertionError when a rule is broken anywhere in the run."""
    noted = changes(connection)
    figures = QueueFigures(confirmed=len(set(confirmed)))
    requests = [change for change in noted if change.of == "llm_request"]
    _check_settled(requests, figures, set(confirmed))
    by_chapter: dict[str, list[RowChange]] = {}
    for change in noted:
        if change.of != "lane_call":
            row = change.after or change.before
            by_chapter.setdefault(row.get("session_id") or row["id"], []).append(change)
    for of_chapter in by_chapter.values():
        _check_takes(of_chapter, figures)
    lane = [change for change in noted if change.of == "lane_call"]
    _check_places(lane, places, figures)
    _measure_waits(requests, lane, figures)
    _check_answers(connection)
    return figures


def _check_settled(requests: Iterable[RowChange], figures: QueueFigures, confirmed: set[str]) -> None:
    """Each request is settled exactly once, and nothing happens to it afterwards."""
    now: dict[str, Row] = {}
    for change in requests:
        assert change.after, f"a request was deleted: {change.before}"
        before, after = change.before.get("state"), change.after["state"]
        assert before not in SETTLED, f"settled twice: {change.before} became {change.after}"
        now[change.after["request_id"]] = change.after
        figures.put_back += (before, after) == ("processing", "pending")
        figures.failed += after == "failed" != before
        figures.dead += after == "dead" != before
    open_ = [row for row in now.values() if row["state"] not in SETTLED]
    assert not open_, f"{len(open_)} never settled, such as {open_[0]}"
    figures.requests, figures.kinds = len(now), Counter(row["kind"] for row in now.values())
    figures.lost = len(confirmed - now.keys())
    assert not figures.lost, "a request that was confirmed is not there"


def _check_takes(of_chapter: Iterable[RowChange], figures: QueueFigures) -> None:
    """At every take, nothing that could be taken was more urgent; one of the play and one beside it run."""
    state, rows = "DRAFT_TAB1", dict[str, Row]()
    for _, together in groupby(of_chapter, key=lambda change: change.transaction):
        taken: list[Row] = []
        for change in together:
            if change.of == "session":
                state = change.after["state"]
                continue
            row = change.after
            rows[row["request_id"]] = row
            if row["state"] == "processing" and change.before.get("state") != "processing":
                taken.append(row)
        for row in taken:
            figures.takes += 1
            others = [other for other in rows.values() if _could_be_taken(other, row, state, rows)]
            first = min([row, *others], key=_order)
            assert first is row, f"{row} was taken before {first}, in {state}"
        for kinds in (RUNS_IN, BESIDE):
            at_work = [r for r in rows.values() if r["state"] == "processing" and r["kind"] in kinds]
            assert len(at_work) <= 1, f"taken at the same time: {at_work}"
        for done in [key for key, row in rows.items() if row["state"] in SETTLED]:
            del rows[done]


def _order(row: Row) -> tuple[int, str]:
    return row["priority"], row["request_id"]


def _could_be_taken(other: Row, taken: Row, state: str, rows: Mapping[str, Row]) -> bool:
    """Whether another request waited, was due, and is of the same sort as the one that was taken."""
    kinds = RUNS_IN if taken["kind"] in RUNS_IN else BESIDE
    if other["state"] != "pending" or other["kind"] not in kinds:
        return False
    if other["kind"] != ANYWHERE and kinds[other["kind"]] != state:
        return False
    if other["kind"] == "reply":
        return not any(row["kind"] == "reply" and row["state"] == "failed" for row in rows.values())
    due = other["retry_after"]
    if kinds is RUNS_IN or due is None:
        return True
    return datetime.fromisoformat(due) <= datetime.fromisoformat(taken["updated_at"]) - _A_MOMENT


def _check_places(lane: Iterable[RowChange], places: int, figures: QueueFigures) -> None:
    """An account has no more calls than it takes; a place goes to the most urgent, then the oldest."""
    rows: dict[str, Row] = {}
    for change in lane:
        row = change.after
        if not row:
            rows.pop(change.before["request_id"], None)
            continue
        rows[row["request_id"]] = row
        if not row["is_running"] or change.before.get("is_running"):
            continue
        figures.calls += 1
        at_work = [other for other in rows.values() if other["is_running"]]
        assert len(at_work) <= places, f"more calls than the account takes: {at_work}"
        figures.most_at_once = max(figures.most_at_once, len(at_work))
        before = [r for r in rows.values() if r is not row and (r["is_running"] or _turn(r) < _turn(row))]
        assert len(before) < places, f"{row} had a place before {before}"


def _turn(row: Row) -> tuple[int, datetime, str]:
    return row["level"], datetime.fromisoformat(row["waiting_since"]), row["request_id"]


def _measure_waits(requests: Iterable[RowChange], lane: Iterable[RowChange], figures: QueueFigures) -> None:
    """Count the calls that were made while each request waited, and those that went before it."""
    waits: dict[str, _Wait] = {}
    calls: list[tuple[int, int]] = []
    """Of each call that was made: when its request was taken, and its level."""
    began = [c for c in lane if c.after and c.after["is_running"] and not c.before.get("is_running")]
    for change in sorted((*requests, *began), key=lambda one: one.seq):
        row, before = change.after, change.before.get("state")
        wait = waits.setdefault(row["request_id"], _Wait())
        if change.of == "lane_call":
            name = LEVELS[row["level"]]
            if wait.ready is not None:
                figures.longest_wait[name] = max(figures.longest_wait[name], len(calls) - wait.ready)
            taken, counted = wait.taken
            passed = sum(level >= row["level"] and at > taken for at, level in calls[counted:])
            figures.passed[name] = max(figures.passed[name], passed)
            calls.append((taken, row["level"]))
            wait.ready, wait.taken = None, (change.seq, len(calls))  # the next call of the same try
        elif row["state"] == "pending" != before:
            wait.ready = len(calls)
        elif row["state"] == "processing" != before:
            wait.kind, wait.taken = row["kind"], (change.seq, len(calls))
            wait.ready = len(calls) if before is None else wait.ready


@dataclass(slots=True)
class _Wait:
    """For what a request waits now: its turn in its chapter, or a place."""

    kind: str = ""
    ready: int | None = None
    """How many calls had been made when it began to wait."""
    taken: tuple[int, int] = (0, 0)
    """When it was taken, and how many calls had been made then."""


def _check_answers(connection: Connection) -> None:
    """Check that finished work has its one answer on record, and is in the story once."""
    told = Counter({(key, role): n for key, role, n in connection.execute(_TOLD).fetchall()})
    for key, kind, answers in connection.execute(_ANSWERS).fetchall():
        if kind in _ONE_ANSWER:
            assert answers == 1, f"{answers} answers of the {kind} {key}, which is done"
        if kind == "reply":
            assert (told[key, "user"], told[key, "agent"]) == (1, 1), f"the prompt {key} is told {told[key]}"
        if kind == "afterthought":
            assert told[key, "agent"] <= 1, f"the afterthought {key} is told twice"
    for index, prompts in connection.execute(_PROMPTS).fetchall():
        assert index == prompts, "a prompt is told twice, or not"
