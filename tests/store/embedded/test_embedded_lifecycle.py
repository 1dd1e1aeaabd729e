"""One server for all programs of a user: made once, shared, stopped with the last."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text

from db.embedded.machine.access import ROLE
from db.embedded.machine.binaries import find_binaries
from db.embedded.server import EmbeddedServer
from db.embedded.state import Phase
from tests.store.embedded.embedded_fixtures import (
    PATIENCE,
    Client,
    ask,
    connect,
    empty_home,
    home,
    is_stopped,
    served,
    serving,
    wait_until,
)
from tests.store.embedded.server_status import client_environment, status_of

__all__ = ["empty_home", "home", "served"]


def test_a_cold_start_gives_a_database_that_takes_every_script(empty_home: Path) -> None:
    with serving(empty_home) as server:
        assert ask(server, "SELECT current_database() || '/' || current_user") == f"storyengine/{ROLE}"
        assert ask(server, "SHOW server_encoding") == "UTF8"
        assert ask(server, "SELECT upper('éß') || lower('ΣÉ') || length('日本')") == "Éßσé2"
        assert ask(server, "SHOW data_checksums") == "on"
        assert [path.name for path in empty_home.glob("data*")] == ["data"]


def test_the_url_is_for_sqlalchemy_and_opens_the_database(served: EmbeddedServer) -> None:
    engine = create_engine(served.url())
    with engine.connect() as connection:
        assert connection.execute(text("SELECT current_database()")).scalar() == "storyengine"
    engine.dispose()
    assert served.url("other").partition("?")[0] == f"postgresql+psycopg://{ROLE}@/other"


def test_programs_share_one_server_that_stops_with_the_last(home: Path) -> None:
    first, second = Client(home), Client(home)
    assert first.answer() == second.answer() != ""
    status = status_of(EmbeddedServer(home))
    assert status.is_running
    first.leave()
    third = Client(home)
    third.answer()
    assert status_of(EmbeddedServer(home)).pid == status.pid
    second.leave()
    assert status_of(EmbeddedServer(home)).is_running
    third.leave()
    wait_until(lambda: is_stopped(home), "the server stops with the last program")
    after = status_of(EmbeddedServer(home))
    assert (after.is_running, after.is_supervised, after.phase) == (False, False, Phase.STOPPED)
    assert not (home / "data" / "postmaster.pid").exists()


def test_killed_programs_count_as_gone(home: Path) -> None:
    clients = [Client(home), Client(home)]
    for client in clients:
        client.answer()
    for client in clients:
        client.kill()
        client.wait()
    wait_until(lambda: is_stopped(home), "the server stops after kill -9 of its programs")
    with serving(home) as server:
        assert ask(server, "SELECT 1") == "1"


def test_the_server_outlives_its_last_program_by_the_grace(home: Path, tmp_path: Path) -> None:
    other_home = tmp_path / "clock"
    client = Client(home, grace=60.0)
    client.answer()
    pid = status_of(EmbeddedServer(home)).pid
    with serving(other_home):  # its end, without a grace, is our clock
        client.leave()
    assert is_stopped(other_home)
    with serving(home) as server:
        assert status_of(server).pid == pid


def test_simultaneous_cold_starts_make_one_server(empty_home: Path) -> None:
    clients = [Client(empty_home) for _ in range(4)]
    answers = {client.answer() for client in clients}
    assert len(answers) == 1
    assert answers.pop().startswith("postgresql+psycopg://")
    assert (empty_home / "postgres.log").read_text().count("ready to accept connections") == 1
    for client in clients:
        client.leave()


def test_a_program_that_starts_the_server_a_moment_too_late_uses_the_one_that_was_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program that started it may have been killed since: its supervisor goes on."""
    with serving(home) as first:
        late = EmbeddedServer(home)
        looks = iter([False])
        monkeypatch.setattr(late, "is_supervised", lambda: next(looks, first.is_supervised()))
        late.acquire(PATIENCE)
        try:
            assert status_of(late).pid == status_of(first).pid
        finally:
            late.release()


def test_acquire_and_release_may_be_called_again(home: Path) -> None:
    with serving(home) as server:
        assert server.acquire() == server.acquire()
        other = EmbeddedServer(home, grace=0.0)
        other.acquire()
        server.release()
        server.release()
        assert ask(other, "SELECT 1") == "1"
        other.release()
        wait_until(lambda: is_stopped(home), "both clients of one process have let go")


@pytest.mark.anyio
async def test_a_program_can_await_the_server(home: Path) -> None:
    server = EmbeddedServer(home, grace=0.0)
    url = await server.acquire_async()
    assert url == server.url()
    assert ask(server, "SELECT 1") == "1"
    await asyncio.to_thread(server.release)
    wait_until(lambda: is_stopped(home), "the awaited server stops")


def test_a_pool_of_connections_fits_and_notices_arrive(served: EmbeddedServer) -> None:
    pool = [connect(served) for _ in range(32)]
    pool[0].execute("LISTEN news")
    pool[-1].execute("NOTIFY news, 'told'")
    notification = next(pool[0].notifies(timeout=PATIENCE))
    assert (notification.channel, notification.payload) == ("news", "told")
    for connection in pool:
        connection.close()


def test_programs_of_postgresql_connect_by_environment(served: EmbeddedServer) -> None:
    with connect(served) as connection:
        connection.execute("CREATE TABLE kept (word text)")
    dump = subprocess.run(
        [find_binaries().program("pg_dump"), "--schema-only"],
        env=client_environment(served),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "CREATE TABLE public.kept" in dump.stdout


def test_sigterm_to_the_supervisor_stops_the_server_and_a_program_gets_it_back(home: Path) -> None:
    with serving(home) as server:
        os.kill(status_of(server).supervisor, signal.SIGTERM)
        wait_until(lambda: is_stopped(home), "the supervisor obeys SIGTERM")
        with pytest.raises(psycopg.OperationalError):
            connect(server)
        server.acquire()
        assert ask(server, "SELECT 1") == "1"


def test_status_neither_starts_nor_makes_anything(empty_home: Path) -> None:
    status = status_of(EmbeddedServer(empty_home))
    assert (status.is_running, status.is_supervised, status.phase) == (False, False, Phase.STOPPED)
    assert not empty_home.exists()


def test_attaching_to_a_running_server_starts_no_process(
    served: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is what takes time: a server that runs is there at once for the next program."""
    monkeypatch.setattr(subprocess, "Popen", None)
    other = EmbeddedServer(Path(status_of(served).data).parent)
    other.acquire()
    assert ask(other, "SELECT 1") == "1"
    other.release()
