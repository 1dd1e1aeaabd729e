"""What the doctor says of pgvector is what the server has."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from core.domain.errors import StorageError
from db.schema.extensions import VectorExtension, find_vector_extension
from tests.store.servers import cloned, plain_url


@pytest.fixture
def plain(plain_template: str) -> Iterator[str]:
    """A database of a server that the GM runs, as its administrator, with nothing in it."""
    yield from cloned(plain_template, "template0")


def look(url: str) -> VectorExtension:
    return asyncio.run(find_vector_extension(url))


def connect(url: str) -> psycopg.Connection:
    return psycopg.connect(plain_url(url), autocommit=True)


def test_it_is_offered_until_it_is_put_into_the_database(plain: str) -> None:
    before = look(plain)
    assert before == VectorExtension(before.offered, "", True)
    assert look(plain) == before, "to look puts nothing there"
    with connect(plain) as connection:
        connection.execute("CREATE EXTENSION vector")
    assert look(plain) == VectorExtension(before.offered, before.offered, True)


def test_in_the_private_server_it_can_be_made_although_the_role_of_the_program_may_not(here: str) -> None:
    with connect(here) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE EXTENSION vector")
    assert look(here).can_be_made


def test_a_role_that_may_not_make_it_is_known(plain: str) -> None:
    with connect(plain) as connection:
        connection.execute("CREATE ROLE small LOGIN PASSWORD 'small'")
    try:
        url = make_url(plain).set(username="small", password="small")
        found = look(url.render_as_string(hide_password=False))
        assert found.offered
        assert not found.can_be_made
    finally:
        with connect(plain) as connection:
            connection.execute("DROP ROLE small")


def test_a_server_without_it_has_none(here: str) -> None:
    """An empty list in place of the server's own, as one without the extension has it."""
    with connect(here) as connection:
        connection.execute(
            "CREATE VIEW public.pg_available_extensions AS"
            " SELECT * FROM pg_catalog.pg_available_extensions WHERE name <> 'vector'"
        )
        connection.execute(
            "DO $$ BEGIN EXECUTE format("
            "'ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$"
        )
    assert look(here) == VectorExtension()


def test_a_server_that_is_away_is_a_sentence() -> None:
    with pytest.raises(StorageError):
        look("postgresql://gm:x@127.0.0.1:9/none")
