"""The banner about text or a reply that could not be stored stays until that is stored."""

import pytest
from textual.widgets import Button

from core.domain.errors import ErrorCode, StorageError
from core.engine.sync.notifications import StorageRecovered, StorageTrouble
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Table, at_window

pytestmark = pytest.mark.anyio

ERROR = StorageError(ErrorCode.STORAGE_SAVE_FAILED, "No space is left on the disk.")


def banner(table: Table) -> Banner:
    return table.pane.screen.query_one("#trouble", Banner)


async def test_storing_a_text_hides_a_banner_about_texts(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        table.pane.post_message(SessionTab.CommandFailed(ERROR))
        await table.until(lambda: banner(table).is_shown)
        table.pane.post_message(SessionTab.Stored())
        await table.until(lambda: not banner(table).is_shown)


async def test_storing_a_text_keeps_a_banner_about_a_reply_that_is_not_stored(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        listeners = table.session._writer.listeners
        listeners.publish(StorageTrouble(ERROR))
        await table.until(lambda: banner(table).is_shown)
        table.pane.post_message(SessionTab.Stored())
        await table.pilot.pause()
        assert banner(table).is_shown
        listeners.publish(StorageRecovered())
        await table.until(lambda: not banner(table).is_shown)


async def test_the_buttons_of_a_banner_with_a_very_long_text_can_be_reached(desktop: Desktop) -> None:
    long = StorageError(ErrorCode.STORAGE_SAVE_FAILED, "The server refused the connection. " * 30)
    async with at_window(desktop, size=(80, 24)) as table:
        table.pane.post_message(SessionTab.CommandFailed(long))
        await table.until(lambda: banner(table).is_shown)
        button = banner(table).query(Button).first()
        button.focus()
        await table.until(lambda: banner(table).region.contains_region(button.region), "the button is shown")
