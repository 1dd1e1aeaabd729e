"""What the lists over the chapter share: work that is done beside them, and what failed of it said above."""

from collections.abc import Awaitable
from typing import TypeVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import DataTable

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.banner import Banner, BannerAction
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine

Result = TypeVar("Result")


class ListScreen(OverlayScreen[Result]):
    """A table that is read again after everything that is done with it; subclasses fill in `reload`."""

    def compose_list(self, table_id: str) -> ComposeResult:
        """Compose the banner of what failed, and the table."""
        yield Banner(id="trouble")
        yield DataTable(id=table_id, cursor_type="row", zebra_stripes=False)

    def compose_keys(self) -> ComposeResult:
        """Compose the row of keys."""
        yield KeyLine(offers_palette=False)

    async def reload(self) -> None:
        """Read the list again."""

    def do(self, work: Awaitable[None]) -> None:
        """Do this in the background; errors that the GM can fix are shown above the list."""
        self.run_worker(self._done(work), group="list", exit_on_error=False)

    def do_and_reload(self, work: Awaitable[None]) -> None:
        """Do this as `do` does, and read the list again."""
        self.do(self._and_reload(work))

    async def _and_reload(self, work: Awaitable[None]) -> None:
        await work
        await self.reload()

    async def _done(self, work: Awaitable[None]) -> None:
        banner = self.query_one("#trouble", Banner)
        try:
            await work
        except StoryEngineError as error:
            banner.show(error.message, hint=error.hint, actions=(BannerAction("dismiss", "Dismiss"),))
        else:
            banner.hide()

    @on(Banner.ActionChosen)
    def _dismiss_banner(self, event: Banner.ActionChosen) -> None:
        event.stop()
        event.banner.hide()
