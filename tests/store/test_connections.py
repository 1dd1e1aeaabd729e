"""How a database is named, and the sentence for each way in which it cannot be reached."""

import asyncio
import socket
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from core.domain.errors import ErrorCode, StorageError
from core.domain.session.session import Session
from core.storage.session_store import Lease
from db import connections as connect
from db.connections import parse_url, refuse_transaction_pooler
from db.errors import LOAD, SAVE, guarded, translated
from db.store import PostgresStore, open_store
from tests.store import chapters

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "text",
    [
        "postgres://u:p%40@h:5432/d?sslmode=require",
        "postgresql://u:p%40@h:5432/d?sslmode=require",
        " postgresql+psycopg2://u:p%40@h:5432/d?sslmode=require\n",
        "postgresql+asyncpg://u:p%40@h:5432/d?sslmode=require",
    ],
)
def test_every_spelling_of_a_url_is_understood(text: str) -> None:
    url = parse_url(text)
    assert url.drivername == "postgresql+psycopg"
    assert (url.username, url.password, url.host, url.port, url.database) == ("u", "p@", "h", 5432, "d")
    assert url.query == {"sslmode": "require"}


@pytest.mark.parametrize("text", ["", "db.example.org", "mysql://u:secret@h/d", "sqlite:///x"])
def test_what_is_no_url_of_postgresql_gets_a_sentence(text: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_url(text)
    assert "STORYENGINE_DATABASE_URL" in caught.value.hint
    assert "secret" not in str(caught.value)
    assert not caught.value.is_transient


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


async def test_a_server_that_does_not_answer_is_given_up(silent_port: int) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(StorageError) as caught:
            await open_store(f"postgresql://u@127.0.0.1:{silent_port}/d?connect_timeout=2")
    assert caught.value.is_transient


async def test_a_server_notices_within_half_a_minute_that_a_window_has_vanished(url: str) -> None:
    connection = await connect.open_connection(parse_url(url))
    try:
        is_remote = make_url(url).host == "127.0.0.1"  # A socket has no such time-outs: they are zero.
        for name, seconds in (("idle", "15"), ("interval", "5"), ("count", "3")):
            cursor = await connection.execute(f"SELECT current_setting('tcp_keepalives_{name}')".encode())
            assert await cursor.fetchone() == (seconds if is_remote else "0",), name
    finally:
        await connection.close()


async def test_a_server_that_is_not_there_may_come_back() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StorageError) as caught:
        await open_store(f"postgresql://u@127.0.0.1:{port}/d")
    assert caught.value.is_transient
    assert caught.value.code is ErrorCode.STORAGE_LOAD_FAILED


