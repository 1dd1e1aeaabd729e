"""Rules of the library, held by the database: raw SQL, past all of our code (design 14)."""

import asyncio
from contextlib import nullcontext
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import errors, sql

from core.domain.ids import CharacterId, LorebookId, ProposalId, SessionId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposedPart
from core.library.characters.character import KeptFile, LibraryCharacter, Topic, Trait
from core.library.lore.kept import KeptLorebook
from core.storage.changes import Changes
from db.store import open_store
from tests.store import chapters

NOW = datetime(2026, 11, 25, tzinfo=UTC)
FILE = KeptFile("card.json", b"{}")
WHO = CharacterId(new_uuid())
BOOK = LorebookId(new_uuid())


@pytest.fixture(scope="module")
def chapter(url: str) -> SessionId:
    """A chapter, in a database with one character of every part, and one lorebook."""

    async def fill() -> SessionId:
        store = await open_store(url)
        character = LibraryCharacter(
            id=WHO,
            name="Mira",
            traits=(Trait(name="Patient"),),
            topics=(Topic(name="The sea"),),
            created_at=NOW,
            updated_at=NOW,
        )
        await store.library.put_character(character, card=FILE)
        lore = KeptLorebook(id=BOOK, name="Harbour", created_at=NOW, updated_at=NOW)
        await store.library.put_lorebook(lore, file=FILE)
        session, lease = await chapters.locked_session(store)
        proposal = Proposal(
            id=ProposalId(new_uuid()),
            character_id=WHO,
            part=ProposedPart.IDENTITY,
            before=({"length": 0, "sha256": ""},),
            after=({"text": "More."},),
            occasion=Occasion.CHAPTER,
            prompt_index=1,
            created_at=NOW,
        )
        await store.commit(Changes(session_id=session.id, proposals=(proposal,)), lease)
        await store.aclose()
        return session.id

    return asyncio.run(fill())


@pytest.fixture
def library(raw: psycopg.Connection, chapter: SessionId) -> psycopg.Connection:
    """SQL in that database."""
    return raw


BROKEN = {
    "a strength above 1": "UPDATE cast_trait SET strength = 1.01",
    "a strength below 0": "UPDATE cast_trait SET strength = -0.01",
    "a strength that is no number": "UPDATE cast_trait SET strength = 'NaN'",
    "a sentiment of a trait above 1": "UPDATE cast_trait SET sentiment = 1.01",
    "a sentiment of a topic below -1": "UPDATE cast_topic SET sentiment = -1.01",
    "an exposure above 1": "UPDATE cast_topic SET exposure_now = 1.01",
    "a wish for exposure below 0": "UPDATE cast_topic SET exposure_desired = -0.01",
    "an exposure that is no number": "UPDATE cast_topic SET exposure_now = 'NaN'",
    "a trait without a name": "UPDATE cast_trait SET name = ' '",
    "a topic without a name": "UPDATE cast_topic SET name = ''",
    "more traits than fit": "UPDATE cast_trait SET place = 51",
    "a character without a name": "UPDATE cast_member SET name = ' '",
    "more names than fit": "UPDATE cast_member SET aliases = array_fill('x'::text, ARRAY[21])",
    "a character without a group": "UPDATE cast_member SET group_name = ''",
    "more groups than fit": "UPDATE cast_member SET groups_visible = array_fill('x'::text, ARRAY[20])",
    "an end of no pause": "UPDATE cast_member SET paused_until = now()",
    "half of an import": "UPDATE cast_member SET imported_name = 'Mira'",
    "a time that cannot be shown": "UPDATE cast_member SET updated_at = '11000-01-01Z'",
    "a version below 1": "UPDATE cast_member SET version = 0",
    "a card that is another file": "UPDATE cast_card SET content = 'x'",
    "a card of nothing": "UPDATE cast_card SET content = '', file_hash = encode(sha256(''), 'hex')",
    "a lorebook without a name": "UPDATE lorebook SET name = ''",
    "a lorebook that is another file": "UPDATE lorebook SET content = 'x'",
    "a lorebook with a count below 0": "UPDATE lorebook SET entry_count = -1",
    "an archived lorebook that is found by its name": "UPDATE lorebook SET archived_at = now()",
    "a lorebook that cannot be found": "UPDATE lorebook SET name_key = NULL",
    "a decision without a time": "UPDATE cast_proposal SET state = 'taken'",
    "a time of no decision": "UPDATE cast_proposal SET settled_at = now()",
    "a part that there is not": "UPDATE cast_proposal SET part = 'model'",
    "an occasion that there is not": "UPDATE cast_proposal SET occasion = 'whim'",
    "a state that there is not": "UPDATE cast_proposal SET state = 'lost'",
    "nothing that is proposed": "UPDATE cast_proposal SET after = '[]'",
    "proposed text that is no list": "UPDATE cast_proposal SET before = '{}'",
    "more than one proposal has": (
        "UPDATE cast_proposal SET after = to_jsonb(array_fill('x'::text, ARRAY[9]))"
    ),
    "a reason that is too long": "UPDATE cast_proposal SET why = repeat('x', 1001)",
    "a prompt before the first": "UPDATE cast_proposal SET prompt_index = 0",
    "a proposal of a time that cannot be shown": "UPDATE cast_proposal SET created_at = '11000-01-01Z'",
    "a book without a title": (
        "INSERT INTO book (id, title, name_key, author, description, created_at, updated_at, version)"
        " VALUES (gen_random_uuid(), '', '', '', '', now(), now(), 1)"
    ),
}


