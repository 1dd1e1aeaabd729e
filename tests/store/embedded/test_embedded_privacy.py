"""The server is its user's alone, durable, and the same whatever the locale, the environment and the path."""

import os
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest

from db.embedded.machine.access import ROLE
from db.embedded.machine.binaries import find_binaries
from db.embedded.machine.directories import SOCKET_NAME, make_private
from db.embedded.machine.failure import EmbeddedError
from db.embedded.server import EmbeddedServer
from tests.store.embedded.embedded_fixtures import (
    Client,
    ask,
    connect,
    empty_home,
    home,
    needs_root,
    open_dir,
    served,
    serving,
)
from tests.store.embedded.server_status import status_of
from tests.store.made_data import copy_new_data
from tests.store.servers import as_administrator, plain_url

__all__ = ["empty_home", "home", "open_dir", "served"]

NOBODY = 65534


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_user_gets_at_files_and_socket(empty_home: Path) -> None:
    previous = os.umask(0)
    try:
        with serving(empty_home) as server:
            status = status_of(server)
            assert mode_of(empty_home) == 0o700
            assert mode_of(Path(status.data)) == 0o700
            assert mode_of(Path(status.socket_dir)) == 0o700
            assert mode_of(Path(status.socket_dir) / SOCKET_NAME) == 0o700
            files = [path for path in empty_home.rglob("*") if path.is_file()]
            assert [path for path in files if path.suffix != ".log" and mode_of(path) & 0o077] == []
    finally:
        os.umask(previous)


def test_a_home_that_is_open_is_closed(empty_home: Path) -> None:
    empty_home.mkdir(mode=0o755)
    empty_home.chmod(0o755)
    with serving(empty_home):
        assert mode_of(empty_home) == 0o700


def test_there_is_no_tcp(served: EmbeddedServer) -> None:
    assert ask(served, "SHOW listen_addresses") == ""
    inodes = {
        os.readlink(link).removeprefix("socket:[").rstrip("]")
        for link in Path(f"/proc/{status_of(served).pid}/fd").iterdir()
        if os.readlink(link).startswith("socket:")
    }
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    bound = {line.split()[9] for table in tables for line in table.splitlines()[1:]}
    assert not inodes & bound


def test_no_other_role_and_no_password_gets_in(served: EmbeddedServer) -> None:
    with psycopg.connect(plain_url(as_administrator(served.url())), autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    parameters = served.connection_parameters() | {"user": "guest", "password": "guest"}
    with pytest.raises(psycopg.OperationalError, match="pg_hba"):
        psycopg.connect(**parameters)  # type: ignore[arg-type]  # names known here only


@needs_root
def test_another_user_of_the_machine_is_kept_out_twice(open_dir: Path) -> None:
    home = open_dir / "postgres"
    with serving(home) as server:
        run = Path(status_of(server).socket_dir)
        knock = [str(find_binaries().program("psql")), "-h", str(run), "-U", ROLE, "-Atc", "SELECT 1"]

        def knock_as_nobody() -> str:
            as_nobody = subprocess.run(
                knock, capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=[], check=False
            )
            return f"{as_nobody.stdout}{as_nobody.stderr}"

        assert "Permission denied" in knock_as_nobody()
        for path in (home, run, run / SOCKET_NAME):
            path.chmod(0o777)
        assert "Peer authentication failed" in knock_as_nobody()


def test_commits_are_durable(home: Path) -> None:
    with (home / "data" / "postgresql.auto.conf").open("a") as settings:
        settings.write("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n")
    with serving(home) as server:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(server, f"SHOW {name}") == "on", name


def test_no_story_gets_into_the_log(served: EmbeddedServer) -> None:
    with connect(served) as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT 1/0, 'the dragon is the queen'")
    assert "dragon" not in (Path(status_of(served).data).parent / "postgres.log").read_text()


HOSTILE = {
    "LANG": "xx_YY.bogus",
    "LC_ALL": "xx_YY.bogus",
    "LC_CTYPE": "tr_TR.ISO-8859-9",
    "TZ": "Nowhere/Nothing",
    "PGHOST": "nowhere.invalid",
    "PGDATA": "/nowhere",
    "PGPORT": "1",
    "PGCLIENTENCODING": "LATIN1",
}


@pytest.mark.parametrize(
    "environment", [HOSTILE, {"LANG": "", "LC_ALL": "", "TZ": ""}], ids=["hostile", "unset"]
)
def test_the_environment_changes_nothing(empty_home: Path, environment: dict[str, str]) -> None:
    client = Client(empty_home, environment=environment)
    assert client.answer().startswith("postgresql+psycopg://")
    with serving(empty_home) as server:
        client.leave()
        assert ask(server, "SHOW server_encoding") == "UTF8"
        assert ask(server, "SELECT lower('ÇŞ') || '日本'") == "çş日本"
        assert ask(server, "SHOW timezone") == "UTC"


def test_a_path_with_spaces_and_any_script_does(open_dir: Path) -> None:
    home = open_dir / "ein Ort 日本 🐉" / "postgres"
    with serving(home) as server:
        assert status_of(server).socket_dir == str(home / "run")
        assert status_of(server).data == str(home / "data")
        assert ask(server, "SELECT 1") == "1"


@pytest.mark.parametrize(
    "name", ["a,b", 'a"b', "it's \\ $HOME, 日本", "long-" * 30, os.fsdecode(b"caf\xe9")], ids=ascii
)
def test_a_path_that_no_socket_can_have_does(open_dir: Path, name: str) -> None:
    home = open_dir / name
    home.mkdir(mode=0o700)
    copy_new_data(home)
    with serving(home) as server:
        run = Path(status_of(server).socket_dir)
        assert ask(server, "SELECT 1") == "1"
        assert status_of(server).data == str(home / "data")
        assert not run.is_relative_to(home)
        assert mode_of(run) == 0o700
        assert run.stat().st_uid == os.geteuid()
    assert not run.exists()


def test_a_runtime_directory_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    home = tmp_path / "with,comma"
    with serving(home, {"XDG_RUNTIME_DIR": "/run/user/nobody-was-here"}) as server:
        assert ask(server, "SELECT 1") == "1"


def test_a_home_behind_a_link_is_the_home(home: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home)
    with serving(home) as server, serving(link) as same:
        assert same.url() == server.url()


def test_a_home_that_its_file_system_does_not_let_be_closed_is_refused(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_home.mkdir(mode=0o755)
    empty_home.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # as on a stick with FAT
    with pytest.raises(EmbeddedError, match="does not let it be closed"):
        make_private(empty_home)
