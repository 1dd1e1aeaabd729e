"""The banner of a window that only reads: it waits for the other window only as long as the GM wants it."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from core.domain.errors import ErrorCode, StorageError
from core.storage.session_store import WriterInfo
from storyengine_tui.screens.chapter.writer_banner import STOP_WAITING, WAIT, WriterBanner
from tests.tui.engine_app import until
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio


async def test_a_take_over_that_fails_after_the_gm_has_given_it_up_is_not_wanted_again() -> None:
    is_asked, may_fail = asyncio.Event(), asyncio.Event()

    async def take_over() -> bool:
        is_asked.set()
        await may_fail.wait()
        raise StorageError(ErrorCode.STORAGE_LOAD_FAILED)

    session: Any = SimpleNamespace(
        is_read_only=True,
        holder=WriterInfo(label="another", since=datetime(2026, 1, 1, tzinfo=UTC)),
        snapshot=SimpleNamespace(session=SimpleNamespace(archived_at=None)),
        take_over=take_over,
    )
    banner = WriterBanner()
    app = WidgetApp(lambda: [banner])
    async with app.run_test() as pilot:
        banner.show_writer_of(session)
        banner.toggle()
        await until(pilot, is_asked.is_set)
        assert banner.content is not None
        assert banner.content.actions == (STOP_WAITING,)
        banner.toggle()
        may_fail.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert banner.content.actions == (WAIT,)