async def test_a_database_that_is_not_there_may_come_back_and_is_named_without_its_password(url: str) -> None:
    nowhere = make_url(url).set(database="not_there").render_as_string(hide_password=False)
    with pytest.raises(StorageError) as caught:
        await open_store(nowhere)
    assert caught.value.is_transient
    assert "not_there" in caught.value.hint
    assert (make_url(url).password or "no password") not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "is_transient"),
    [
        (errors.DiskFull("full"), True),
        (errors.AdminShutdown("bye"), True),
        (errors.CrashShutdown("bye"), True),
        (errors.CannotConnectNow("starting"), True),
        (errors.TooManyConnections("full"), True),
        (errors.DeadlockDetected("again"), True),
        (errors.SerializationFailure("again"), True),
        (errors.QueryCanceled("slow"), True),
        (errors.LockNotAvailable("busy"), True),
        (errors.ReadOnlySqlTransaction("standby"), True),
        (errors.IoError("disk"), True),
        (psycopg.OperationalError("the connection is lost"), True),
        (psycopg.OperationalError('FATAL:  password authentication failed for user "gm"'), True),
        (errors.InvalidPassword("no"), True),
        (errors.InvalidCatalogName("renamed"), True),
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (errors.UniqueViolation("twice"), False),
        (errors.CheckViolation("no"), False),
        (errors.SyntaxError("a bug"), False),
        (errors.UndefinedTable("no such table, or no right to its schema"), True),
        (errors.InsufficientPrivilege("no"), True),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(error: Exception, is_transient: bool) -> None:
    found = translated(error, SAVE)
    assert isinstance(found, StorageError)
    assert found.is_transient is is_transient


async def test_the_cause_is_kept_and_bugs_are_not_dressed_up() -> None:
    lost = psycopg.OperationalError("lost")
    with pytest.raises(StorageError) as caught:
        async with guarded(LOAD):
            raise lost
    assert caught.value.__cause__ is lost
    with pytest.raises(KeyError):
        async with guarded(LOAD):
            raise KeyError("a bug")


async def test_an_error_of_the_database_does_not_repeat_the_texts_that_were_to_be_stored(url: str) -> None:
    engine = connect.open_engine(parse_url(url))
    try:
        with pytest.raises(DBAPIError) as caught:
            async with engine.connect() as connection:
                await connection.execute(text("SELECT length(:said) / 0"), {"said": "The lamp is out."})
    finally:
        await engine.dispose()
    assert "division by zero" in str(caught.value)
    assert "lamp" not in str(caught.value)


async def test_a_call_that_hangs_is_given_up() -> None:
    with pytest.raises(StorageError, match="answer in time"):
        async with guarded(LOAD, seconds=0.01):
            await asyncio.Event().wait()


async def test_a_row_that_is_locked_by_another_is_waited_for_and_not_for_ever(
    store: PostgresStore, locked: tuple[Session, Lease], raw: psycopg.Connection
) -> None:
    """A cancelled commit leaves nothing, and the next one goes through."""
    session, lease = locked
    changes = chapters.turn(session)
    with raw.transaction():
        raw.execute("SELECT FROM session FOR UPDATE")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await store.commit(changes, lease)
    assert await store.log(session.id) == []
    await store.commit(changes, lease)
    assert len(await store.log(session.id)) == 2


async def test_every_connection_is_bounded(store: PostgresStore, url: str) -> None:
    connection = await connect.open_connection(parse_url(url))
    cursor = await connection.execute(
        "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)",
        (["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "TimeZone"],),
    )
    settings: dict[str, str] = dict(await cursor.fetchall())
    await connection.close()
    assert settings.pop("TimeZone") == "UTC"
    assert all(int(limit) > 0 for limit in settings.values())
    assert len(settings) == 3


async def test_a_connection_that_cannot_be_bounded_is_closed(
    url: str, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_LIMITS", "SELECT 1 / 0")
    with pytest.raises(errors.DivisionByZero) as refused:  # whose traceback keeps the connection
        await connect.open_connection(parse_url(url))

    async def is_closed() -> bool:
        row = raw.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%1 / 0'"
        ).fetchone()
        return row == (0,)

    await chapters.until(is_closed)
    assert refused.tb is not None


def test_connecting_is_bounded_unless_the_url_says_otherwise() -> None:
    assert connect._timeouts(parse_url("postgresql:///d"))["connect_timeout"] == 10
    assert "connect_timeout" not in connect._timeouts(parse_url("postgresql:///d?connect_timeout=2"))


async def test_a_server_itself_is_no_pooler(url: str) -> None:
    await refuse_transaction_pooler(parse_url(url))


@pytest.mark.parametrize(
    ("processes", "is_refused"),
    [
        pytest.param([-1, 7, 7], True, id="two connections, one process"),
        pytest.param([-1, 7, 8, 8, 9, 9, 7], True, id="one connection, several processes"),
        pytest.param([-1, 7, 8, 7, 8, 7, 8], False, id="a pool in session mode"),
    ],
)
async def test_a_pooler_in_transaction_mode_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch, processes: list[int], is_refused: bool
) -> None:
    answers = [*processes, *processes[-2:] * 3]

    async def next_process(_: object) -> int:
        return answers.pop(0)

    monkeypatch.setattr(connect, "_server_process", next_process)
    if not is_refused:
        await refuse_transaction_pooler(parse_url(url))
        return
    with pytest.raises(StorageError, match="transaction mode") as caught:
        await refuse_transaction_pooler(parse_url(url))
    assert not caught.value.is_transient


def test_a_server_without_room_for_a_connection_says_that_its_disk_is_full() -> None:
    error = psycopg.OperationalError(
        "connection failed: FATAL:  could not write init file: No space left on device"
    )
    told = translated(error, SAVE)
    assert isinstance(told, StorageError)
    assert told.hint == "The disk of the database is full; make room and try again."
    assert told.is_transient
