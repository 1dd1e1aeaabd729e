"""Kills while a memory bank is switched on and a chapter is read for it, while vectors are made, also of
texts, while it is switched off or the queue is cleared with work waiting, and while the GM adds, edits,
merges and quotes items, takes that back, changes many items, or the language. Each item is there once, with
its proof; no answer is asked for again."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from tests.e2e.program import chapter_script
from tests.torture.kills.kill_commands import scripted, session_called
from tests.torture.kills.kill_matrix import MOST_RUNS_IN_VAIN, Torturer
from tests.torture.kills.kill_operations import Operation, give, of, points_of
from tests.torture.kills.kill_orders import Point, Report
from tests.torture.kills.kill_scene import end_played
from tests.torture.kills.kill_storage import rows, served

TITLE, PROMPTS = "Banked", 14
"""Two chunks, which are in memory when the bank is switched on."""
_EMPTY: Final = "events = [], people = [], places = [], threads = [], quotes = [], traits = [], states = []"
_FACT: Final = (
    '{{ prompt = {0}, words = "' + TITLE + ', prompt {0}", name = "{1}", text = "{2}", importance = 3 }}'
)
_FACTS: Final = (
    (1, "The lamp", "The lamp of the tower is dark since the storm."),
    (2, "The bell", "A bell rings under the ice at noon."),
    (3, "Broken glass", "The glass of the tower lamp broke in the storm."),
    (8, "The boat", "The oars are missing from the boat of the harbour."),
)
"""What a model finds: of each chunk its own, as words prove a fact in their own prompt alone."""
_TOLD: Final = "The lamp of the tower is dark, and its glass is broken."
_REPLIES: Final = f"""
[[reply]]
match = {{ schema = "bank_scan" }}
payload = {{ {_EMPTY}, facts = [{", ".join(_FACT.format(*fact) for fact in _FACTS)}] }}
[[reply]]
match = {{ schema = "bank_match" }}
payload = {{ n1 = "a" }}
[[reply]]
match = {{ schema = "bank_update" }}
payload = {{ n1 = {{ change = "adds", text = "{_TOLD}" }} }}
"""
_KEPT: Final = Counter(text for _, _, text in _FACTS[:2] + _FACTS[3:]) + Counter([_TOLD])
"""The texts of the items, each once."""
_ITEMS: Final = "SELECT text FROM bank_item WHERE session_id = '{}'"
_WORK: Final = """
SELECT keeps_bank, array(SELECT state FROM llm_request WHERE session_id = id AND kind = 'extraction')
FROM session WHERE id = '{}'
"""
_ANSWERS: Final = """
SELECT count(*) FROM llm_artifact JOIN llm_request USING (session_id, request_id)
WHERE session_id = '{}' AND kind IN ('extraction', 'embedding') AND llm_artifact.error_code IS NULL
"""
_VECTORS: Final = """
SELECT count(*) FROM bank_vector JOIN bank_item USING (session_id, item_id, version) WHERE session_id = '{}'
"""
_VERSIONS: Final = "SELECT item_id, version FROM bank_item WHERE session_id = '{}'"
_TEXTS: Final = "SELECT count(*) FROM piece_vector WHERE session_id = '{}'"
IN_VAIN: Final = 2
_CALLS: Final = ("scan", "match", "update", "vectors")
_READ: Final = Operation(
    ("operation", "keep bank", "{}"),
    ("extraction", "bank", "scan", "match", "update", "call on record", "embedding", "vectors"),
)
_WORK_OFF: Final = ("operation", "work off", "{}")
_STOP: Final = Operation(
    ("operation", "stop keeping", "{}"), ("bank switched off",), before=(("bank", "on", "{}"),)
)
_CLEAR: Final = Operation(
    ("queue", "clear"),
    ("extraction",),
    before=(("queue", "pause"), ("bank", "on", "{}")),
    after=(("queue", "resume"),),
)
_SEARCH: Final = Operation(("operation", "prepare search", "{}"), ("embedding", "vectors", "call on record"))
_ITEMS_CHANGED: Final = ("items changed",)
_MERGE: Final = ("operation", "merge items", "{}")
_UNDO: Final = ("bank", "undo", "{}")
_CHANGES: Final = {
    Operation(("operation", "change items", "{}"), _ITEMS_CHANGED): None,
    Operation(("operation", "add item", "{}"), _ITEMS_CHANGED): 1,
    Operation(("operation", "edit item", "{}"), _ITEMS_CHANGED): 1,
    Operation(("operation", "keep quote", "{}"), _ITEMS_CHANGED): 1,
    Operation(_MERGE, _ITEMS_CHANGED, after=(_UNDO,)): 2,
    Operation(_UNDO, _ITEMS_CHANGED, before=(_MERGE,)): 2,
    Operation(("bank", "redo", "{}"), _ITEMS_CHANGED, before=(_MERGE, _UNDO), after=(_UNDO,)): 2,
}
"""How many items each changes; None: all there are."""
_TELL: Final = Operation(("operation", "change language", "{}"), ("session stored",))
_TOLD_IN: Final = "SELECT language FROM session WHERE id = '{}'"


def kill_bank(torturer: Torturer, most: int | None = None) -> None:
    """Kill the reading of a chapter, each time of a new copy of it, and the GM's changes in one of them."""
    torturer.home.write("replies.toml", _REPLIES)
    torturer.environment = scripted(torturer) | {"STORYENGINE_BACKGROUND_BACKOFF": "0.5"}
    script = torturer.home.write(f"{TITLE}.toml", chapter_script(TITLE, PROMPTS))
    give(torturer, (("play", str(script), "--out", str(torturer.home.out)),), "")
    name, file = session_called(torturer, TITLE), torturer.home.work / "banked.json"
    give(torturer, (("export", name, "--out", str(file)),), name)
    first = _copy(torturer, str(file))
    left = points_of(torturer, (_READ,), first, None if most is None else max(1, most // 2))
    _require_read(torturer, first)
    left |= points_of(torturer, (_SEARCH,), first, None if most is None else max(1, most // 8))
    wanted = _texts_of(torturer, first)
    for operation in (_STOP, _CLEAR):
        copy = _copy(torturer, str(file))
        left |= points_of(torturer, (operation,), copy, None if most is None else max(1, most // 8))
    left |= points_of(torturer, (*_CHANGES, _TELL), first, None if most is None else max(2, most // 4))
    kills: dict[Operation, Callable[[Point], bool]] = {
        _READ: lambda point: _kill_reading(torturer, point, str(file)),
        _STOP: lambda point: _kill_switching_off(torturer, point, str(file)),
        _CLEAR: lambda point: _kill_clearing(torturer, point, str(file)),
        _SEARCH: lambda point: _kill_texts(torturer, point, str(file), wanted),
        _TELL: lambda point: _kill_telling(torturer, point, first),
    }
    for operation, points in left.items():
        kill = kills.get(operation, partial(_kill_change, torturer, operation, session_id=first))
        for point in points:
            if not any(kill(point) for _ in range(MOST_RUNS_IN_VAIN)):
                torturer.figures.unreached.append(point)
    end_played(torturer, first)


def _copy(torturer: Torturer, file: str) -> str:
    """Import the chapter that was played, and return the id of the copy."""
    with served(torturer) as url:
        before = set(rows(url, "SELECT id FROM session"))
    give(torturer, (("import", file),), "")
    with served(torturer) as url:
        [(made,)] = set(rows(url, "SELECT id FROM session")) - before
    return str(made)


def _kill_reading(torturer: Torturer, point: Point, file: str) -> bool:
    """Kill while a chapter is read, and have it read to its end; return whether it was killed."""
    session_id = _copy(torturer, file)
    ended, done = torturer.run([point], *of(_READ.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    with served(torturer) as url:
        [(is_kept, work)] = rows(url, _WORK.format(session_id))
    assert isinstance(work, list)
    assert len(work) == (2 if is_kept else 0), "switched on with all that is to be read, or not at all"
    reports = [done]
    if ended.returncode:
        reports += give(torturer, (_READ.command,), session_id)
    _require_read(torturer, session_id)
    _require_paid(torturer, reports, session_id)
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _kill_switching_off(torturer: Torturer, point: Point, file: str) -> bool:
    """Kill while a bank is switched off before it is read; then it asks nothing, and on again it is read."""
    session_id = _copy(torturer, file)
    give(torturer, _STOP.before, session_id)
    ended, done = torturer.run([point], *of(_STOP.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    reports = [done]
    with served(torturer) as url:
        [(is_kept, _)] = rows(url, _WORK.format(session_id))
    assert ended.returncode or not is_kept, "it says that it is switched off, and it is not"
    if is_kept:
        reports += give(torturer, (_STOP.command,), session_id)
    [settled] = give(torturer, (_WORK_OFF,), session_id)
    assert not settled.calls, "a bank that is switched off asks nothing"
    with served(torturer) as url:
        [(is_kept, work)] = rows(url, _WORK.format(session_id))
    assert isinstance(work, list)
    assert not is_kept
    assert not {"pending", "processing"}.intersection(work), work
    reports += give(torturer, (_READ.command,), session_id)
    _require_read(torturer, session_id)
    _require_paid(torturer, reports, session_id, in_vain=IN_VAIN + 1)
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _kill_clearing(torturer: Torturer, point: Point, file: str) -> bool:
    """Kill while all that waits is given up: all of it is or nothing, and it is read when it is wanted."""
    session_id = _copy(torturer, file)
    give(torturer, _CLEAR.before, session_id)
    ended, done = torturer.run([point], *of(_CLEAR.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    with served(torturer) as url:
        [(_, work)] = rows(url, _WORK.format(session_id))
    assert work in (["pending"] * 2, ["cancelled"] * 2), work
    assert ended.returncode or work == ["cancelled"] * 2, "it says that it is done, and it is not"
    give(torturer, (_CLEAR.command, *_CLEAR.after, _STOP.command), session_id)
    reports = give(torturer, (_READ.command,), session_id)
    _require_read(torturer, session_id)
    _require_paid(torturer, [done, *reports], session_id)
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _kill_texts(torturer: Torturer, point: Point, file: str, wanted: int) -> bool:
    """Kill while the texts of a chapter get their vectors: what is stored is not asked for again."""
    session_id = _copy(torturer, file)
    reports = list(give(torturer, (_READ.command,), session_id))
    ended, done = torturer.run([point], *of(_SEARCH.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    assert ended.returncode or _texts_of(torturer, session_id) == wanted, "it says that it is done"
    reports += [done, *give(torturer, (_SEARCH.command,), session_id)]
    assert _texts_of(torturer, session_id) == wanted
    _require_paid(torturer, reports, session_id)
    torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _texts_of(torturer: Torturer, session_id: str) -> int:
    """Return how many pieces of a chapter's texts have a vector."""
    with served(torturer) as url:
        [(count,)] = rows(url, _TEXTS.format(session_id))
    assert isinstance(count, int)
    return count


def _require_read(torturer: Torturer, session_id: str) -> None:
    """Both chunks are read, every item is there once, and each has its vector."""
    with served(torturer) as url:
        [(is_kept, work)] = rows(url, _WORK.format(session_id))
        assert isinstance(work, list)
        read = [state for state in work if state != "cancelled"]
        assert (is_kept, read) == (True, ["done", "done"]), work
        found = Counter(text for (text,) in rows(url, _ITEMS.format(session_id)))
        assert found == _KEPT, f"{found} is in the bank"
        assert rows(url, _VECTORS.format(session_id)) == [(sum(found.values()),)], "a vector for each item"


def _require_paid(
    torturer: Torturer, reports: list[Report], session_id: str, *, in_vain: int = IN_VAIN
) -> None:
    """No answer that is stored was asked for again.

    One kill loses the call that was made, and where that was for vectors the scan as well whose findings are
    compared by them: its answer is stored with what became of each finding.
    """
    with served(torturer) as url:
        [(stored,)] = rows(url, _ANSWERS.format(session_id))
    assert isinstance(stored, int)
    calls = sum(report.calls.count(kind) for report in reports for kind in _CALLS)
    assert calls <= stored + in_vain, f"{calls} calls for {stored} answers"


def _kill_change(torturer: Torturer, operation: Operation, point: Point, session_id: str) -> bool:
    """Kill while items are changed: each of them has its next version, or none has."""
    give(torturer, operation.before, session_id)
    before = _versions(torturer, session_id)
    ended, done = torturer.run([point], *of(operation.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now = _versions(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    if now == before:
        give(torturer, (operation.command,), session_id)
        now = _versions(torturer, session_id)
    changed = [version - before.get(item, 0) for item, version in now.items() if version != before.get(item)]
    wanted = _CHANGES[operation]
    assert changed == [1] * (len(now) if wanted is None else wanted), f"{before} became {now}"
    give(torturer, operation.after, session_id)
    return bool(done.killed)


def _kill_telling(torturer: Torturer, point: Point, session_id: str) -> bool:
    """Kill while the language changes: the reader finds that the words of all items are of the one stored."""
    before = _told_in(torturer, session_id)
    ended, done = torturer.run([point], *of(_TELL.command, session_id), most_turns=1)
    torturer.look(only=UUID(session_id))
    now = _told_in(torturer, session_id)
    assert ended.returncode or now != before, "it says that it is done, and it is not"
    if now == before:
        give(torturer, (_TELL.command,), session_id)
        assert _told_in(torturer, session_id) != before
        torturer.look(only=UUID(session_id))
    return bool(done.killed)


def _told_in(torturer: Torturer, session_id: str) -> object:
    with served(torturer) as url:
        [(language,)] = rows(url, _TOLD_IN.format(session_id))
    return language


def _versions(torturer: Torturer, session_id: str) -> dict[object, int]:
    with served(torturer) as url:
        return dict(rows(url, _VERSIONS.format(session_id)))  # type: ignore[arg-type]  # two columns, not null
