"""A database may keep its chapters in another schema than public: that of the role's search_path."""

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from core.domain.errors import StorageError
from db.backups.dump import backup, restore
from db.store import open_store
from tests.store import chapters
from tests.store.servers import administer, as_administrator, cloned, database_of, plain_url

pytestmark = pytest.mark.anyio

SCHEMA = 'The "story" of it\'s GM'


@pytest.fixture
def own_schema(empty_url: str) -> str:
    """A database in whose public schema another program has a table of a name of ours."""
    with psycopg.connect(plain_url(as_administrator(empty_url)), autocommit=True) as raw:
        raw.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
        raw.execute(sql.SQL("GRANT ALL ON SCHEMA {} TO PUBLIC").format(sql.Identifier(SCHEMA)))
        raw.execute("CREATE TABLE public.session (id int); INSERT INTO public.session VALUES (7)")
    path = "ALTER DATABASE {} SET search_path = {}, public"
    administer(as_administrator(empty_url), path, database_of(empty_url), SCHEMA)
    return empty_url


@pytest.fixture
def other_url(server_url: str) -> Iterator[str]:
    """Another database with nothing in it, which keeps chapters in public."""
    yield from cloned(server_url, "template0")


async def test_chapters_in_a_schema_of_their_own_are_backed_up_and_restored(
    own_schema: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.dump"
    async with aclosing(await open_store(own_schema)) as store:
        session, lease = await chapters.locked_session(store)
        session = await chapters.play(store, session, lease, 3)
        await lease.aclose()
        before = await store.log(session.id)
        await backup(own_schema, file)
        await store.chapters.archive(session.id, session.created_at)
        await store.chapters.purge(session.id)
    await restore(own_schema, file)
    await restore(own_schema, file, replace=True)
    async with aclosing(await open_store(own_schema)) as store:
        assert await store.log(session.id) == before
    with psycopg.connect(plain_url(as_administrator(own_schema))) as raw:
        assert raw.execute("SELECT id FROM public.session").fetchall() == [(7,)], "it is another program's"


async def test_a_backup_of_another_schema_is_refused_before_anything_is_changed(
    own_schema: str, other_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.dump"
    async with aclosing(await open_store(own_schema)) as store:
        await chapters.locked_session(store)
    await backup(own_schema, file)
    with pytest.raises(StorageError, match="keeps chapters in public") as refused:
        await restore(other_url, file)
    assert SCHEMA in refused.value.hint
