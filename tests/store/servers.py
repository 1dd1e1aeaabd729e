"""Two real servers for the store tests: the private one, and a plain one that is reached by a URL."""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from db.embedded.machine.access import ADMINISTRATOR, ROLE
from db.embedded.machine.binaries import find_binaries
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore
from tests.store.made_data import copy, copy_private_data, fast_directory, made_once, migrate, wait_stopped

PATIENCE = 60.0
TEMPLATE = "story_template"
_numbers = count(1)
_OPTIONS = {
    "dynamic_shared_memory_type": "mmap",
    "fsync": "on",
    "io_method": "sync",
    "jit": "off",
    "max_connections": "60",
    "shared_buffers": "32MB",
}


class PlainServer:
    """A server on a random loopback port with a password, as an administrator would run one."""

    def __init__(self, home: Path) -> None:
        self._data = home / "data"
        self._password = (home / "password").read_text()
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def make(cls, home: Path) -> None:
        """Make the data of such a server, whose database is up to date, and its password."""
        words = home / "password"
        words.write_text(secrets.token_urlsafe(12))
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (home, words):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        subprocess.run(
            cls._command("initdb", "-D", home / "data", "-U", "gm", f"--pwfile={words}", *options),
            check=True,
            capture_output=True,
            timeout=PATIENCE,
            **_unprivileged(),
        )
        server = cls(home)
        server.start()
        # A test that asks for a server may run in an event loop.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(asyncio.run, migrate(server.url)).result(PATIENCE)
        server.stop()

    @property
    def url(self) -> str:
        """As a user would write it into STORYENGINE_DATABASE_URL."""
        return f"postgres://gm:{self._password}@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start, and return once it answers."""
        address = {"listen_addresses": "127.0.0.1", "port": str(self._port), "unix_socket_directories": ""}
        settings = [f"--{name}={value}" for name, value in (_OPTIONS | address).items()]
        self._process = subprocess.Popen(
            self._command("postgres", "-D", self._data, *settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_unprivileged(),
        )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)  # between two questions to another process

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop at once: SIGINT ends sessions in order, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @staticmethod
    def _command(name: str, *arguments: str | Path) -> list[str | Path]:
        return [find_binaries().program(name), *arguments]


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    """Run a plain server, whose database is up to date, for as long as the block lasts."""
    home = Path(tempfile.mkdtemp(prefix="plain-pg-", dir=fast_directory()))
    copy(made_once("plain", PlainServer.make), home)
    server = PlainServer(home)
    try:
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def private_server() -> Iterator[str]:
    """Run the private server, whose database is up to date, and yield its URL."""
    home = Path(tempfile.mkdtemp(prefix="private-pg-", dir=fast_directory()))
    copy_private_data(home)
    server = EmbeddedServer(home, grace=0.0)
    try:
        url = server.acquire()
        # A test has a database of its own; nothing else makes one.
        administer(as_administrator(url), "ALTER ROLE {} CREATEDB", ROLE)
        yield url
    finally:
        server.release()
        wait_stopped(home)
        shutil.rmtree(home, ignore_errors=True)


async def give_back(store: PostgresStore) -> None:
    """Give back what the store holds of chapters: each lock has a connection of its own, and they are few."""
    for lease in tuple(store._locks.held):
        await lease.aclose()


def in_database(server_url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return make_url(server_url).set(database=name).render_as_string(hide_password=False)


def database_of(url: str) -> str:
    """Return the name of the database that the URL names."""
    return str(make_url(url).database)


def as_administrator(url: str) -> str:
    """Return the URL with the superuser's name, where the private server is meant; any other as it is."""
    parsed = make_url(url)
    named = parsed.set(username=ADMINISTRATOR) if parsed.username == ROLE else parsed
    return named.render_as_string(hide_password=False)


def plain_url(url: str) -> str:
    """Return the URL as libpq spells it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def cloned(server_url: str, template: str = TEMPLATE) -> Iterator[str]:
    """Make a database from a template, and drop it when done.

    The files are copied: writing each page to the log too, as the server does by itself, takes three times
    as long.
    """
    name = f"story_{next(_numbers)}"
    administer(server_url, "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
    try:
        yield in_database(server_url, name)
    finally:
        # A vacuum of the server's own may be at work in it, which only an administrator may end.
        administer(as_administrator(server_url), "DROP DATABASE {} WITH (FORCE)", name)


def administer(server_url: str, statement: str, *names: str) -> None:
    """Run a statement about databases, outside any of them that matters."""
    with psycopg.connect(plain_url(server_url), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _unprivileged() -> dict[str, Any]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PG")}
    user = "nobody" if os.geteuid() == 0 else None
    return {"env": {**environment, "LC_ALL": "C", "TZ": "UTC"}, "user": user}
