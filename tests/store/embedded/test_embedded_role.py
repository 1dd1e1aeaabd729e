"""The program's role on the private server owns the database and is no superuser."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from db.embedded.machine.access import ADMINISTRATOR, ROLE
from db.embedded.machine.binaries import find_binaries, program_environment
from db.embedded.machine.cache_size import LEAST_MB
from db.embedded.machine.directories import choose_socket_dir
from db.embedded.machine.orphans import forget_stale_server
from db.embedded.machine.postmaster import LOG_FILE, Postmaster
from db.embedded.machine.probe import server_processes
from db.embedded.machine.run_as import choose_run_as
from db.embedded.server import EmbeddedServer
from db.store import open_store
from tests.store import chapters
from tests.store.embedded.embedded_fixtures import (
    PATIENCE,
    Client,
    ask,
    connect,
    empty_home,
    home,
    serving,
    wait_until,
)
from tests.store.embedded.server_status import status_of
from tests.store.schema.older_schema import make_old
from tests.store.servers import as_administrator

__all__ = ["empty_home", "home"]

IS_SUPERUSER = "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
OWNED_BY_OTHERS = f"""
SELECT coalesce(string_agg(name, ', '), '') FROM (
    SELECT relname::text, relowner FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT proname::text, proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT typname::text, typowner FROM pg_type WHERE typnamespace = 'public'::regnamespace
    UNION ALL SELECT datname::text, datdba FROM pg_database WHERE datname = current_database()
) AS named (name, owner) WHERE owner <> '{ROLE}'::regrole
"""


def make_as_before(home: Path) -> None:
    """Take the program's role away again, as in a directory of an earlier version."""
    binaries = find_binaries()
    arguments: list[str | Path] = ["--single", "-D", home / "data", "-c", "exit_on_error=on", "postgres"]
    text = f"ALTER DATABASE storyengine OWNER TO {ADMINISTRATOR}\nDROP ROLE {ROLE}\n"
    run_as = choose_run_as(home, binaries)
    done = run_as.run([binaries.program("postgres"), *arguments], program_environment(), 60.0, text)
    assert done.returncode == 0, done.stderr
    (home / "data" / "pg_hba.conf").write_text(f"local all {ADMINISTRATOR} peer map=owner\n")


async def write_a_chapter(url: str) -> None:
    store = await open_store(url)
    session, lease = await chapters.locked_session(store)
    await store.commit(chapters.turn(session), lease)
    assert len(await store.log(session.id)) == 2
    await store.aclose()


def assert_ordinary(server: EmbeddedServer) -> None:
    assert ask(server, "SELECT current_user") == ROLE
    assert ask(server, IS_SUPERUSER) == "False"
    assert ask(server, OWNED_BY_OTHERS) == ""
    with connect(server) as connection:
        for forbidden in (
            "SET session_replication_role = replica",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('postgresql.conf')",
            f"SET ROLE {ADMINISTRATOR}",
            f"ALTER ROLE {ROLE} SUPERUSER",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())


def test_the_role_of_a_new_directory_owns_its_database_and_is_no_superuser(empty_home: Path) -> None:
    with serving(empty_home) as server:
        asyncio.run(write_a_chapter(server.url()))
        assert_ordinary(server)


@pytest.mark.parametrize("revision", ["story_0001", None])
def test_the_database_of_an_earlier_version_is_handed_over_with_its_chapters(
    home: Path, revision: str | None
) -> None:
    with serving(home) as server:
        old = as_administrator(server.url())
        asyncio.run(make_old(old, revision) if revision else write_a_chapter(old))
    make_as_before(home)
    with serving(home) as server:
        asyncio.run(write_a_chapter(server.url()))
        assert ask(server, "SELECT count(*) FROM session") == "2"
        assert_ordinary(server)


def test_a_hand_over_that_was_cut_short_is_done_again(home: Path) -> None:
    """A version that knows the administrator only may have run since, too."""
    with serving(home) as server:
        asyncio.run(write_a_chapter(as_administrator(server.url())))
    (home / "data" / "pg_hba.conf").write_text(f"local all {ADMINISTRATOR} peer map=owner\n")
    with serving(home) as server:
        assert_ordinary(server)


@pytest.mark.parametrize("goes_on", [True, False], ids=["the hand-over goes on", "it is left stopped"])
def test_a_supervisor_that_is_killed_while_it_hands_over_is_replaced(home: Path, goes_on: bool) -> None:
    with serving(home) as server:
        asyncio.run(write_a_chapter(as_administrator(server.url())))
    make_as_before(home)
    client = Client(home)
    stopped: list[int] = []

    def is_stopped() -> bool:
        for pid in server_processes(home / "data")[:1]:
            with suppress(ProcessLookupError):  # the first one may have done its part and ended
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        return bool(stopped)

    wait_until(is_stopped, "the hand-over has begun")
    at_work = stopped[0]
    supervisor = int(Path(f"/proc/{at_work}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in (supervisor, client.pid):
        os.kill(pid, signal.SIGKILL)
    if goes_on:
        os.kill(at_work, signal.SIGCONT)
    client.communicate(timeout=PATIENCE)
    with serving(home) as server:
        assert_ordinary(server)


def test_a_running_server_of_an_earlier_version_is_used_as_it_is(home: Path) -> None:
    make_as_before(home)
    binaries = find_binaries()
    run_as = choose_run_as(home, binaries)
    directory = choose_socket_dir(run_as.base, run_as.owner)
    forget_stale_server(home / "data", directory)
    older = Postmaster.start(run_as, binaries, directory, home / LOG_FILE, LEAST_MB)
    assert older.wait_serving(PATIENCE)
    with serving(home) as server:
        assert ask(server, "SELECT current_user") == ADMINISTRATOR
        assert status_of(server).pid == older.pid
    with serving(home) as server:
        assert_ordinary(server)
