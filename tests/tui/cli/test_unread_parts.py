"""A next chapter that begins before the bank has all of the last one: the GM is told, and has it read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.widgets import Static
from typer.testing import CliRunner, Result

from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.bank.details import FactDetails
from core.domain.ids import SessionId
from core.domain.requests.request import BackgroundRequest, RequestState
from core.engine.engine import Engine
from core.engine.services.bank.item_changes import NewItem
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.gateway.embedding_service import EmbeddingPlan
from core.providers.embedding.scripted import ScriptedEmbedder
from core.providers.scripted.script import Fault, Script
from storyengine_tui.cli.commands.chapter import bank, sessions
from storyengine_tui.cli.commands.library import book
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.screens.chapter.next_chapter import UNREAD, WHEN_READ
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.core.rooms.bank_room import answer, scan
from tests.tui.chapters.banked_chapter import SCRIPT
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.library.shelf.test_shelves import ended

ONE_PART = "1 part of this chapter is not read into the memory bank yet"


async def made(engine: Engine, *, keeps_bank: bool = True) -> SessionId:
    """Store a chapter that has ended, of which its bank has read nothing."""
    session_id: SessionId = await ended(engine, "Dawn")
    if keeps_bank:
        await engine.closed(session_id).keep_bank(is_on=True)
    return session_id


@pytest.fixture
def here(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> Desktop:
    """Run commands on the chapters of the machine of this test."""
    desktop.script = Script(reply=(scan(), *SCRIPT.reply))

    @asynccontextmanager
    async def running(_: object) -> AsyncIterator[Engine]:
        async with desktop.engine() as engine:
            yield engine

    async def unlocked() -> None:
        return None

    for module in (sessions, book):
        monkeypatch.setattr(module, "running_catalog", running)
        monkeypatch.setattr(module, "unlocked", unlocked)
    monkeypatch.setattr(sessions, "running_engine", running)
    return desktop


def of_bank(*words: str) -> Result:
    return CliRunner().invoke(bank.app, list(words))


def test_next_says_what_is_not_read_yet_and_bank_read_reads_it(
    here: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    first: list[SessionId] = []

    async def make(engine: Engine) -> None:
        first.append(await made(engine))

    here.prepare_now(make)
    asyncio.run(book.next_("last"))
    said = " ".join(capsys.readouterr().out.split())
    assert f"{ONE_PART}; the next chapter recalls nothing of it until then." in said
    assert f"`storyengine bank read {first[0]}` reads what is left." in said
    assert "Began chapter 2 of" in said
    assert of_bank("read", str(first[0])).stdout == "Read 1 part.\n"
    assert of_bank("read", str(first[0])).stdout == "Everything in memory has been read already.\n"

    async def check(engine: Engine) -> None:
        assert [one.state for one in await engine._store.bank.readings(first[0])] == [RequestState.DONE]

    here.prepare_now(check)


def test_bank_read_makes_what_it_read_findable_by_its_meaning(here: Desktop) -> None:
    choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    here.embedding = EmbeddingPlan(choice, ScriptedEmbedder)

    async def with_item(engine: Engine) -> None:
        session_id = await made(engine)
        session = (await engine.reader(session_id).load()).session
        key = NewItem("The key", "It is under the mat.", FactDetails())
        await engine.closed(session_id).bank.add(session, key)

    here.prepare_now(with_item)
    assert of_bank("read", "last").stdout == "Read 1 part.\n"

    async def check(engine: Engine) -> None:
        [chapter] = await engine.sessions()
        calls = await engine.reader(chapter.id).artifacts()
        assert EMBEDDING_VERSION in {call.prompt_version for call in calls}
        assert not (await engine.reader(chapter.id).load()).background

    here.prepare_now(check)


def test_next_says_nothing_of_a_bank_where_none_is_kept(
    here: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    here.prepare_now(lambda engine: made(engine, keeps_bank=False))
    asyncio.run(book.next_("last"))
    assert "bank" not in capsys.readouterr().out
    refused = of_bank("read", "last")
    assert (refused.exit_code, refused.stderr.strip()) == (
        ExitCode.REFUSED,
        "This chapter keeps no memory bank.",
    )


def test_bank_read_says_that_a_part_could_not_be_read(here: Desktop) -> None:
    here.script = Script(reply=(answer("bank_scan", fault=Fault.CONTENT_FILTERED), *SCRIPT.reply))
    here.prepare_now(made)
    refused = of_bank("read", "last")
    assert refused.exit_code == ExitCode.REFUSED
    assert "1 part could not be read; `storyengine queue list` says why." in " ".join(refused.stderr.split())


@pytest.mark.anyio
async def test_the_screen_asks_before_it_begins_a_chapter_after_one_that_is_not_read(here: Desktop) -> None:
    here.script = Script(reply=(answer("bank_scan", fault=Fault.CONTENT_FILTERED), *SCRIPT.reply))
    async with here.window(made) as (pilot, app):
        assert isinstance(app, StoryEngineApp)
        await until(pilot, lambda: app.session and app.session.snapshot.failed(BackgroundRequest))
        app.action_next_chapter()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        question = str(app.screen.query_one(".confirm--question", Static).content)
        assert question == UNREAD
        text = str(app.screen.query_one(".confirm--text", Static).content)
        assert text.startswith(ONE_PART)
        assert text.endswith(WHEN_READ)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        assert not app.session.snapshot.tab1.carried
        app.action_next_chapter()
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.click("#confirm")
        await until(pilot, lambda: app.session is not None and bool(app.session.snapshot.tab1.carried))
