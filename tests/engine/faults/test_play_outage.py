"""`storyengine play` while the database takes nothing: it says so, waits for a while, and goes on later."""

import pytest
from rich.console import Console

from core.domain.errors import ErrorCode, StorageError
from core.domain.session.session_state import SessionState
from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script
from core.storage.changes import Changes
from db.store import PostgresStore
from storyengine_tui.cli.commands.chapter.play import Reporter, play_and_report
from tests.e2e.program import chapter_script
from tests.engine.windows import Outage, create, window

pytestmark = pytest.mark.anyio

FULL = StorageError(ErrorCode.STORAGE_SAVE_FAILED, hint="The disk of the database is full; make room.")


@pytest.fixture
def script(tmp_path_factory: pytest.TempPathFactory) -> ChapterScript:
    file = tmp_path_factory.mktemp("scripts") / "chapter.toml"
    file.write_text(chapter_script("Full", 2))
    return load_chapter_script(file)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    for name in ("say", "say_wrong"):
        monkeypatch.setattr(f"storyengine_tui.cli.commands.chapter.play.{name}", lines.append)
    return lines


def with_second_reply(changes: Changes) -> bool:
    return any(event.prompt_index == 2 for event in changes.events)


@pytest.mark.parametrize("is_quiet", [False, True], ids=["telling", "quiet"])
async def test_a_play_says_that_it_waits_and_for_how_long_and_goes_on_when_there_is_room(
    store: PostgresStore, script: ChapterScript, said: list[str], is_quiet: bool
) -> None:
    outage = Outage(store)
    outage.fail(3, FULL, with_second_reply)
    async with window(outage) as session:
        await play_and_report(session, script, Reporter(Console(quiet=True), is_quiet=is_quiet))
        assert session.snapshot.session.state is SessionState.ENDED
    told = "\n".join(said)
    assert told.count("The disk of the database is full") == 1
    assert told.count("waits for it, 10 minutes at most") == 1
    assert told.count("The database is back") == 1


async def test_a_play_whose_chapter_is_gone_ends_and_does_not_say_that_it_waits(
    store: PostgresStore, script: ChapterScript, said: list[str]
) -> None:
    gone = StorageError(ErrorCode.STORAGE_LOAD_FAILED, "The chapter is gone.", is_transient=False)
    outage = Outage(store)
    outage.trouble = lambda changes: gone if outage.failures or with_second_reply(changes) else None
    async with window(outage) as session:
        with pytest.raises(StorageError) as ended:
            await play_and_report(session, script, Reporter(Console(quiet=True), is_quiet=True))
    assert (ended.value, said) == (gone, []), "who runs the command prints the error"


async def test_a_play_ends_with_the_code_of_the_database_when_the_wait_is_over_and_goes_on_when_run_again(
    store: PostgresStore, script: ChapterScript, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.cli.commands.chapter.play.STORAGE_WAIT", 0.05)
    monkeypatch.setattr("core.engine.queue.worker.Worker.patience", 0.05)
    outage = Outage(store)
    outage.trouble = lambda changes: FULL if with_second_reply(changes) else None
    session_id = await create(store)
    with pytest.raises(StorageError) as ended:
        async with window(outage, None, session_id) as session:
            await play_and_report(session, script, Reporter(Console(quiet=True), is_quiet=True))
    assert ended.value.code is ErrorCode.STORAGE_SAVE_FAILED
    assert "The disk of the database is full" in ended.value.hint
    assert "run the same command" in ended.value.hint
    assert len(await store.log(session_id)) == 2, "what was stored before is stored"
    async with window(store, None, session_id) as session:
        await play_and_report(session, script, Reporter(Console(quiet=True), is_quiet=True))
    assert [event.prompt_index for event in await store.log(session_id)] == [1, 1, 2, 2]
    assert len(await store.drafts(session_id)) == 1
