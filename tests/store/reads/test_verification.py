"""`doctor --verify`: each kind of thing that a chapter or the library keeps, broken once, is named."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
import typer
from pydantic import SecretStr

from core.config.files.paths import find_paths
from core.config.settings import Settings
from core.domain.clock import utc_now
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.services.save_points.save_points import SavePoints
from core.engine.services.verification import StoredFault, Verification
from core.engine.session.session_handle import SessionHandle
from db.store import PostgresStore, open_store
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.cli.commands.system import doctor as command
from storyengine_tui.cli.exit_codes import ExitCode
from tests.core.library.cards.card_samples import V1, text_of
from tests.engine.library.lore_table import engine_on, entry, kept
from tests.engine.scene.test_scene import ALONE, say
from tests.engine.windows import create, done, play, set_up
from tests.store.servers import as_administrator, cloned, plain_url

pytestmark = pytest.mark.anyio
OTHER: Final = "gen_random_uuid()"


@pytest.fixture(scope="module")
def played(template: str) -> Iterator[str]:
    """The address of a database with a chapter that has one of everything, and a library."""
    for url in cloned(template):
        asyncio.run(_play(url))
        yield url


async def _play(url: str) -> None:
    store = await open_store(url)
    engine = engine_on(store)
    await engine.library.characters.import_card(text_of(V1), "kara.json")
    book = await kept(engine, entry("lamp"))
    session = await engine.open(await create(store, chunk_size=2))
    await set_up(session)
    await session.edits.attach_lore(await engine.library.lore.copy_of(book))
    await session.keeping.keep(is_on=True)
    await done(session, await session.lock())
    await _tell(session)
    await session.keeping.wait_until_read()
    [said, *_] = await session.newest_canon()
    quote = await session.bank.quote(session.snapshot.session, said, said.text)
    await session.bank.pin([quote])
    await session.aclose()
    plain = await _open_and_locked(engine, store)
    await play(plain, 1)
    await plain.aclose()
    await store.aclose()


async def _open_and_locked(engine: Engine, store: PostgresStore) -> SessionHandle:
    """Return a chapter whose canon never changes."""
    session = await engine.open(await create(store))
    await set_up(session)
    await done(session, await session.lock())
    return session


async def _tell(session: SessionHandle) -> None:
    """Play with takes, a whisper, a correction and a block that is built again, to two drafts."""
    await play(session, 1)
    await done(session, await session.takes.reroll())
    await session.wait_idle()
    await say(session, Slot.ORANGE, "To you.", ALONE[Slot.ORANGE])
    await session.edits.correct_canon("The lamp is blue.")
    await play(session, 2)
    await done(session, await session.takes.rebuild_block(2))
    await session.wait_idle()
    await session.end_chapter()
    await session.wait_idle()
    await done(session, await session.build_narrative())
    await session.wait_idle()


@pytest.fixture
def url(template: str, played: str) -> Iterator[str]:
    """A copy of that database, which the test may break."""
    yield from cloned(template, played.rsplit("/", 1)[-1].split("?")[0])


@pytest.fixture
def raw(url: str) -> Iterator[psycopg.Connection]:
    """What a database administrator can do: SQL past all triggers and foreign keys."""
    with psycopg.connect(plain_url(as_administrator(url)), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


async def verified(store: PostgresStore) -> tuple[list[StoredFault], list[str]]:
    """Return what does not hold, and the progress."""
    told: list[str] = []
    found = Verification(store, SavePoints(store, utc_now), told.append)
    return [fault async for fault in found.faults()], told


async def test_a_library_that_was_played_holds_and_says_how_much_it_is(store: PostgresStore) -> None:
    found, told = await verified(store)
    assert found == []
    assert [line.rpartition(", ")[2] for line in told] == ["1 of 2", "2 of 2", "the library"]


BREAKS: Final = {
    "the text of a call": (
        "UPDATE llm_content SET text = text || ' '",
        "the text of a call or of a lorebook with the hash",
    ),
    "an input": (
        "DELETE FROM llm_content WHERE hash IN (SELECT input_ref FROM llm_artifact)",
        "the input of a call is missing",
    ),
    "an output": (
        "DELETE FROM llm_content WHERE hash IN (SELECT output_ref FROM llm_artifact)",
        "the output of a call is missing",
    ),
    "a part of an input": (
        "DELETE FROM llm_content WHERE text LIKE '%What now, prompt 1?%' AND text NOT LIKE '[[%'",
        "the input of a call is missing",
    ),
    "the call of a request": (
        f"UPDATE llm_artifact SET request_id = {OTHER}",
        "a call refers to a request that is missing",
    ),
    "the copy of a lorebook": (
        "DELETE FROM llm_content WHERE hash IN (SELECT copy_hash FROM session_lorebook)",
        "is missing, or no lorebook",
    ),
    "a save slot": ("UPDATE save_slot SET label = label || '!'", "its content does not match its checksum"),
    "a word of the story": (
        "UPDATE event SET text = 'Other words.' WHERE role = 'agent'",
        "the story up to it has changed",
    ),
    "a number of the log": (
        "DELETE FROM event WHERE prompt_index = 2",
        "its prompts and replies are not numbered in order",
    ),
    "a reply": ("DELETE FROM event WHERE role = 'agent'", "was not answered by a character of the cast"),
    "a take that counts": ("UPDATE canon SET take = 9", "its canon has a take that is missing"),
    "a pointer of a chapter whose canon never changed": (
        "DELETE FROM canon",
        "its canon does not point at the first take of each prompt",
    ),
    "a block that counts": (
        f"UPDATE memory_canon SET block_id = {OTHER} WHERE from_prompt = 3",
        "of the table memory_canon breaks the rule fk_memory_canon_block",
    ),
    "the range of memory": (
        "DELETE FROM memory_canon WHERE from_prompt = 1",
        "its memory does not reach to its boundary",
    ),
    "the correction that counts": (
        "DELETE FROM memory_block WHERE type = 'canon_correction'",
        "breaks the rule fk_memory_canon_block",
    ),
    "what memory was made from": (
        f"UPDATE memory_block SET made_from = {OTHER} WHERE revision = 2",
        "its memory was made from a block that is missing",
    ),
    "the words of memory": (
        "UPDATE memory_block SET json_text = '{\"memory_type\": 1}' WHERE from_prompt = 3",
        "the memory of prompts 3 to 4 is invalid",
    ),
    "condensed memory": (
        "INSERT INTO condensed_memory (session_id, condensed_id, from_prompt, to_prompt, sources, json_text,"
        f" created_at) SELECT session_id, {OTHER}, 1, 4,"
        " array_agg(block_id ORDER BY block.to_prompt), '{}',"
        " now() FROM memory_canon JOIN memory_block block USING (session_id, block_id)"
        " WHERE type = 'turn_delta' AND audience = 127 GROUP BY session_id HAVING count(*) = 2",
        "the condensed memory of prompts 1 to 4 is invalid",
    ),
    "the proof of an item": (
        """UPDATE bank_revision SET content = jsonb_set(content, '{evidence,0,words}', '"Other words"')""",
        "is not proved by the story",
    ),
    "the place of its proof": (
        """UPDATE bank_revision SET content = jsonb_set(content, '{evidence,0,prompt_index}', '9')""",
        "is not proved by the story",
    ),
    "what recall reads of an item": (
        "UPDATE bank_item SET label = 1 WHERE version = 2",
        "is not its newest version",
    ),
    "a version of an item": (
        "DELETE FROM bank_revision WHERE version = 2",
        "of the table bank_item breaks the rule fk_bank_item_version",
    ),
    "an item": ("DELETE FROM bank_item WHERE version = 2", "an item that has versions is missing"),
    "the number of a draft": ("UPDATE narrative_draft SET version = 7", "its drafts are not numbered from 1"),
    "what a draft was built from": (
        f"UPDATE narrative_draft SET source_block_ids = ARRAY[{OTHER}]",
        "draft 1 was built from memory or prompts that are missing",
    ),
    "a chapter that is gone": (
        "DELETE FROM session",
        "of the table event break the rule fk_event_session",
    ),
    "who a proposal is for": (
        "INSERT INTO cast_proposal (id, character_id, part, occasion, state, before, after, why, created_at)"
        f" VALUES ({OTHER}, {OTHER}, 'identity', 'gaps', 'open', '[]', '[{{}}]', '', now())",
        "of the table cast_proposal breaks the rule fk_cast_proposal_cast_member",
    ),
    "the card of a character": (
        "DELETE FROM cast_card",
        "its card is missing, or not the one that was imported",
    ),
    "the file of a lorebook": (
        "ALTER TABLE lorebook DROP CONSTRAINT ck_lorebook_content;"
        " UPDATE lorebook SET content = content || '\\x20'::bytea",
        "its file is not the one that was imported",
    ),
    "a number out of its range": (
        "ALTER TABLE session DROP CONSTRAINT ck_session_times; UPDATE session SET updated_at = 'infinity'",
        "breaks the rule ck_session_times",
    ),
}


TOGETHER: Final = (
    (
        "a part of an input",
        "the copy of a lorebook",
        "a word of the story",
        "a take that counts",
        "the range of memory",
        "a version of an item",
    ),
    (
        "the correction that counts",
        "condensed memory",
        "the proof of an item",
        "an item",
    ),
    (
        "the place of its proof",
        "what a draft was built from",
    ),
    ("a chapter that is gone",),
    ("a number out of its range",),
)
"""What is broken in one copy of the database, beside all that is not named here.

