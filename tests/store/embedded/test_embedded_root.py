"""As root, with and without user namespaces, as an ordinary user, and as a user without a name."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.domain.errors import StorageError
from db.embedded.machine.access import ROLE
from db.embedded.machine.binaries import Binaries, find_binaries
from db.embedded.machine.directories import can_reach
from db.embedded.machine.failure import EmbeddedError
from db.embedded.machine.run_as import MAPPED_ACCOUNTS, NAMESPACE_VARIABLE, account_bases, choose_run_as
from db.embedded.server import EmbeddedServer
from tests.store.embedded.embedded_fixtures import (
    Client,
    ask,
    connect,
    home,
    is_stopped,
    open_dir,
    serving,
    stop,
    wait_until,
)
from tests.store.embedded.server_status import client_environment, status_of

__all__ = ["home", "open_dir"]

FORBIDDEN = {NAMESPACE_VARIABLE: "off"}
NOBODY = pwd.getpwnam("nobody")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")


@pytest.fixture
def closed_home(tmp_path: Path) -> Iterator[Path]:
    """A home that no account but root can reach, as below /root."""
    home = tmp_path / "closed" / "postgres"
    (tmp_path / "closed").mkdir(mode=0o700)
    yield home
    stop(home)
    for base in account_bases(home):
        shutil.rmtree(base, ignore_errors=True)


def owner_of(path: str | Path) -> str:
    return Path(path).owner()


def uid_of_process(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def can_have_namespaces() -> bool:
    return subprocess.run(["unshare", "--user", "true"], check=False).returncode == 0


@pytest.mark.skipif(not can_have_namespaces(), reason="user namespaces are forbidden here")
def test_root_keeps_its_files_where_namespaces_are_allowed(home: Path) -> None:
    with serving(home) as server:
        status = status_of(server)
        assert status.notification == ""
        assert status.data == str(home / "data")
        assert uid_of_process(status.pid) == 0
        inside = int(Path(f"/proc/{status.pid}/uid_map").read_text().split()[0])
        assert pwd.getpwuid(inside).pw_name in MAPPED_ACCOUNTS
        assert inside != int(Path("/proc/sys/kernel/overflowuid").read_text())
        capabilities = Path(f"/proc/{status.pid}/status").read_text().partition("CapEff:")[2].split()[0]
        assert int(capabilities, 16) == 0


@contextmanager
def groups(numbers: list[int]) -> Iterator[None]:
    """Belong to these groups, which the server's account must not inherit."""
    before = os.getgroups()
    os.setgroups(numbers)
    try:
        yield
    finally:
        os.setgroups(before)


def test_root_without_namespaces_runs_the_server_as_an_account(
    open_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = open_dir / "postgres"
    with groups([0, 42]), serving(home, FORBIDDEN) as server:
        status = status_of(server)
        account = pwd.getpwuid(uid_of_process(status.pid))
        assert account.pw_name in ("postgres", "nobody")
        assert status.data == str(open_dir / "postgres-account" / "data")
        for path in (status.data, status.socket_dir, Path(status.data).parent):
            assert (owner_of(path), Path(path).stat().st_mode & 0o777) == (account.pw_name, 0o700)
        assert (
            Path(f"/proc/{status.pid}/status").read_text().partition("Groups:")[2].split("\n")[0].strip()
            == ""
        )
        assert ask(server, "SELECT current_user") == ROLE
        assert account.pw_name in status.notification
        assert status.data.removesuffix("/data") in status.notification
        attached = EmbeddedServer(home)
        attached.acquire()
        attached.release()
    assert [record.message for record in caplog.records] == [status.notification]


def test_where_the_account_cannot_reach_the_data_goes_to_a_system_directory(closed_home: Path) -> None:
    with serving(closed_home, FORBIDDEN) as server:
        base = Path(status_of(server).data).parent
        assert base in account_bases(closed_home)
        assert base.parent in (Path("/var/lib"), Path("/srv"))
        with connect(server) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 'word' AS word")
    with serving(closed_home) as server:  # namespaces are allowed again: the stories are where they were
        assert ask(server, "SELECT word FROM kept") == "word"


def test_programs_that_the_account_cannot_reach_are_copied(closed_home: Path) -> None:
    found, site = find_binaries(), closed_home.parent / "site-packages"
    hidden = Binaries(site / found.root.parent.name / found.root.name)
    for source, place in ((found.root, hidden.root), (found.libraries, hidden.libraries)):
        if source.exists():
            shutil.copytree(source, place, symlinks=True, copy_function=os.link)
    server = EmbeddedServer(closed_home, binaries=hidden, grace=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NAMESPACE_VARIABLE, "off")
        server.acquire()
    try:
        running = Path(os.readlink(f"/proc/{status_of(server).pid}/exe"))
        assert running.is_relative_to(Path(status_of(server).data).parent)
        assert ask(server, "SELECT 1") == "1"
    finally:
        server.release()


def test_killed_in_an_account_it_recovers(open_dir: Path) -> None:
    home = open_dir / "postgres"
    with serving(home, FORBIDDEN) as server:
        before = status_of(server)
        os.kill(before.supervisor, signal.SIGKILL)
        os.kill(before.pid, signal.SIGKILL)
        wait_until(lambda: is_stopped(home), "the supervisor is dead")
        server.acquire()
        assert ask(server, "SELECT 1") == "1"
        assert status_of(server).data == before.data
        assert uid_of_process(status_of(server).pid) != 0


CONTAINER = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,mknod,setfcap"
IN_CONTAINER = (
    "setpriv",
    "--bounding-set=-all," + ",".join(f"+{name}" for name in CONTAINER.split(",")),
    "--inh-caps=-all",
)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs util-linux")
def test_with_the_capabilities_of_a_container_it_serves_and_recovers(open_dir: Path) -> None:
    home = open_dir / "postgres"
    first = Client(home, environment=FORBIDDEN, prefix=IN_CONTAINER)
    assert first.answer().startswith("postgresql+psycopg://")
    server = EmbeddedServer(home)
    before = status_of(server)
    os.kill(before.supervisor, signal.SIGKILL)
    wait_until(lambda: is_stopped(home), "the supervisor is dead")
    second = Client(home, environment=FORBIDDEN, prefix=IN_CONTAINER)
    second.answer()
    assert status_of(server).pid == before.pid
    look = (
        "import sys, pathlib, db.embedded.machine.probe as p; "
        "print(p.server_processes(pathlib.Path(sys.argv[1])))"
    )
    command = [*IN_CONTAINER, sys.executable, "-c", look, before.data]
    assert str(before.pid) in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    os.kill(status_of(server).supervisor, signal.SIGKILL)
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: is_stopped(home), "the supervisor is dead")
    third = Client(home, environment=FORBIDDEN, prefix=IN_CONTAINER)
    assert third.answer().startswith("postgresql+psycopg://")
    assert ask(server, "SELECT 1") == "1"
    for client in (first, second, third):
        client.leave()


