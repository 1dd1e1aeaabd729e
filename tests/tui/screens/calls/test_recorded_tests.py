"""A test on the screen of models is a call of the open chapter: stored and listed, or it says why not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from core.config.settings import Settings
from core.domain.errors import ErrorCode
from core.domain.requests.request_kinds import RequestKind
from core.engine.kinds.test_call import TEST_PROMPT
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.http_faults import FaultServer, Reply, error_reply, text_reply
from tests.tui.engine_app import PATIENCE, Desktop, make_active, opened, until
from tests.tui.screens.models.test_connection import ring as ring

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def page_over_chapter(
    desktop: Desktop, server: FaultServer
) -> AsyncIterator[tuple[Pilot[None], StoryEngineApp]]:
    """Open the page over a chapter whose model is a service."""
    desktop.settings = Settings(provider="openai", base_url=server.base_url, _env_file=None)
    app = desktop.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        yield pilot, app
        await app.close_everything()


def result_of(app: StoryEngineApp) -> str:
    content = app.screen.query_one("#result", Banner).content
    return f"{content.sentence} {content.hint}" if content else ""


async def outcomes(session: SessionHandle) -> list[ErrorCode | None]:
    tests = {one.id for one in await session.reads.requests() if one.kind is RequestKind.TEST}
    return [one.error_code for one in await session.reads.artifacts() if one.request_id in tests]


async def test_a_test_is_listed_with_the_calls_of_the_chapter_also_when_it_fails(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with FaultServer() as server, page_over_chapter(desktop, server) as (pilot, app):
        server.script(text_reply("ready"), error_reply(401))
        await pilot.press("f8")
        await until(pilot, lambda: "answered “ready”" in result_of(app))
        await pilot.press("f8")
        await until(pilot, lambda: "requires a key" in result_of(app))
        assert "not recorded" not in result_of(app)
        assert app.session is not None
        assert await outcomes(app.session) == [None, ErrorCode.LLM_AUTH_ERROR]
        await pilot.press("escape", "f7")
        await until(pilot, lambda: isinstance(app.screen, CallsScreen))
        table = app.screen.query_one(DataTable)
        await until(pilot, lambda: table.row_count == 3)
        listed = [[str(cell).strip() for cell in table.get_row_at(row)] for row in range(3)]
        assert [(row[1], row[3], row[6]) for row in listed] == [
            ("1 Mira", "test", "auth error"),
            ("1 Mira", "test", "ok"),
            ("0 World & Chapter", "–", "ok"),
        ]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CallScreen))
        view = app.screen.query_one(PassageView)
        await until(pilot, lambda: TEST_PROMPT in view.lines.text)
        assert "test call, no part of the story" in view.lines.text


async def test_a_test_call_that_the_gm_leaves_is_recorded_as_stopped(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with FaultServer() as server, page_over_chapter(desktop, server) as (pilot, app):
        server.script(Reply((asyncio.Event(),)))
        await pilot.press("f8")
        await until(pilot, lambda: server.requests)
        await pilot.press("escape")
        session = app.session
        assert session is not None
        async with asyncio.timeout(PATIENCE):
            while not (found := await outcomes(session)):
                await pilot.pause()
        assert found == [ErrorCode.LLM_CANCELLED]


async def test_a_window_that_reads_along_says_that_a_test_is_not_recorded(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with desktop.engine("another window") as engine:
        [line] = await engine.sessions()
        writer = await engine.open(line.id)
        async with FaultServer() as server, page_over_chapter(desktop, server) as (pilot, app):
            server.script(text_reply("ready"))
            await pilot.press("f8")
            await until(pilot, lambda: "answered “ready”" in result_of(app))
            assert "not recorded: another window writes" in result_of(app)
            assert await outcomes(writer) == []
        await writer.aclose()
