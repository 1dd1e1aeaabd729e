"""Keys reach nothing: planted ones are used, refused and echoed, then looked for in all that was written."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex

import pytest

from db.embedded.machine.binaries import find_binaries
from db.embedded.server import EmbeddedServer
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.prefork import Forked
from tests.e2e.program import PATIENCE, PROGRAM, WORDS_ALONE, Machine, chapter_script, machine, warm_machine
from tests.e2e.terminal.game_master import GameMaster
from tests.http_faults import FaultServer, Reply, error_reply, text_reply
from tests.store.embedded.server_status import client_environment
from tests.terminal import Size

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="reads /proc")]

KEY = f"sk-canary-{token_hex(6)}"
"""Of this run alone: processes are looked at where another run may be on the machine."""
RINGED = "canary-ringed-6b7c8d9e0f"
PASSWORD = "canary-password-11aa22bb"
CANARIES = [text.encode() for text in (KEY, KEY[10:], RINGED, PASSWORD)]
RING = f"""
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        return "-".join(["canary", "ringed", "{RINGED[-10:]}"])
    def set_password(self, service, username, password):
        raise AssertionError
"""

KEPT_RING = """
from pathlib import Path
from keyring.backend import KeyringBackend
from keyring.errors import PasswordSetError

KEPT = Path(__file__).with_name("kept")

