"""Backups across time: taken while the program plays, of an older schema, and of an older server."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from core.domain.errors import StorageError
from core.domain.ids import SessionId
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.sync.notifications import TextArrived
from core.storage.changes import Changes
from db.backups import client_programs
from db.backups.dump import backup, restore
from db.embedded.machine.binaries import Binaries
from db.embedded.server import EmbeddedServer
from db.schema.migrate import HEAD, known_revisions
from db.store import PostgresStore, open_store
from tests.engine.windows import (
    PATIENCE,
    GatedModel,
    Recorder,
    chapter,
    done,
    listening,
    play,
    record_test_call,
    window,
)
from tests.store.chapters import PROMPT_BLOCKS, taken
from tests.store.embedded.embedded_fixtures import directory, stop
from tests.store.schema.older_schema import add_every_state, make_old
from tests.store.servers import cloned, plain_url
from tests.torture.readers.reader import Reader, check_session, digest_of

pytestmark = pytest.mark.anyio

OLDER = [Path(place) for place in os.environ.get("STORYENGINE_OLDER_PG", "").split(os.pathsep) if place]
"""Directories that hold `bin`, `lib` and `share` of servers of older major versions."""
IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
RESTORED = known_revisions() if IS_WHOLE else tuple(sorted({known_revisions()[0], *known_revisions()[::-6]}))
"""Revisions whose backups are restored. `test_schema` brings a database up from each of them in every run."""
PROMPTS = 10
CORRECTION = "It is the bell that answers."
MEANWHILE = "And who rings the bell meanwhile?"


@pytest.fixture
def there(private_url: str) -> Iterator[str]:
    yield from cloned(private_url, "template0")


async def test_backups_that_are_taken_while_a_chapter_is_played_are_each_one_instant_of_it(
    here: str, there: str, tmp_path: Path
) -> None:
    store = await open_store(here)
    async with chapter(store) as session:

        async def play_on() -> None:
            for number in range(PROMPTS):
                await play(session, 1 + number // PROMPTS)
                if number % 3:
                    await session.edits.correct_canon(f"{CORRECTION} So it was after prompt {number}.")

        playing = asyncio.create_task(play_on())
        files: list[Path] = []
        while not playing.done() or not files:
            files.append(tmp_path / f"{len(files)}.backup")
            await backup(here, files[-1])
        await playing
        assert session.snapshot.session.prompt_index == PROMPTS, "the play went on all the while"
    await store.aclose()
    indexes: list[int] = []
    for file in (files[0], files[len(files) // 2], files[-1]):
        await restore(there, file, replace=True)
        with psycopg.connect(plain_url(there)) as raw:
            check_session(raw, session.id)
            indexes += raw.execute("SELECT prompt_index FROM session").fetchone() or ()
    assert indexes == sorted(indexes)


async def test_a_prompt_that_is_stored_during_a_backup_is_neither_lost_nor_torn(
    here: str, there: str, tmp_path: Path
) -> None:
    store = await open_store(here)
    model = GatedModel()
    during, after = tmp_path / "during.backup", tmp_path / "after.backup"
    async with chapter(store, model) as session, listening(session) as ears:
        model.gate.set()
        await play(session, 2)
        model.gate.clear()
        request_id = await session.submit_prompt(Slot.RED, MEANWHILE)
        await ears.hear(TextArrived, lambda heard: heard.request_id == request_id)
        with psycopg.connect(plain_url(here)) as other:
            other.execute("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE")
            backing = asyncio.create_task(backup(here, during))
            await _dump_waits(here)
            model.gate.set()
            await done(session, request_id)
            assert not backing.done(), "it is stored while the backup is taken"
        await backing
        await backup(here, after)
        assert (await store.log(session.id, first=3))[0].text == MEANWHILE
        session_id = session.id
    await store.aclose()
    await restore(there, during)
    assert await asyncio.to_thread(_told, there) == (2, 0), "of the instant at which the backup began"
    restored = await open_store(there)
    async with window(restored, None, session_id) as session:
        assert session.snapshot.unsent == {Slot.RED: MEANWHILE}, "it was on its way, and comes back"
    await restored.aclose()
    await restore(there, after, replace=True)
    assert await asyncio.to_thread(_told, there) == (3, 1)


def _told(url: str) -> tuple[int, int]:
    """Return the one chapter's pointer, and how often the prompt is in its story, once it keeps the rules."""
    with psycopg.connect(plain_url(url)) as raw:
        [(session_id, index)] = raw.execute("SELECT id, prompt_index FROM session").fetchall()
        check_session(raw, session_id)
        [(count,)] = raw.execute("SELECT count(*) FROM event WHERE text = %s", [MEANWHILE]).fetchall()
    return index, count


async def _dump_waits(url: str) -> None:
    """Return once pg_dump has its snapshot, and waits for its locks."""
    query = (
        "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'alembic_version'::regclass"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )

    def waits() -> bool:
        with psycopg.connect(plain_url(url)) as connection:
            return connection.execute(query).fetchone() is not None

    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(waits):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.02)  # a server announces no wait for a lock


