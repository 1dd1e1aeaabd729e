"""Helpers of the tests of tab 2: a page to ask, a model that waits for a word, and a stage to play on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Any, ClassVar

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Button, Static

from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from core.storage.snapshot import Snapshot
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.screens.play.composer.prompt_queue import PromptQueue
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.panel_switcher import SlotEntries
from storyengine_tui.widgets.reading.transcript_view import LIVE_REPLY, TranscriptView
from tests.tui.engine_app import Desktop, make_active, opened, until
from tests.tui.rooms.one_page import Gate as Gate
from tests.tui.rooms.one_page import PageApp, styles_of
from tests.tui.rooms.one_page import gate as gate

SCRIPT = Script(
    reply=(
        Entry(match=ScriptMatch(schema="text", last="FAIL"), fault=Fault.SERVER_ERROR, times=1),
        Entry(
            match=ScriptMatch(schema="text", last="HOLD"),
            text="I hold on. Then I let go.",
            between_tokens=1,
            times=1,
        ),
        Entry(match=ScriptMatch(schema="text"), text="I see."),
    )
)
"""`FAIL` in a prompt fails once; `HOLD`, once, says one word and waits for the gate."""


class PlayApp(PageApp):
    """Tab 2 alone."""

    PAGE = PlayPane
    CSS_PATH: ClassVar[list[str | PurePath] | None] = styles_of("play_pane")


class Table:
    """Tab 2 as its user sees it."""

    def __init__(self, pilot: Pilot[Any], app: App[None]) -> None:
        self.pilot = pilot
        self.app = app

    @classmethod
    async def opened(cls, pilot: Pilot[Any]) -> "Table":
        """The table of the program once its tab 2 takes text."""
        table = cls(pilot, await opened(pilot))
        await table.until(lambda: table.composer.has_pseudo_class("focus-within"))
        return table

    async def open(self, action: str, kind: type[Screen[Any]]) -> None:
        """Run an action of the page that opens such a dialog."""
        await self.pane.run_action(action)
        await self.until(lambda: isinstance(self.app.screen, kind) and bool(self.app.screen.focused))

    async def choose(self, opener: str, kind: type[Screen[Any]], *keys: str) -> None:
        """Press the key that opens such a dialog, then these in it, and wait until it has closed."""
        await self.pilot.press(opener)
        await self.until(lambda: isinstance(self.app.screen, kind))
        await self.pilot.press(*keys)
        await self.until(lambda: not isinstance(self.app.screen, kind))

    @property
    def pane(self) -> PlayPane:
        return self.app.screen_stack[0].query_one(PlayPane)

    @property
    def session(self) -> SessionHandle:
        return self.pane.session

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot

    @property
    def stored(self) -> Session:
        return self.snapshot.session

    @property
    def composer(self) -> Composer:
        return self.pane.query_one(Composer)

    def state(self) -> SessionState:
        """The state of the session as it is stored."""
        return self.stored.state

    def slot(self) -> Slot:
        """The slot of the visible panel."""
        assert [area.slot for area in self.composer if area.display] == [self.composer.slot]
        assert self.pane.query_one(SlotEntries).active == self.composer.slot.colour
        return self.composer.slot

    @property
    def transcript(self) -> TranscriptView:
        return self.pane.query_one(TranscriptView)

    @property
    def is_streaming(self) -> bool:
        """Whether the last paragraph that shows is a reply that is not stored yet."""
        shown = self.transcript.lines.paragraphs
        return bool(shown) and shown[-1].key == LIVE_REPLY

    @property
    def counter(self) -> str:
        return str(self.pane.query_one("#transcript-counter", Static).render())

    @property
    def busy(self) -> str:
        return str(self.pane.query_one(BusyLine).render())

    @property
    def queued(self) -> list[str]:
        return [line.plain for _, line in self.pane.query_one(PromptQueue).prompts]

    @property
    def end_button(self) -> Button:
        return self.pane.query_one("#end-chapter", Button)

    def area(self, slot: Slot) -> PromptArea:
        return self.composer.area(slot)

    def text(self, slot: Slot) -> str:
        return self.composer.area(slot).text

    def title(self, slot: Slot | None = None) -> str:
        """What stands on the border of a panel, by default of the one that shows."""
        return str(self.area(slot or self.slot()).border_title)

    def banner(self, name: str = "reply-failed") -> str:
        """Everything that a banner says; nothing when it is not shown."""
        content = self.pane.query_one(f"#{name}", Banner).content
        return "" if content is None else f"{content.sentence} {content.hint}"

    def trouble(self) -> str:
        """The text of the banner above all tabs."""
        assert isinstance(self.app, PlayApp)
        return self.app.errors[-1].message if self.app.errors else ""

    async def until(self, holds: Any, what: str = "") -> None:
        await until(self.pilot, holds, what)

    async def type(self, text: str) -> None:
        """Type as a GM does; `\\n` is Ctrl+J."""
        names = {" ": "space", "\n": "ctrl+j", ".": "full_stop", "?": "question_mark", ",": "comma"}
        await self.pilot.press(*(names.get(character, character) for character in text))

    async def send(self, text: str) -> None:
        """Type and press Enter."""
        await self.type(text)
        await self.pilot.press("enter")

    async def begin(self, text: str = "HOLD") -> None:
        """Send, and wait for the first word of the reply."""
        await self.send(text)
        await self.until(lambda: f") {text}" in self.transcript.text and self.is_streaming)

    async def queue(self, text: str) -> None:
        """Send while a reply is on its way, and wait until it waits in sight."""
        await self.send(text)
        await self.until(lambda: self.queued)

    async def play(self, text: str) -> None:
        """Send, and wait for the reply."""
        index = self.stored.prompt_index + 1
        await self.send(text)
        await self.until(lambda: f"{index}) {text}" in self.transcript.text and self.played(index))

    def played(self, index: int) -> bool:
        """Whether that prompt is stored and shown as stored."""
        return self.stored.prompt_index >= index and not self.is_streaming

    async def events(self) -> list[Event]:
        return list(await self.session.reads.canon())


@asynccontextmanager
async def at_table(
    desktop: Desktop, *, prompts: int | None = 0, size: tuple[int, int] = (100, 30), label: str = "table"
) -> AsyncIterator[Table]:
    """Sit at tab 2 of a chapter that was played for some prompts; None: of the one that is there."""
    _give_script(desktop)
    async with desktop.engine(label) as engine:
        if prompts is None:
            [session_id] = [summary.id for summary in await engine.sessions()]
        else:
            session_id = await make_active(engine, prompts)
        session = await engine.open(session_id)
        app = PlayApp(session, Configuration(desktop.paths, desktop.settings))
        try:
            async with app.run_test(size=size) as pilot:
                await until(pilot, lambda: app.has_begun)
                yield Table(pilot, app)
                app.hearing.cancel()
        finally:
            await session.aclose()
    if app._exception is not None:
        raise app._exception


@asynccontextmanager
async def at_window(
    desktop: Desktop, *, prompts: int = 0, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[Table]:
    """The same in the whole program."""
    _give_script(desktop)
    await desktop.prepare(lambda engine: make_active(engine, prompts))
    app = desktop.app()
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        try:
            await until(pilot, lambda: app.chapter.active_tab == "play")
            yield Table(pilot, app)
        finally:
            await app.close_everything()
    if app._exception is not None:
        raise app._exception


def _give_script(desktop: Desktop) -> None:
    if desktop.script == Script():
        desktop.script = SCRIPT
