"""A server that refuses the program what it needs, until the GM repairs that: the paid reply waits for it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import make_url

from core.domain.errors import StorageError
from core.domain.slot import Slot
from core.engine.sync.notifications import StorageRecovered, StorageTrouble
from db.store import open_store
from tests.engine.windows import GatedModel, chapter, done, listening, play, streaming
from tests.store.servers import PlainServer, plain_server, plain_url

pytestmark = pytest.mark.anyio

ROLE, PASSWORD, ANOTHER = "player", "as it was", "changed"
GRANTS = (
    f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'",
    f"GRANT ALL ON SCHEMA public TO {ROLE}",
    f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {ROLE}",
)
NO_ROOM = f"ALTER ROLE {ROLE} CONNECTION LIMIT 0"
NO_WRITES = f"ALTER ROLE {ROLE} SET default_transaction_read_only = on"
"""The server as a whole may be read-only too; a role is enough to have every connection refuse to write."""


@pytest.fixture(scope="module")
def server() -> Iterator[PlainServer]:
    with plain_server() as server:
        with elsewhere(server) as connection:
            connection.execute("CREATE DATABASE beside")
        with psycopg.connect(plain_url(server.url), autocommit=True) as connection:
            for statement in GRANTS:
                connection.execute(statement.encode())
        yield server


@contextmanager
def elsewhere(server: PlainServer, database: str = "template1") -> Iterator[psycopg.Connection]:
    """Be the administrator of the server, in a database that is not the program's."""
    url = make_url(plain_url(server.url)).set(database=database)
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
        yield connection


def administer(server: PlainServer, *statements: str, database: str = "template1") -> None:
    with elsewhere(server, database) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def role_url(server: PlainServer) -> str:
    url = make_url(server.url).set(username=ROLE, password=PASSWORD)
    return url.render_as_string(hide_password=False)


END = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{ROLE}'"
CLOSE, OPEN = "ALTER DATABASE {} ALLOW_CONNECTIONS false", "ALTER DATABASE {} ALLOW_CONNECTIONS true"
REFUSALS = {
    "another password": (
        (f"ALTER ROLE {ROLE} PASSWORD '{ANOTHER}'", END),
        (f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'",),
    ),
    "no login": ((f"ALTER ROLE {ROLE} NOLOGIN", END), (f"ALTER ROLE {ROLE} LOGIN",)),
    "another name of the role": (
        (f"ALTER ROLE {ROLE} RENAME TO renamed", END.replace(ROLE, "renamed")),
        (f"ALTER ROLE renamed RENAME TO {ROLE}", f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'"),
    ),
    "another name of the database": (
        (CLOSE.format("postgres"), END, "ALTER DATABASE postgres RENAME TO renamed"),
        ("ALTER DATABASE renamed RENAME TO postgres", OPEN.format("postgres")),
    ),
    "a database that is closed": ((CLOSE.format("postgres"), END), (OPEN.format("postgres"),)),
    "no right to connect": (
        ("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC", END),
        ("GRANT CONNECT ON DATABASE postgres TO PUBLIC",),
    ),
    "no connection left": ((NO_ROOM, END), (NO_ROOM.replace("0", "-1"),)),
    "nothing but reading": ((NO_WRITES, END), (NO_WRITES.replace("= on", "= off"),)),
}
"""What an administrator of the server does, and how it is repaired."""
RIGHTS = {
    "no right to write": (f"REVOKE INSERT ON event FROM {ROLE}", f"GRANT INSERT ON event TO {ROLE}"),
    "no right to look": (f"REVOKE SELECT ON session FROM {ROLE}", f"GRANT SELECT ON session TO {ROLE}"),
    "no right to the schema": (
        f"REVOKE ALL ON SCHEMA public FROM {ROLE}; REVOKE USAGE ON SCHEMA public FROM PUBLIC",
        f"GRANT ALL ON SCHEMA public TO {ROLE}; GRANT USAGE ON SCHEMA public TO PUBLIC",
    ),
    "another name of a table": ("ALTER TABLE event RENAME TO event_", "ALTER TABLE event_ RENAME TO event"),
    "another name of a column": (
        "ALTER TABLE event RENAME COLUMN text TO text_",
        "ALTER TABLE event RENAME COLUMN text_ TO text",
    ),
}
CASES = {name: (*both, "template1") for name, both in REFUSALS.items()} | {
    name: ((broken,), (repaired,), "postgres") for name, (broken, repaired) in RIGHTS.items()
}


@pytest.mark.parametrize("case", CASES)
async def test_a_paid_reply_is_stored_once_the_gm_has_repaired_what_the_server_refused(
    server: PlainServer, case: str
) -> None:
    broken, repaired, database = CASES[case]
    store, model = await open_store(role_url(server)), GatedModel()
    try:
        async with chapter(store, model) as session, listening(session) as ears:
            request_id = await streaming(session, ears)
            await asyncio.to_thread(administer, server, *broken, database=database)
            try:
                model.gate.set()
                trouble = await ears.hear(StorageTrouble)
                with pytest.raises(StorageError, match="text is kept here") as refused:
                    await session.edits.save_unsent(Slot.ORANGE, "half a thought")
                assert trouble.error.hint == refused.value.hint
                assert "The database says: " in trouble.error.hint
            finally:
                await asyncio.to_thread(administer, server, *repaired, database=database)
            await done(session, request_id)
            await ears.hear(StorageRecovered)
            await session.edits.save_unsent(Slot.ORANGE, "half a thought")
            await play(session, 1)
            assert len(model.calls) == 2, "no reply was paid for twice"
            assert [event.text for event in await store.log(session.id)][::2] == [
                "One",
                "What now, prompt 2?",
            ]
            assert (await store.load(session.id)).unsent == {Slot.ORANGE: "half a thought"}
    finally:
        await store.aclose()