@pytest.fixture(scope="module")
def old_backups(private_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Backups of one database at several of its revisions, each of which adds a chapter; named by them."""
    directory = tmp_path_factory.mktemp("old")

    async def back_up(url: str) -> None:
        for revision in RESTORED:
            await make_old(url, revision)
            await backup(url, directory / revision)

    for url in cloned(private_url, "template0"):
        asyncio.run(back_up(url))
    return directory


@pytest.mark.parametrize("revision", RESTORED)
async def test_a_backup_of_every_schema_there_ever_was_restores_into_this_program_and_plays_on(
    there: str, old_backups: Path, revision: str
) -> None:
    await restore(there, old_backups / revision)
    with psycopg.connect(plain_url(there)) as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]
    store = await open_store(there)
    newest, *older = await store.chapters.listed()
    assert len(older) == RESTORED.index(revision)
    await _plays_on(store, newest.id)
    await store.aclose()


async def _plays_on(store: PostgresStore, session_id: SessionId) -> None:
    """Play on in a chapter that `make_old` made."""
    model = Recorder()
    async with window(store, model, session_id) as session:
        assert [event.text for event in await session.reads.canon()] == ["Who is there?", "I am."]
        assert [block.payload for block in await session.reads.memory_blocks()] == [{"canon_locks": []}]
        await session.edits.correct_canon(CORRECTION)
        await play(session, 1)
        assert session.snapshot.session.prompt_index == 2
        await record_test_call(session)
        assert [one.kind for one in await session.reads.requests()] == [RequestKind.REPLY, RequestKind.TEST]
    assert CORRECTION in str(model.calls[0].messages)
    async with window(store, None, session_id) as session:
        assert [block.place for block in await session.reads.memory_blocks()] == [(0, 0), (0, 1)]


async def test_chapters_in_every_state_of_each_schema_without_prompt_blocks_can_be_given_some(
    here: str,
) -> None:
    """Each of these schemas adds its chapters to the same database; all are read, and some are given some."""
    revisions = [known for known in known_revisions() if known <= "story_0010"]
    for revision in revisions:
        await make_old(here, revision)
        await add_every_state(here)
    store = await open_store(here)
    lines = await store.chapters.listed()
    assert Counter(line.title for line in lines) == dict.fromkeys(("Old", *SessionState), len(revisions))
    for number, line in enumerate(lines):
        before = await store.load(line.id)
        assert line.title in ("Old", before.session.state)
        assert before.prompt_blocks == NO_PROMPT_BLOCKS
        if number % 9 and not IS_WHOLE:
            continue  # Each schema made eight: of each state that is one, of another schema.
        lease = await taken(store, line.id)
        changes = Changes(session_id=line.id, prompt_blocks=PROMPT_BLOCKS)
        await store.commit(changes, lease)
        await lease.aclose()
        after = await store.load(line.id)
        assert replace(after, prompt_blocks=NO_PROMPT_BLOCKS) == before
        assert after.prompt_blocks == PROMPT_BLOCKS
    await store.aclose()


@pytest.mark.skipif(not OLDER, reason="STORYENGINE_OLDER_PG names no older server")
@pytest.mark.parametrize("older", OLDER, ids=str)
async def test_chapters_of_an_older_server_come_over_by_the_documented_way(
    older: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with directory() as place:
        home = place / "postgres"
        before, session_id = await _play_on_older(home, older, tmp_path / "old.backup", monkeypatch)
        with pytest.raises(StorageError, match="were written by PostgreSQL") as refused:
            await EmbeddedServer(home, grace=0.0).acquire_async()
        assert "db backup" in refused.value.hint
        assert "db restore" in refused.value.hint
        home.rename(place / "put away")
        server = EmbeddedServer(home, grace=0.0)
        url = await server.acquire_async()
        await restore(url, tmp_path / "old.backup")
        assert await asyncio.to_thread(digest_of, plain_url(url)) == before
        store = await open_store(url)
        async with window(store, None, session_id) as session:
            await play(session, 2)
            await session.end_chapter()
            await session.wait_idle()
            await done(session, await session.build_narrative())
            assert session.snapshot.session.state is SessionState.ENDED
        await store.aclose()
        await asyncio.to_thread(Reader().check, plain_url(url))
        await asyncio.to_thread(server.release)


async def _play_on_older(
    home: Path, older: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, SessionId]:
    """Play on the older server, back up with its own programs, and stop it."""
    server = EmbeddedServer(home, binaries=Binaries(older), grace=0.0)
    url = await server.acquire_async()
    store = await open_store(url)
    async with chapter(store) as session:
        await play(session, 8)
    await store.aclose()
    with monkeypatch.context() as patch:
        patch.setenv(client_programs.OVERRIDE, str(older / "bin"))
        await backup(url, file)
    digest = await asyncio.to_thread(digest_of, plain_url(url))
    await asyncio.to_thread(server.release)
    await asyncio.to_thread(stop, home)
    return digest, session.id
