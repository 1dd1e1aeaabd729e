"""The reader of the kills accepts a memory bank as the product stores it, and refuses one that is broken."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from core.domain.ids import SessionId
from core.storage.changes import Changes
from db.store import open_store
from tests.core.values.bank import walked
from tests.store import chapters
from tests.store.servers import as_administrator, cloned, plain_url
from tests.torture.readers.reader_of_bank import check_bank

Kept = tuple[psycopg.Connection, SessionId]


@pytest.fixture(scope="module")
def shared(private_template: str) -> Iterator[Kept]:
    """A chapter with two items, and a connection that may change them past all rules."""
    for url in cloned(private_template):
        session_id = asyncio.run(_keep(url))
        with psycopg.connect(plain_url(as_administrator(url)), autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            yield connection, session_id


@pytest.fixture
def kept(shared: Kept) -> Iterator[Kept]:
    """That chapter, and its connection in a transaction that is taken back."""
    with shared[0].transaction(force_rollback=True):
        yield shared


async def _keep(url: str) -> SessionId:
    store = await open_store(url)
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    await chapters.play(store, session, lease, 3)
    items = (walked(1, session.id), walked(2, session.id, "The mill"))
    await store.commit(Changes(session_id=session.id, items=items), lease)
    await store.bank.put([replace(items[0], version=2, is_pinned=True)])
    await lease.aclose()
    await store.aclose()
    return session.id


def test_items_with_their_proof_and_all_versions_are_what_the_product_stores(kept: Kept) -> None:
    check_bank(*kept)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("UPDATE event SET text = 'I stay here.' WHERE prompt_index = 3", "the words of each proof"),
        ("DELETE FROM event WHERE prompt_index = 3", "the words of each proof"),
        ("UPDATE event SET audience = 1 WHERE prompt_index = 3", "where all of the label heard them"),
        ("DELETE FROM bank_revision WHERE version = 1", "have gaps"),
        ("DELETE FROM bank_item WHERE version = 2", "have gaps"),
        ("UPDATE bank_item SET text = 'Other words.'", "an item is its newest version"),
        ("UPDATE bank_item SET validation = 'confirmed'", "an item is its newest version"),
        (
            "INSERT INTO bank_item SELECT (jsonb_populate_record(one, jsonb_build_object('item_id',"
            " gen_random_uuid()))).* FROM bank_item one WHERE version = 1",
            "an item is its newest version",
        ),
        (
            "UPDATE bank_item SET name = 'The mill'; UPDATE bank_revision"
            " SET content = jsonb_set(content, '{name}', '\"The mill\"')",
            "no item is stored twice",
        ),
        ("DELETE FROM bank_word WHERE word = 'walk'", "in the language of the chapter"),
        ("UPDATE bank_word SET word = 'walking' WHERE word = 'walk'", "in the language of the chapter"),
        ("UPDATE session SET language = 'german'", "in the language of the chapter"),
        (
            "UPDATE bank_item SET request_id = (SELECT request_id FROM llm_request LIMIT 1);"
            " UPDATE llm_request SET state = 'failed'",
            "together with the outcome",
        ),
    ],
)
def test_what_is_broken_is_refused(kept: Kept, broken: str, said: str) -> None:
    connection, session_id = kept
    connection.execute(broken.encode())
    with pytest.raises(AssertionError, match=said):
        check_bank(connection, session_id)