@pytest.mark.parametrize("statement", BROKEN.values(), ids=BROKEN)
def test_the_database_refuses(library: psycopg.Connection, statement: str) -> None:
    with pytest.raises(errors.CheckViolation):
        library.execute(statement.encode())


LINE = '{"kind": "canon", "text": "x", "known_to": [], "chapter": 1, "is_pinned": false, "is_struck": false}'


@pytest.fixture(scope="module")
def draft(url: str) -> SessionId:
    """A chapter whose tab 1 is open."""
    session = chapters.new_session()

    async def create() -> None:
        store = await open_store(url)
        await store.chapters.create(chapters.creation(session))
        await store.aclose()

    asyncio.run(create())
    return session.id


def write_into_tab1(
    raw: psycopg.Connection, draft: SessionId, column: str, value: str, *, is_taken: bool
) -> None:
    """Write JSON into a column of tab 1, which takes or refuses it."""
    update = sql.SQL("UPDATE tab1_input SET {} = %s::jsonb WHERE session_id = %s").format(
        sql.Identifier(column)
    )
    with nullcontext() if is_taken else pytest.raises(errors.CheckViolation):
        assert raw.execute(update, (value, draft)).rowcount == 1


@pytest.mark.parametrize(
    ("carried", "is_taken"),
    [
        ("{}", True),
        (f'{{"budget": 400, "lines": [{LINE}]}}', True),
        ('{"budget": 400, "lines": []}', False),
        ('{"budget": 400}', False),
        ("[]", False),
        (f'{{"lines": {{"0": {LINE}}}}}', False),
        (f'{{"lines": [{LINE.replace("canon", "rumour")}]}}', False),
        (f'{{"lines": [{LINE.replace(chr(34) + "x" + chr(34), chr(34) * 2)}]}}', False),
        (f'{{"lines": [{LINE.replace("[]", "5")}]}}', False),
        (f'{{"lines": [{LINE.replace("false", "0")}]}}', False),
        (f'{{"lines": [{", ".join([LINE] * 501)}]}}', False),
    ],
)
def test_what_comes_over_from_earlier_chapters_is_lines(
    raw: psycopg.Connection, draft: SessionId, carried: str, is_taken: bool
) -> None:
    write_into_tab1(raw, draft, "carried", carried, is_taken=is_taken)


OF_THE_LIBRARY = '"0199a1b2-0000-7000-8000-000000000001"'
PROFILE = (
    '{"character_id": null, "aliases": [], "short_description": "", "group": "Lamp", "groups_visible": []}'
)


@pytest.mark.parametrize(
    ("profiles", "is_taken"),
    [
        ("{}", True),
        (f'{{"1": {PROFILE}, "7": {PROFILE}}}', True),
        (f'{{"1": {PROFILE.replace("null", OF_THE_LIBRARY)}}}', True),
        (f'{{"1": {PROFILE[:-1]}, "model": "near:big"}}}}', True),
        (f'{{"1": {PROFILE[:-1]}, "tags": ["sea"]}}}}', True),
        (f'{{"1": {PROFILE[:-1]}, "tags": "sea"}}}}', False),
        (f'{{"1": {PROFILE[:-1]}, "tags": {list(range(101))}}}}}', False),
        (f'{{"1": {PROFILE[:-1]}, "model": ""}}}}', False),
        (f'{{"1": {PROFILE[:-1]}, "model": null}}}}', False),
        (f'{{"1": {PROFILE[:-1]}, "model": "{"x" * 201}"}}}}', False),
        (f'{{"1": {PROFILE.replace("null", chr(34) + "x" + chr(34))}}}', False),
        (f'{{"8": {PROFILE}}}', False),
        (f"[{PROFILE}]", False),
        ('{"1": {}}', False),
        ('{"1": 5}', False),
        (f'{{"1": {PROFILE.replace("null", "5")}}}', False),
        (f'{{"1": {PROFILE.replace("Lamp", "")}}}', False),
        (f'{{"1": {PROFILE.replace("[]", chr(34) * 2)}}}', False),
        (f'{{"1": {PROFILE.replace("[]", str(list(range(21))))}}}', False),
    ],
)
def test_what_slots_have_of_characters_is_profiles(
    raw: psycopg.Connection, draft: SessionId, profiles: str, is_taken: bool
) -> None:
    write_into_tab1(raw, draft, "profiles", profiles, is_taken=is_taken)


@pytest.mark.parametrize("table", ["cast_member", "lorebook"])
def test_what_is_not_archived_is_not_deleted(library: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.Error, match="only what is archived is deleted"):
        library.execute(f"DELETE FROM {table}".encode())


@pytest.mark.parametrize("table", ["cast_member", "lorebook", "book"])
def test_a_table_of_the_library_is_never_emptied(library: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.Error, match="tables are never emptied"):
        library.execute(f"TRUNCATE {table} CASCADE".encode())


def test_a_character_goes_with_all_its_parts(library: psycopg.Connection) -> None:
    library.execute("UPDATE cast_member SET archived_at = now()")
    library.execute("DELETE FROM cast_member")
    left = [
        library.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
        for table in ("cast_name", "cast_trait", "cast_topic", "cast_card")
    ]
    assert left == [(0,)] * 4