class Ring(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        return KEPT.read_text() if KEPT.exists() else None
    def set_password(self, service, username, password):
        KEPT.write_text(password)

class Locked(Ring):
    def set_password(self, service, username, password):
        raise PasswordSetError(f"{password} was refused")
"""


class Aviary:
    """A machine with a planted key, and everything that its programs ever said."""

    def __init__(self, here: Machine, server: FaultServer, rings: Path) -> None:
        self.here = here
        self.server = server
        self.heard: list[str] = []
        self.is_cold = False
        """Whether programs are started as a shell does, for what others see of them."""
        self._base = {
            "STORYENGINE_PROVIDER": "openai",
            "STORYENGINE_BASE_URL": server.base_url,
            "PYTHONPATH": str(rings),
        }
        self.planted = {**self._base, "STORYENGINE_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        self.unplanted = self._base
        self.ringed = {**self._base, "PYTHON_KEYRING_BACKEND": "canary_ring.Ring"}

    async def run(self, *arguments: str | Path, **environment: str) -> int:
        """Run a command, a traceback allowed, and keep what it says."""
        given = environment or self.planted
        code, *said = await asyncio.to_thread(self._run, arguments, given)
        self.heard += said
        return code

    def _run(self, arguments: tuple[str | Path, ...], environment: dict[str, str]) -> tuple[int, str, str]:
        begun: Forked | subprocess.Popen[str]
        if self.is_cold:
            begun = self.here.start_anew(*arguments, **environment)
        else:
            begun = self.here.start(*arguments, **environment)
        output, errors = begun.communicate(timeout=PATIENCE)
        return begun.returncode, output, errors

    @property
    def keys_used(self) -> set[str]:
        """What the service was really shown: a canary that nobody carries proves nothing."""
        return {request.headers.get("authorization", "") for request in self.server.requests}


@pytest.fixture
def here() -> Iterator[Machine]:
    """A machine of the test's own: all that is written there is looked through."""
    with warm_machine() as (made, _):
        yield made


@pytest.fixture
def unstarted() -> Iterator[Machine]:
    """A machine on which no server has run yet, and which may stop its own."""
    with machine() as made:
        yield made


@asynccontextmanager
async def aviary(here: Machine, rings: Path) -> AsyncIterator[Aviary]:
    (rings / "canary_ring.py").write_text(RING)
    async with FaultServer() as server:
        yield Aviary(here, server, rings)


def processes() -> dict[int, tuple[bytes, bytes]]:
    """Command line and environment of every process of this machine that we may look at."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            found[int(place.name)] = ((place / "cmdline").read_bytes(), (place / "environ").read_bytes())
        except OSError:
            continue
    return found


def echo(status: int) -> Reply:
    """A refusal that repeats the key, as some services do."""
    return error_reply(status, f"Incorrect API key provided: {KEY}, Authorization: Bearer {KEY}")


def searched(where: Path) -> dict[Path, bytes]:
    """Return every file with its bytes, but for those that the server removes meanwhile."""
    found: dict[Path, bytes] = {}
    for file in where.rglob("*"):
        if file.is_file() and not file.is_symlink():
            with suppress(FileNotFoundError):
                found[file] = file.read_bytes()
    return found


def holders(where: Path) -> list[Path]:
    """Return the files that hold the key."""
    return [file for file, content in searched(where).items() if KEY.encode() in content]


def dump(here: Machine) -> bytes:
    """Return the whole database as plain text: in its files, long values are compressed."""
    server = EmbeddedServer(here.data / "postgres")
    server.acquire(PATIENCE)
    try:
        done = subprocess.run(
            [find_binaries().program("pg_dump"), "--inserts"],
            env=client_environment(server),
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
    finally:
        server.release()
    return done.stdout


def unpacked(backup: Path) -> bytes:
    """Return what is in a backup as plain text: the file itself is compressed."""
    command: list[str | Path] = [find_binaries().program("pg_restore"), "--file=-", backup]
    return subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE).stdout


async def test_a_key_is_nowhere_but_in_the_call(here: Machine, tmp_path: Path) -> None:
    script = here.write("canary.toml", chapter_script("Canary", 8))
    play: tuple[str | Path, ...] = ("play", script, "--out", here.out)
    async with aviary(here, tmp_path) as cage:
        cage.server.script(echo(401))
        assert await cage.run(*play, "--debug") == 4, "a traceback changes no exit code"
        assert "Traceback" in cage.heard[-1]
        cage.server.script(*[echo(status) for status in (500, 429, 403)])
        assert await cage.run(*play) == ExitCode.MODEL_FAILED
        assert await cage.run(*play, **cage.ringed) == ExitCode.OK
        for command in (
            ("doctor",),
            ("model", "show"),
            ("show", "last"),
            ("context", "last", "--slot", "1"),
            ("export", "last", "--out", here.out / "canary.json"),
            ("db", "backup", here.out / "canary.backup"),
            ("db", "url"),
        ):
            assert await cage.run(*command, **cage.planted, **WORDS_ALONE) == ExitCode.OK, cage.heard[-1]
        assert {f"Bearer {KEY}", f"Bearer {RINGED}"} <= cage.keys_used
    everything = {
        "what was said": "\n".join(cage.heard).encode(),
        "the database": await asyncio.to_thread(dump, here),
        "the backup": await asyncio.to_thread(unpacked, here.out / "canary.backup"),
        **{str(file): content for file, content in searched(here.root).items()},
    }
    assert b"Canary, prompt 8" in everything["the database"]
    assert b"Canary, prompt 8" in everything["the backup"]
    assert [name for name, text in everything.items() if any(canary in text for canary in CANARIES)] == []


@pytest.mark.parametrize("place", [".env", "config.toml"])
async def test_a_key_that_stands_in_a_file_is_used_and_is_in_no_other(
    here: Machine, tmp_path: Path, place: str
) -> None:
    config = here.root / "config"
    config.mkdir(mode=0o700)
    if place == ".env":
        file = here.write(place, f"STORYENGINE_API_KEY={KEY}\n")
    else:
        file = config / place
        file.write_text(f'api_key = "{KEY}"\n')
    file.chmod(0o600)
    script = here.write("canary.toml", chapter_script("Canary", 1))
    async with aviary(here, tmp_path) as cage:
        environment = {**cage.unplanted, **WORDS_ALONE, "STORYENGINE_CONFIG_DIR": str(config)}
        cage.server.script(echo(401))
        assert await cage.run("play", script, "--out", here.out, "--debug", **environment) != ExitCode.OK
        for command in (
            ("play", script, "--out", here.out),
            ("doctor",),
            ("model", "show"),
            ("backup", here.out / "canary.backup"),
        ):
            assert await cage.run(*command, **environment) == ExitCode.OK, cage.heard[-1]
        assert cage.keys_used == {f"Bearer {KEY}"}
    assert KEY not in "\n".join(cage.heard)
    assert KEY.encode() not in await asyncio.to_thread(dump, here)
    assert KEY.encode() not in await asyncio.to_thread(unpacked, here.out / "canary.backup")
    assert holders(here.root) == [file]


async def test_no_process_shows_a_key_and_those_we_leave_running_do_not_have_it(
    unstarted: Machine, tmp_path: Path
) -> None:
    script = unstarted.write("canary.toml", chapter_script("Canary", 1))
    async with aviary(unstarted, tmp_path) as cage:
        gate = asyncio.Event()
        cage.server.script(Reply((gate, *text_reply("Late.").steps)))
        before = set(processes())
        cage.is_cold = True
        playing = asyncio.create_task(cage.run("play", script, "--out", unstarted.out))
        await cage.server.arrived()
        ours = {number: told for number, told in processes().items() if number not in before}
        gate.set()
        await playing
    lines = [line for line, _ in ours.values()]
    assert any(b"postgres" in line for line in lines)
    assert not [line for line in lines if any(canary in line for canary in CANARIES)]
    holders = [line for line, environment in ours.values() if KEY.encode() in environment]
    assert len(holders) == 1, "the program itself, whom it was given to"


async def test_the_password_of_a_database_is_not_repeated(unstarted: Machine, tmp_path: Path) -> None:
    async with aviary(unstarted, tmp_path) as cage:
        url = f"postgresql://gm:{PASSWORD}@127.0.0.1:1/stories"
        for command in (("sessions",), ("doctor",), ("db", "backup", unstarted.out), ("sessions", "--debug")):
            environment = {"STORYENGINE_DATABASE_URL": url, **WORDS_ALONE}
            assert await cage.run(*command, **environment) != ExitCode.OK
    told = "\n".join(cage.heard).encode() + b"".join(searched(unstarted.root).values())
    assert PASSWORD.encode() not in told


async def test_a_key_in_settings_that_are_not_valid_is_not_repeated(
    unstarted: Machine, tmp_path: Path
) -> None:
    unstarted.write(".env", f"STORYENGINE_PROFILES__PRODUCTION__API_KEY={KEY}\n").chmod(0o600)
    config = tmp_path / "config"
    config.mkdir(mode=0o700)
    async with aviary(unstarted, tmp_path) as cage:
        for text in (f'api_key = ["{KEY}"]', f'api_key = "{KEY}', f'[profiles.local]\nbase_url = ["{KEY}"]'):
            (config / "config.toml").write_text(text)
            for command in (("sessions",), ("sessions", "--debug"), ("doctor",), ()):
                assert await cage.run(*command, STORYENGINE_CONFIG_DIR=str(config)) != ExitCode.OK
    told = "\n".join(cage.heard)
    assert "not valid" in told
    assert KEY not in told
    assert not [file for file in holders(unstarted.root) if file.name != ".env"]


async def test_a_key_that_is_typed_for_the_keyring_is_kept_there_and_shown_nowhere(
    here: Machine, tmp_path: Path
) -> None:
    script = here.write("canary.toml", chapter_script("Canary", 1))
    async with aviary(here, tmp_path) as cage:
        (tmp_path / "kept_ring.py").write_text(KEPT_RING)
        command = (PROGRAM, "model", "key")
        for ring, end in (("Locked", "no keyring"), ("Ring", "Saved in the keyring")):
            environment = {**cage.unplanted, "PYTHON_KEYRING_BACKEND": f"kept_ring.{ring}"}
            with GameMaster(here, environment, program=command, size=Size(120, 24)) as window:
                window.type_hidden("Key", KEY)
                window.wait_for(end)
                assert KEY.encode() not in window.received
        assert await cage.run("play", script, "--out", here.out, **environment) == ExitCode.OK
        assert cage.keys_used == {f"Bearer {KEY}"}, "from the keyring"
    assert KEY not in "\n".join(cage.heard)
    assert holders(here.root) == []