Of those in a copy none says what is said of another: each finding is that of its own break.
"""
THE_REST: Final = tuple(what for what in BREAKS if not any(what in copy for copy in TOGETHER))


@pytest.mark.parametrize("copy", [*TOGETHER, THE_REST], ids=lambda copy: copy[0])
async def test_what_was_changed_past_the_rules_is_named(
    store: PostgresStore, raw: psycopg.Connection, copy: tuple[str, ...]
) -> None:
    for what in copy:
        raw.execute(BREAKS[what][0].encode())
    found, _ = await verified(store)
    texts = {fault.text for fault in found}
    assert [what for what in copy if not any(BREAKS[what][1] in text for text in texts)] == [], texts


async def test_a_chapter_that_is_played_meanwhile_is_not_called_broken(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt is stored between two readings: the second one has more than the pointers of the first."""
    engine = engine_on(store)
    session = await _open_and_locked(engine, store)
    behind = PostgresStore.takes
    is_first = True

    async def takes(self: PostgresStore, session_id: SessionId) -> object:
        nonlocal is_first
        if session_id == session.id and is_first:
            is_first = False
            await play(session, 1)
        return await behind(self, session_id)

    monkeypatch.setattr(PostgresStore, "takes", takes)
    found, _ = await verified(store)
    await session.aclose()
    assert found == []
    assert not is_first


async def test_the_command_says_one_sentence_or_each_fault_and_fails(
    store: PostgresStore,
    url: str,
    raw: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STORYENGINE_DATA_DIR", str(tmp_path))

    async def unlocked() -> Configuration:
        return Configuration(find_paths(), Settings(database_url=SecretStr(url)))

    monkeypatch.setattr(command, "unlocked", unlocked)
    await command.doctor(verify=True)
    said = capsys.readouterr()
    whole = "every hash and chain holds; chapters: 2, characters: 1, lorebooks: 1"
    assert said.out == f"ok    library: {whole}\n"
    assert said.err.count("Checking chapter") == 2
    raw.execute("DELETE FROM cast_card")
    with pytest.raises(typer.Exit) as ended:
        await command.doctor(verify=True)
    assert ended.value.exit_code == ExitCode.REFUSED
    first, *hint = capsys.readouterr().out.splitlines()
    assert first.startswith("fix   character “")
    assert hint == [f"      {command._DAMAGED}"]
