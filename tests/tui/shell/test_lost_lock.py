"""A window that lost the writer's lock says who writes now, before anything that it stores is refused."""

import asyncio

import pytest

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from storyengine_tui.shell.app import StoryEngineApp
from tests.engine.windows import end_writers
from tests.tui.engine_app import PostgresDesktop
from tests.tui.rooms.play_table import at_window

pytestmark = pytest.mark.anyio


async def test_a_window_that_lost_the_lock_names_the_one_that_writes_and_takes_no_text(
    postgres_desktop: PostgresDesktop,
) -> None:
    async with at_window(postgres_desktop) as table:
        assert isinstance(table.app, StoryEngineApp)
        banner = table.app.chapter.query_one(WriterBanner)
        assert not banner.is_shown
        await asyncio.to_thread(end_writers, postgres_desktop.url)
        async with postgres_desktop.engine("second window") as engine:
            other = await engine.open(table.session.id)
            await table.until(lambda: banner.content is not None)
            assert banner.content is not None
            assert "Another window writes in this chapter (second window" in banner.content.sentence
            await table.until(lambda: table.area(Slot.RED).read_only)
            await other.aclose()
