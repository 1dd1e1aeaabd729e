"""Helpers of the tests of one tab: the tab alone on an open session, and a model that waits for a word."""

import asyncio
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import ClassVar

import pytest
from textual import on
from textual.app import ComposeResult

import storyengine_tui
from core.domain.errors import StoryEngineError
from core.engine.session.session_handle import SessionHandle
from core.engine.session.session_reader import SessionReader
from core.engine.sync.notifications import WriterChanged
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.widgets.key_line import KeyLine


class Gate:
    """Keeps the scripted model silent between two words while it is closed, as it is at first."""

    def __init__(self) -> None:
        self._is_open = asyncio.Event()

    def open(self) -> None:
        self._is_open.set()

    def close(self) -> None:
        self._is_open.clear()

    async def wait(self, seconds: float, limit: float) -> None:
        """Stand in for the pace of the script."""
        if seconds > 0:
            await self._is_open.wait()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate in place of every pause of the script."""
    made = Gate()
    monkeypatch.setattr("core.providers.scripted.provider._wait", made.wait)
    yield made
    made.open()


async def took_long(_: SessionReader, agent_id: int, model: str) -> float:
    """Stand in for the seconds that such a call took last time."""
    return 100.0


def styles_of(page: str) -> list[str | PurePath]:
    """Return the style sheets that a page needs."""
    package = Path(storyengine_tui.__file__).parent
    names = (
        "app.tcss",
        "widgets/notes.tcss",
        "widgets/widgets.tcss",
        f"screens/{page.removesuffix('_pane')}/{page}.tcss",
    )
    return [package / name for name in names]


class PageApp(ThemedApp):
    """One tab alone, on an open session: what the screen around it does, without its other tabs."""

    PAGE: ClassVar[type[SessionTab]]

    def __init__(self, session: SessionHandle, configuration: Configuration | None = None) -> None:
        super().__init__()
        self.configuration = configuration
        self.errors: list[StoryEngineError] = []
        self.has_begun = False
        self._session = session

    def compose(self) -> ComposeResult:
        page = self.PAGE()
        page.folder = None if self.configuration is None else self.configuration.paths.data
        yield page
        yield KeyLine()

    def on_mount(self) -> None:
        self.hearing = self.run_worker(self._hear())

    async def _hear(self) -> None:
        page = self.query_one(self.PAGE)
        with self._session.listen() as listener:
            await page.attach(self._session)
            page.on_tab_shown()
            self.has_begun = True
            async for batch in listener.batches():
                for notification in batch:
                    if isinstance(notification, WriterChanged) and notification.holder is None:
                        await page.attach(self._session)
                    page.on_notification(notification)
                page.refresh_view()

    @on(SessionTab.CommandFailed)
    def _keep(self, event: SessionTab.CommandFailed) -> None:
        self.errors.append(event.error)
