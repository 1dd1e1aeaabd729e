"""Kills while a chapter is deleted for good: it is all there or all gone, and the others are as they were."""

from uuid import UUID

from tests.torture.kills.kill_commands import session_called
from tests.torture.kills.kill_matrix import Torturer
from tests.torture.kills.kill_storage import clear, drawn, play_one, rows, served, steps_of
from tests.torture.readers.reader import Reader

_KEPT = "Kept as it was"
_PURGE = "chapter purged: "
_OWNERS = "SELECT table_name FROM information_schema.columns WHERE column_name = 'session_id' ORDER BY 1"
_CONTENTS = (
    "SELECT count(*), md5(string_agg(part::text, ' ' ORDER BY part::text)) FROM {} part WHERE {} = '{}'"
)

Contents = dict[str, tuple[object, ...]]
"""Each table's rows of one chapter: how many, and a digest of them."""


def kill_purges(torturer: Torturer, most: int | None = None) -> None:
    """Kill before, in the midst of and after the deletion of a chapter that was played to its end."""
    play_one(torturer, _KEPT)
    kept = session_called(torturer, _KEPT)
    whole = _contents(torturer, kept)
    steps = [
        step for step in steps_of(torturer, *_purge(_doomed(torturer, "Deleted in peace"))) if _PURGE in step
    ]
    for number, point in enumerate(drawn(steps, torturer, most)):
        doomed = _doomed(torturer, f"Deleted {number}")
        before = _contents(torturer, doomed)
        _, done = torturer.run([point], *_purge(doomed), most_turns=1)
        assert done.killed == [point]
        left = _contents(torturer, doomed)
        assert left == before or not left, "half of it is gone"
        if left:
            ended, _ = torturer.run([], *_purge(doomed))
            assert ended.returncode == 0, ended.stderr
            assert not _contents(torturer, doomed)
        assert _contents(torturer, kept) == whole
        with served(torturer) as url:
            Reader().check(url)
    clear(torturer)
    torturer.forget()


def _doomed(torturer: Torturer, title: str) -> str:
    """Play a chapter, put it away, and return its id."""
    play_one(torturer, title)
    name = session_called(torturer, title)
    ended, _ = torturer.run([], "archive", name)
    assert ended.returncode == 0, ended.stderr
    return name


def _purge(name: str) -> tuple[str, ...]:
    return ("purge", name, "--yes")


def _contents(torturer: Torturer, name: str) -> Contents:
    """Return what every table holds of a chapter; nothing of those that hold nothing."""
    session_id = UUID(name)
    with served(torturer) as url:
        owners = {"session": "id", **{str(table): "session_id" for (table,) in rows(url, _OWNERS)}}
        found = {
            table: rows(url, _CONTENTS.format(table, column, session_id))[0]
            for table, column in owners.items()
        }
    return {table: held for table, held in found.items() if held[0]}
