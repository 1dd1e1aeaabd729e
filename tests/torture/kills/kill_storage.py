"""Kills while the storage itself is worked on: the first initdb, migration, backup, restore. Each leaves what
was there, or what was to be; and doing it again works."""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from db.embedded.machine.binaries import find_binaries
from db.embedded.machine.probe import server_processes
from db.embedded.server import EmbeddedServer
from db.schema.migrate import HEAD, known_revisions
from tests.e2e.program import chapter_script, machine
from tests.store.schema.older_schema import make_old
from tests.store.servers import plain_url
from tests.torture.kills.dying_program import kill_server
from tests.torture.kills.kill_matrix import MIGRATES, PATIENCE, KillFigures, Torturer
from tests.torture.kills.kill_orders import Point, Victim
from tests.torture.readers.reader import digest_of

_OLD_STORY = (
    "SELECT title, state, session.prompt_index, boundary, world, chapter, payload, event.text, role"
    " FROM session JOIN tab1_input ON tab1_input.session_id = id"
    " JOIN memory_block ON memory_block.session_id = id JOIN event ON event.session_id = id"
    " ORDER BY event.ordinal"
)
_CLEARED = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


@contextmanager
def served(torturer: Torturer) -> Iterator[str]:
    """Have the server up, whatever was killed, and its address for a reader."""
    server = EmbeddedServer(torturer.server_home)
    url = server.acquire(PATIENCE)
    try:
        yield plain_url(url)
    finally:
        server.release()


def kill_migrations(torturer: Torturer, most: int | None = None) -> None:
    """Kill while the schema is made: it is there whole, or not at all."""
    clear(torturer)
    steps = [step for step in steps_of(torturer, "db", "upgrade") if step.startswith(MIGRATES)]
    for point in drawn(steps, torturer, most):
        clear(torturer)
        _, done = torturer.run([point], "db", "upgrade", most_turns=1)
        assert done.killed == [point]
        with served(torturer) as url:
            assert tables_of(url) in ([], whole_schema()), "half a schema"
        ended, _ = torturer.run([], "db", "upgrade")
        assert ended.returncode == 0, ended.stderr
        with served(torturer) as url:
            assert tables_of(url) == whole_schema()
            [(revision,)] = rows(url, "SELECT version_num FROM alembic_version")
            assert revision == HEAD


def kill_migrations_of_chapters(torturer: Torturer, most: int | None = None) -> None:
    """Kill while a schema that holds a chapter is brought up to date: it is the one schema or the other, and
    the chapter is as it was."""
    older, story = begin_old(torturer)
    steps = [step for step in steps_of(torturer, "db", "upgrade") if step.startswith(MIGRATES)]
    for point in drawn(steps, torturer, most):
        begin_old(torturer)
        _, done = torturer.run([point], "db", "upgrade", most_turns=1)
        assert done.killed == [point]
        with served(torturer) as url:
            assert tables_of(url) in (older, whole_schema()), "half a schema"
            assert rows(url, _OLD_STORY) == story
        ended, _ = torturer.run([], "db", "upgrade")
        assert ended.returncode == 0, ended.stderr
        with served(torturer) as url:
            assert tables_of(url) == whole_schema()
            assert rows(url, _OLD_STORY) == story
    clear(torturer)


def begin_old(torturer: Torturer) -> tuple[list[object], list[tuple[object, ...]]]:
    """Leave a database of the oldest schema with a chapter in it; return its tables, and the chapter."""
    clear(torturer)
    with served(torturer) as url:
        asyncio.run(make_old(url, known_revisions()[0]))
        return tables_of(url), rows(url, _OLD_STORY)


def kill_backups(torturer: Torturer, most: int | None = None) -> None:
    """Kill while a backup is written: under its name there is nothing, or all of it."""
    home = torturer.home
    play_one(torturer, "Kept")
    target = home.work / "whole.backup"
    steps = steps_of(torturer, "db", "backup", target)
    with served(torturer) as url:
        before = digest_of(url)
    for number, point in enumerate(drawn(steps, torturer, most)):
        target = home.work / f"{number}.backup"
        torturer.run([point], "db", "backup", target)
        if target.exists():
            list_contents(target)
        else:
            ended, _ = torturer.run([], "db", "backup", target)
            assert ended.returncode == 0, ended.stderr
            list_contents(target)
        with served(torturer) as url:
            assert digest_of(url) == before, "a backup changed what it copied"


