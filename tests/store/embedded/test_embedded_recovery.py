"""After kill -9 of anything, and with anything stale lying about, the server works and nothing is lost."""

import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from db.embedded.machine.directories import SOCKET_NAME
from db.embedded.machine.probe import is_accepting, is_alive, server_processes
from db.embedded.server import EmbeddedServer
from db.embedded.state import Phase
from tests.store.embedded.embedded_fixtures import (
    Client,
    ask,
    connect,
    empty_home,
    home,
    is_stopped,
    serving,
    wait_until,
)
from tests.store.embedded.server_status import status_of

__all__ = ["empty_home", "home"]


def note(server: EmbeddedServer, word: str) -> None:
    with connect(server) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        connection.execute("INSERT INTO kept VALUES (%s)", [word])


def test_a_killed_supervisor_is_replaced_and_the_server_goes_on(home: Path) -> None:
    with serving(home) as server, connect(server) as connection:
        before = status_of(server)
        os.kill(before.supervisor, signal.SIGKILL)
        wait_until(lambda: is_stopped(home), "the supervisor is dead")
        server.acquire()
        after = status_of(server)
        assert (after.pid, after.is_supervised) == (before.pid, True)
        assert after.supervisor != before.supervisor
        assert connection.execute("SELECT 1").fetchone() == (1,)
        connection.close()
        server.release()
        wait_until(lambda: is_stopped(home), "the new supervisor stops with the last program")
        assert not is_alive(before.pid)


def test_a_killed_server_comes_back_with_what_was_committed(home: Path) -> None:
    with serving(home) as server:
        note(server, "first")
        before = status_of(server).pid
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: status_of(server).pid != before, "the supervisor starts another server")
        server.acquire()
        note(server, "second")
        assert ask(server, "SELECT string_agg(word, ' ' ORDER BY word) FROM kept") == "first second"


def test_a_frozen_server_is_let_go_on_to_be_stopped_in_good_order(home: Path) -> None:
    client = Client(home)
    client.answer()
    status = status_of(EmbeddedServer(home))
    os.kill(status.pid, signal.SIGSTOP)
    client.leave()
    wait_until(lambda: is_stopped(home), "the supervisor stops the server", patience=60)
    assert not is_alive(status.pid)
    assert status_of(EmbeddedServer(home)).phase is Phase.STOPPED
    assert "database system is shut down" in (home / "postgres.log").read_text()


def test_a_busy_backend_of_a_killed_server_does_not_keep_the_next_one_out(home: Path) -> None:
    with serving(home) as server:
        busy = connect(server)
        busy.pgconn.send_query(b"DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$")
        count = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'"
        wait_until(lambda: ask(server, count) == "1", "the backend is busy")
        before = status_of(server).pid
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: status_of(server).pid != before, "another server starts")
        busy.close()
        assert ask(server, "SELECT 1") == "1"


def test_everything_killed_at_once_is_recovered_from(home: Path) -> None:
    client = Client(home)
    client.answer()
    server = EmbeddedServer(home)
    note(server, "committed")
    status = status_of(server)
    client.kill()
    os.kill(status.supervisor, signal.SIGKILL)
    for pid in server_processes(home / "data"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    client.wait()
    wait_until(lambda: not server_processes(home / "data"), "all are dead")
    assert (home / "data" / "postmaster.pid").exists()
    with serving(home) as server:
        assert ask(server, "SELECT word FROM kept") == "committed"


def test_a_program_that_stands_in_the_data_directory_is_left_alone(home: Path) -> None:
    bystander = subprocess.Popen(["sleep", "600"], cwd=home / "data")
    (home / "data" / "postmaster.pid").write_text(f"{bystander.pid}\n{home / 'data'}\n")
    try:
        with serving(home) as server:
            assert ask(server, "SELECT 1") == "1"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_pid_file_that_names_another_program_is_forgotten(home: Path) -> None:
    sleeper = Client(home.with_name("elsewhere"))  # a living program that is no server
    (home / "data" / "postmaster.pid").write_text(
        f"{sleeper.pid}\n{home / 'data'}\n1700000000\n5432\n{home / 'run'}\n\n  1234 5678\nready   \n"
    )
    (home / "run").mkdir(mode=0o700)
    (home / "run" / f"{SOCKET_NAME}.lock").write_text(f"{sleeper.pid}\n{home / 'data'}\n1700000000\n5432\n\n")
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"
        assert status_of(server).pid != sleeper.pid
    sleeper.leave()
    shutil.rmtree(home.with_name("elsewhere"), ignore_errors=True)


def test_a_socket_lock_without_a_pid_file_that_names_another_program_is_forgotten(home: Path) -> None:
    run = home / "run"
    run.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(run / SOCKET_NAME))
    (run / f"{SOCKET_NAME}.lock").write_text(f"{os.getpid()}\n{home / 'data'}\n1700000000\n5432\n{run}\n")
    assert not (home / "data" / "postmaster.pid").exists()
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"


@pytest.mark.parametrize(
    "text",
    ["", "\n", "garbage", "999999999\n/nowhere\n", "9" * 5_000, f"{9**30}\n/nowhere\n/\n5432\n/nowhere\n"],
)
def test_a_torn_pid_file_is_survived(home: Path, text: str) -> None:
    (home / "data" / "postmaster.pid").write_text(text)
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"


def test_a_socket_without_a_server_is_survived(home: Path) -> None:
    (home / "run").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home / "run" / SOCKET_NAME))
    assert not is_accepting(home / "run")
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"


def test_a_state_file_of_a_dead_server_is_not_believed(home: Path) -> None:
    with serving(home):
        word = (home / "state.json").read_text()
    (home / "state.json").write_text(word.replace(Phase.STOPPED, Phase.READY))
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"


def test_a_socket_that_was_removed_comes_back(home: Path) -> None:
    with serving(home) as server:
        note(server, "kept")
        (home / "run" / SOCKET_NAME).unlink()
        with pytest.raises(psycopg.OperationalError):
            connect(server)
        server.acquire()
        assert ask(server, "SELECT word FROM kept") == "kept"


def test_an_interrupted_initdb_is_begun_again(empty_home: Path) -> None:
    client = Client(empty_home)
    wait_until(lambda: list(empty_home.glob("data.new-*/base/*")), "initdb has begun")
    client.kill()
    supervisors = [int(path.name.removeprefix("data.new-")) for path in empty_home.glob("data.new-*")]
    for pid in supervisors:
        os.kill(pid, signal.SIGKILL)
    client.wait()
    assert not (empty_home / "data").exists()
    with serving(empty_home) as server:
        assert ask(server, "SELECT current_database()") == "storyengine"
    assert [path.name for path in empty_home.glob("data*")] == ["data"]
