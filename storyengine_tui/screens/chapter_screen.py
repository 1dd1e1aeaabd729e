"""The chapter's screen: three tabs across the top, one pane each (design 10)."""

import asyncio
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, TabbedContent, TabPane

from core.engine.notices import Notice, SessionChanged, SessionReplaced, StorageRecovered, StorageTrouble
from core.engine.open_session import OpenSession
from core.errors import StoryEngineError
from core.session import title_from
from storyengine_tui.screens.engine_pane import EnginePane
from storyengine_tui.screens.narrative_pane import NarrativePane
from storyengine_tui.screens.play_pane import PlayPane
from storyengine_tui.screens.setup_pane import SetupPane
from storyengine_tui.widgets.banner import Banner

TABS = ("setup", "play", "narrative")


class ChapterScreen(Screen[None]):
    """Shows one open session; hands its notices to the panes."""

    CSS_PATH = "chapter_screen.tcss"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "tab('setup')", "World"),
        Binding("f3", "tab('play')", "Play"),
        Binding("f4", "tab('narrative')", "Chapter"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._session: OpenSession | None = None
        self._hearing: asyncio.Task[None] | None = None