def test_stories_written_in_a_namespace_are_not_taken_for_lost(home: Path) -> None:
    if (home / "data").stat().st_uid != 0:
        pytest.skip("user namespaces are forbidden here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NAMESPACE_VARIABLE, "off")
        with pytest.raises(StorageError) as caught:
            EmbeddedServer(home).acquire()
    assert "user namespace" in caught.value.message
    assert "storyengine db backup" in caught.value.hint


def test_a_directory_that_everybody_can_write_to_is_no_base_for_an_account(open_dir: Path) -> None:
    open_dir.chmod(0o777)
    assert open_dir / "postgres-account" not in account_bases(open_dir / "postgres")


def test_who_gets_through_a_path(open_dir: Path) -> None:
    inner = open_dir / "inner"
    inner.mkdir(mode=0o700)
    assert not can_reach(inner, NOBODY.pw_uid, NOBODY.pw_gid)
    assert can_reach(inner, 0, 0)
    os.chown(inner, NOBODY.pw_uid, 0)
    assert can_reach(inner, NOBODY.pw_uid, NOBODY.pw_gid)
    assert not can_reach(inner, 0, 0)
    inner.chmod(0o005)
    assert not can_reach(inner, NOBODY.pw_uid, NOBODY.pw_gid)
    assert not can_reach(open_dir / "nothing", 0, 0)


def interpreter_for(uid: int) -> str:
    """Return a Python that this user may run; ours may be in root's own directory."""
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for name in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            ran = subprocess.run([name, "-c", check], user=uid, group=uid, extra_groups=[], check=False)
        except OSError:
            continue
        if ran.returncode == 0:
            return name
    pytest.skip("no Python here that an ordinary user may run")


@pytest.mark.parametrize("uid", [NOBODY.pw_uid, 54321], ids=["ordinary", "nameless"])
def test_other_users_have_a_server_of_their_own(open_dir: Path, uid: int) -> None:
    if uid != NOBODY.pw_uid and not can_have_namespaces():
        pytest.skip("user namespaces are forbidden here")
    own = open_dir / "home"
    own.mkdir(mode=0o700)
    os.chown(own, uid, uid)
    home = own / "postgres"
    client = Client(home, interpreter=interpreter_for(uid), user=uid, environment={"HOME": str(own)})
    assert client.answer().startswith("postgresql+psycopg://")
    status = status_of(EmbeddedServer(home))
    assert uid_of_process(status.pid) == uid
    assert Path(status.data).stat().st_uid == uid
    query = [str(find_binaries().program("psql")), "-Atc", "SHOW server_encoding"]
    environment = client_environment(EmbeddedServer(home))
    said = subprocess.run(
        query,
        env=environment,
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "UTF8\n"
    client.leave()
    wait_until(lambda: is_stopped(home), "the ordinary user's server stops")


def test_a_user_without_a_name_and_without_namespaces_is_told(open_dir: Path) -> None:
    uid = 54321
    own = open_dir / "home"
    own.mkdir(mode=0o700)
    os.chown(own, uid, uid)
    client = Client(own / "postgres", interpreter=interpreter_for(uid), user=uid, environment=FORBIDDEN)
    answer = client.answer()
    client.leave()
    assert "has no name here" in answer
    assert "STORYENGINE_DATABASE_URL" in answer


def test_root_with_no_directory_to_give_is_told(closed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMESPACE_VARIABLE, "off")
    monkeypatch.setattr("db.embedded.machine.run_as.FALLBACK_BASES", ())
    with pytest.raises(EmbeddedError, match="can reach no directory"):
        choose_run_as(closed_home, find_binaries())
