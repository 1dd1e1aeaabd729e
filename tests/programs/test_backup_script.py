"""The backup service's script, tried against a real server: dump, retention, restore, and the daily round."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from core.domain.errors import SessionLockedError
from db.backups.seal import is_damaged
from db.embedded.machine.access import ROLE
from db.embedded.machine.binaries import find_binaries
from db.embedded.server import EmbeddedServer
from db.store import open_store
from tests.store import chapters
from tests.store.embedded.server_status import client_environment
from tests.store.made_data import fast_directory, migrate
from tests.store.servers import (
    TEMPLATE,
    administer,
    as_administrator,
    cloned,
    database_of,
    in_database,
)

SCRIPT = Path(__file__).parents[2] / "deploy" / "backup.sh"
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the script runs in a Linux container")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    # A socket's path is short: pytest's own directories are too deep.
    with tempfile.TemporaryDirectory(prefix="story-", dir=fast_directory()) as home:
        server = EmbeddedServer(Path(home), grace=0.0)
        url = server.acquire()
        # A test has a database of its own; nothing else makes one.
        administer(as_administrator(url), "ALTER ROLE {} CREATEDB", ROLE)
        administer(url, "CREATE DATABASE {}", TEMPLATE)
        asyncio.run(migrate(in_database(url, TEMPLATE)))
        yield server
        server.release()
        wait_until(lambda: not server.is_supervised())


def connect(server: EmbeddedServer, database: str = "postgres") -> psycopg.Connection[TupleRow]:
    where = make_conninfo("", **server.connection_parameters(database))
    return psycopg.connect(where, autocommit=True)


def wait_until(predicate: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not predicate():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # between two questions to another process


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[str]:
    """A database of its own, with the real schema."""
    for url in cloned(server.url("postgres")):
        yield database_of(url)


@pytest.fixture
def environment(server: EmbeddedServer, database: str, tmp_path: Path) -> dict[str, str]:
    programs = find_binaries().program("pg_dump").parent
    return client_environment(server, database) | {
        "BACKUP_DIRECTORY": str(tmp_path / "back ups"),
        "BACKUP_POLL_SECONDS": "0.2",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.fixture
def backups(environment: dict[str, str]) -> Path:
    place = Path(environment["BACKUP_DIRECTORY"])
    place.mkdir()
    return place


@pytest.fixture
def connection(server: EmbeddedServer, database: str) -> Iterator[psycopg.Connection[TupleRow]]:
    with connect(server, database) as connection:
        connection.execute("CREATE TABLE tale (line integer PRIMARY KEY, text text NOT NULL)")
        connection.execute(
            "INSERT INTO tale SELECT n, 'Zeile ' || n || ' — ☃' FROM generate_series(1, 500) n"
        )
        yield connection


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def dumps(backups: Path) -> list[Path]:
    return sorted(backups.glob("*.dump"))


def wait_for_another_name(dump: Path) -> None:
    """Wait until a dump is called otherwise: its name has its second."""
    wait_until(lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}" not in dump.name)


def in_place_of(program: str, environment: dict[str, str], place: Path, script: str) -> dict[str, str]:
    """Return an environment in which a script is found first; `REAL` in it stands for the program."""
    real = Path(environment["PATH"].split(os.pathsep)[0]) / program
    false = place / "programs" / program
    false.parent.mkdir()
    false.write_text(f"#!/bin/sh\nset -e\n{script.replace('REAL', str(real))}\n")
    false.chmod(0o700)
    return environment | {"PATH": f"{false.parent}{os.pathsep}{environment['PATH']}"}


def put(backups: Path, age: timedelta) -> Path:
    """Make a dump of that age, by its name."""
    path = backups / f"storyengine-{datetime.now(UTC) - age:%Y%m%dT%H%M%SZ}.dump"
    path.write_bytes(b"old")
    return path


def tables(connection: psycopg.Connection[TupleRow]) -> set[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return {row[0] for row in rows}


def checksum(connection: psycopg.Connection[TupleRow]) -> object:
    return connection.execute(
        "SELECT count(*), md5(string_agg(line || text, ',' ORDER BY line)) FROM tale"
    ).fetchone()


def test_a_restore_brings_back_what_was_dumped_and_nothing_else(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow]
) -> None:
    tables_then, tale_then = tables(connection), checksum(connection)
    assert run(environment, "dump").returncode == 0
    (dump,) = dumps(backups)
    connection.execute("UPDATE tale SET text = 'spoilt'")
    connection.execute("CREATE TABLE of_a_later_version (n integer)")
    wait_for_another_name(dump)

    restored = run(environment, "restore", str(dump))

    assert restored.returncode == 0, restored.stderr
    assert checksum(connection) == tale_then
    assert tables(connection) == tables_then
    assert {"session", "event", "alembic_version"} <= tables_then
    # What was there before the restore was dumped as well, so that a restore can be taken back.
    assert len(dumps(backups)) == 2
    assert run(environment, "restore", str(dumps(backups)[1])).returncode == 0
    assert "of_a_later_version" in tables(connection)
    assert not list(backups.glob("restore-*"))


@pytest.mark.anyio
async def test_a_window_that_stayed_open_writes_nothing_into_what_was_restored(
    server: EmbeddedServer, environment: dict[str, str], backups: Path, database: str
) -> None:
    async with aclosing(await open_store(in_database(server.url("postgres"), database))) as store:
        session, lease = await chapters.locked_session(store)
        assert run(environment, "dump").returncode == 0
        (dump,) = dumps(backups)
        wait_for_another_name(dump)
        assert run(environment, "restore", str(dump)).returncode == 0
        with pytest.raises(SessionLockedError):
            await chapters.play(store, session, lease, 1)


def test_a_damaged_dump_changes_nothing(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow]
) -> None:
    before = checksum(connection)
    run(environment, "dump")
    (dump,) = dumps(backups)
    damaged = backups / "damaged"
    damaged.write_bytes(dump.read_bytes()[: dump.stat().st_size * 2 // 3])
    refused = run(environment, "restore", str(damaged))
    assert refused.returncode == 1
    assert "is damaged" in refused.stderr
    assert checksum(connection) == before


def one_bit(content: bytes) -> bytes:
    """Change a bit of the table of contents, which PostgreSQL does not check."""
    at = content.index(b"COPY public.session")
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a bit": one_bit,
    "a bit of the seal": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "cut in the seal": lambda content: content[:-30],
    "cut after the first byte of the seal": lambda content: content[:-83],
    "goes on": lambda content: content + bytes(100),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_dump_that_is_not_as_it_was_written_is_refused(
    damage: Callable[[bytes], bytes],
    environment: dict[str, str],
    backups: Path,
    connection: psycopg.Connection[TupleRow],
) -> None:
    run(environment, "dump")
    (dump,) = dumps(backups)
    assert not is_damaged(dump), "the program knows the seal of the script"
    damaged = backups / "damaged"
    damaged.write_bytes(damage(dump.read_bytes()))
    connection.execute("UPDATE tale SET text = 'newer'")
    before = checksum(connection)
    refused = run(environment, "restore", str(damaged))
    assert refused.returncode == 1
    assert "it is not as it was written" in refused.stderr
    assert checksum(connection) == before
    assert is_damaged(damaged), "and the program refuses it too"


def test_a_dump_of_an_older_version_which_has_no_seal_is_restored(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow]
) -> None:
    before = checksum(connection)
    run(environment, "dump")
    (dump,) = dumps(backups)
    older = backups / "older"
    older.write_bytes(dump.read_bytes()[:-84])
    connection.execute("UPDATE tale SET text = 'newer'")
    wait_for_another_name(dump)
    assert run(environment, "restore", str(older)).returncode == 0
    assert checksum(connection) == before


def test_a_restore_into_a_database_in_use_is_given_up_and_changes_nothing(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow], tmp_path: Path
) -> None:
    run(environment, "dump")
    (dump,) = dumps(backups)
    wait_for_another_name(dump)
    # The script waits ten seconds for a lock. A shorter limit tests the same; without one it never ends.
    sooner = 'PGOPTIONS=$(echo "$PGOPTIONS" | sed s/=10s/=200ms/) exec "REAL" "$@"'
    environment = in_place_of("psql", environment, tmp_path, sooner)
    with connection.transaction():
        before = checksum(connection)
        refused = run(environment, "restore", str(dump))
    assert refused.returncode == 1
    assert "stop Story Engine and try again" in refused.stderr
    assert checksum(connection) == before


def test_dumps_are_for_the_owner_alone(environment: dict[str, str], backups: Path) -> None:
    run(environment, "dump")
    (dump,) = dumps(backups)
    assert dump.stat().st_mode & 0o777 == 0o600
    assert run(environment, "list").stdout.split("\n")[0] == str(dump)


def test_a_failed_dump_leaves_no_file_and_says_why(environment: dict[str, str], backups: Path) -> None:
    failed = run(environment | {"PGDATABASE": "no_such_database"}, "dump")
    assert failed.returncode != 0
    assert "no_such_database" in failed.stderr
    assert not list(backups.iterdir())


def test_a_dump_that_cannot_be_read_to_its_end_is_none(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow], tmp_path: Path
) -> None:
    # A disk that swallows the end: what is cut are the rows, not the list of what there is.
    cut = '"REAL" "$@"\nfor part in "$BACKUP_DIRECTORY"/*.part; do truncate -s -1000 "$part"; done'

    failed = run(in_place_of("pg_dump", environment, tmp_path, cut), "dump")

    assert failed.returncode == 1
    assert "cannot be read again" in failed.stderr
    assert not list(backups.iterdir())


def test_what_is_older_than_the_days_to_keep_is_removed(environment: dict[str, str], backups: Path) -> None:
    old, kept, new = (put(backups, timedelta(days=days)) for days in (15, 13, 0))
    foreign = backups / "notes.txt"
    foreign.touch()
    assert run(environment, "prune").returncode == 0
    assert not old.exists()
    assert kept.exists()
    assert new.exists()
    assert foreign.exists()


def test_the_newest_dump_stays_however_old(environment: dict[str, str], backups: Path) -> None:
    put(backups, timedelta(days=400))
    newest = put(backups, timedelta(days=90))
    run(environment, "prune")
    assert dumps(backups) == [newest]


def test_less_than_a_week_is_refused(environment: dict[str, str], backups: Path) -> None:
    put(backups, timedelta(days=6))
    refused = run(environment | {"BACKUP_KEEP_DAYS": "3"}, "prune")
    assert refused.returncode == 1
    assert "7 days at least" in refused.stderr
    assert len(dumps(backups)) == 1


def test_the_check_wants_a_dump_of_the_last_day(environment: dict[str, str], backups: Path) -> None:
    assert run(environment, "check").returncode == 1
    put(backups, timedelta(hours=27))
    assert run(environment, "check").returncode == 1
    put(backups, timedelta(hours=1))
    assert run(environment, "check").returncode == 0


def test_the_daily_round_dumps_what_is_due_once_and_prunes(
    environment: dict[str, str], backups: Path
) -> None:
    # A leading zero must not be read as octal; and the hour must not strike during the test.
    hour = "08" if datetime.now(UTC).hour not in (7, 8) else "0"
    old = put(backups, timedelta(days=30))
    command = ["sh", str(SCRIPT), "daily"]
    with subprocess.Popen(command, env=environment | {"BACKUP_HOUR": hour}) as service:
        wait_until(lambda: not old.exists())
        time.sleep(0.6)  # time for a second dump, which must not come
        service.send_signal(signal.SIGTERM)
        assert service.wait(PATIENCE) == 0
    assert len(dumps(backups)) == 1


def test_the_daily_round_tries_again_after_a_failure_and_removes_nothing(
    environment: dict[str, str], backups: Path, connection: psycopg.Connection[TupleRow]
) -> None:
    old = put(backups, timedelta(days=30))
    absent = environment["PGDATABASE"] + "_later"
    with subprocess.Popen(["sh", str(SCRIPT), "daily"], env=environment | {"PGDATABASE": absent}) as service:
        time.sleep(0.6)  # time for a dump of nothing, which must not come
        assert dumps(backups) == [old]
        connection.execute(f"CREATE DATABASE {absent}".encode())
        wait_until(lambda: len(dumps(backups)) == 1 and not old.exists())
        service.terminate()
        service.wait(PATIENCE)
    connection.execute(f"DROP DATABASE {absent} WITH (FORCE)".encode())


def test_the_password_may_come_from_a_file(
    environment: dict[str, str], backups: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, body in (
        ("pg_dump", f'echo "$PGPASSWORD" >"{tmp_path}/seen"; exit 1'),
        ("pg_restore", "exit 1"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o700)
    secret = tmp_path / "secret"
    secret.write_text("pass word\n")
    path = f"{programs}{os.pathsep}{environment['PATH']}"
    run(environment | {"PATH": path, "PGPASSWORD_FILE": str(secret)}, "dump")
    assert (tmp_path / "seen").read_text() == "pass word\n"
    assert not dumps(backups)


def test_the_entrypoint_turns_secrets_into_the_environment(tmp_path: Path) -> None:
    program = tmp_path / "storyengine"
    program.write_text('#!/bin/sh\necho "$PGPASSWORD|$STORYENGINE_API_KEY|$1"\n')
    program.chmod(0o700)
    secret = tmp_path / "secret"
    secret.write_text("a $b'c\"\n")
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PGPASSWORD_FILE": str(secret)}
    done = subprocess.run(
        ["sh", str(SCRIPT.parent / "entrypoint.sh"), "two words"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "a $b'c\"||two words\n"