def kill_restores(torturer: Torturer, most: int | None = None) -> None:
    """Kill while a backup is restored over other chapters: one is there or the other, never a mixture."""
    home = torturer.home
    states = []
    for name in ("First", "Second"):
        play_one(torturer, name)
        file = home.work / f"{name}.backup"
        assert torturer.run([], "db", "backup", file)[0].returncode == 0
        with served(torturer) as url:
            states.append((file, digest_of(url)))
    steps = steps_of(torturer, "db", "restore", states[0][0], "--replace")
    now, other = states
    for point in drawn(steps, torturer, most):
        torturer.run([point], "db", "restore", other[0], "--replace")
        with served(torturer) as url:
            assert digest_of(url) in (now[1], other[1]), "a mixture of two databases"
        ended, _ = torturer.run([], "db", "restore", other[0], "--replace")
        assert ended.returncode == 0, ended.stderr
        with served(torturer) as url:
            assert digest_of(url) == other[1]
        now, other = other, now


def clear(torturer: Torturer) -> None:
    """Leave a database without a schema."""
    with served(torturer) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_CLEARED)


def kill_initdbs(seed: int, count: int) -> KillFigures:
    """Kill while the very first database is made: the next start makes it."""
    chance = random.Random(seed)
    figures = KillFigures()
    whole = 0.0
    while len(figures.killed) < count:
        with machine() as home:
            torturer = Torturer(home, seed)
            began = time.monotonic()
            process = home.start_anew("db", "url")
            try:
                process.communicate(timeout=chance.uniform(0, 0.9 * whole) if whole else PATIENCE)
            except subprocess.TimeoutExpired:
                victim = list(Victim)[len(figures.killed) % len(Victim)]
                kill_start(torturer.server_home, process, victim)
                figures.killed.append(Point("the first initdb", victim))
                process.communicate(timeout=PATIENCE)
                begin_again(torturer)
            whole = whole or time.monotonic() - began
            figures += torturer.close()
    return figures


def begin_again(torturer: Torturer) -> None:
    """Start after a first start that was killed: everything is made, and nothing lies about."""
    ended, _ = torturer.run([], "db", "upgrade")
    assert ended.returncode == 0, ended.stderr
    made = [path.name for path in torturer.server_home.glob("data*")]
    assert made == ["data"], "what was begun and not finished is gone"
    with served(torturer) as url:
        assert tables_of(url) == whole_schema()


def kill_start(home: Path, process: "subprocess.Popen[str]", victim: Victim) -> None:
    """Kill a program that starts its database for the first time, or what makes the database."""
    if victim is not Victim.PROGRAM:
        # The supervisor is not in the state file before the server runs; the draft's name has its number.
        for draft in home.glob("data.new-*"):
            if victim is Victim.ALL:
                with suppress(ProcessLookupError):
                    os.kill(int(draft.name.rpartition("-")[2]), signal.SIGKILL)
            for pid in server_processes(draft):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        kill_server(home, with_supervisor=victim is Victim.ALL)
    if victim is not Victim.POSTGRES:
        process.kill()


def play_one(torturer: Torturer, title: str, *, until: str | None = None) -> None:
    """Play a chapter to its end, or `until` a step, at which the program is killed."""
    prompts = 2
    script = torturer.home.write(f"{title}.toml", chapter_script(title, prompts))
    replies = torturer.home.work / "replies.toml"
    arguments: list[str | Path] = ["play", script, "--provider", "scripted", "--replies", replies]
    arguments += ["--out", torturer.home.out]
    if until is None:
        assert torturer.run([], *arguments)[0].returncode == 0
        return
    point = Point(until, Victim.PROGRAM)
    assert torturer.run([point], *arguments)[1].killed == [point]


def steps_of(torturer: Torturer, *arguments: str | Path) -> list[str]:
    """Run a command that nobody kills, and return the names of its steps."""
    ended, done = torturer.run([], *arguments, names_steps=True)
    assert ended.returncode == 0, ended.stderr
    return list(dict.fromkeys(done.steps))


def drawn(steps: list[str], torturer: Torturer, most: int | None) -> list[Point]:
    """Return a point for every step and victim, in random order, or `most` of them."""
    points = [Point(step, victim) for step in steps for victim in Victim]
    torturer.random.shuffle(points)
    return points[:most]


def list_contents(file: Path) -> None:
    """Read a backup to its end with PostgreSQL's own program."""
    subprocess.run(
        [find_binaries().program("pg_restore"), "--file=/dev/null", file],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    """Return what a query gives."""
    with psycopg.connect(url, connect_timeout=30) as connection:
        return connection.execute(query.encode()).fetchall()


def tables_of(url: str) -> list[object]:
    """Return the names of the tables that there are."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    return [name for (name,) in rows(url, query)]


def whole_schema() -> list[object]:
    """Return the names of all tables of the newest schema."""
    from db.tables import METADATA

    return [*sorted([*METADATA.tables, "alembic_version"])]
