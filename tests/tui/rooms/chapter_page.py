"""Helpers of the tests of tab 3: a chapter that has ended, a model that writes it, and a page to ask."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Any, ClassVar

from textual import on
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Button, Input, Select, Static

from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.narrative.chapter_build import ChapterBuild
from storyengine_tui.screens.narrative.download_row import deliver_chapter
from storyengine_tui.screens.narrative.draft_cell import NONE, DraftCell
from storyengine_tui.screens.narrative.memory.block_reader import BlockReader
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.core.values.sessions import delta_payload, lock_payload
from tests.tui.engine_app import Desktop, make_active, until
from tests.tui.rooms.one_page import PageApp, styles_of

NARRATIVE = ScriptMatch(schema="text", anywhere="NARRATIVE_AGENT_DEFINITION")
PROSE = (
    "The light went out at four minutes past two. [/x] Mira counted the steps and did not look back.\n\n"
    "“You kept the log,” said Jonas.\n\n"
    "She closed the book. Below them the boat, late by a day, came round the point without a lamp."
)
DELTA: dict[str, object] = {
    **delta_payload(),
    "location_updates": {"where": "the lamp room", "notable_environment_changes": ["fog comes in"]},
    "major_events": [
        {
            "event": "The lamp goes dark.",
            "cause": "The weight was not wound.",
            "effect": "A ship strikes the reef.",
            "participants": ["Mira", "Jonas [/x]"],
        }
    ],
    "state_changes": [{"key": "The lamp", "before": "lit", "after": "dark", "notes": "nobody saw it"}],
    "relationship_shifts": [
        {"between": ["Mira", "Jonas [/x]"], "change": "trust is gone", "evidence": "he asks for the log"}
    ],
    "items_clues_discovered": [
        {"thing": "a wet log book", "who_found": "Jonas [/x]", "why_it_matters": "a page is missing"}
    ],
    "unresolved_threads": [
        {"thread": "Who let it go out?", "stakes": "the post", "next_likely_trigger": "the inspector"}
    ],
    "canon_locks": ["The lamp was dark for eleven minutes.", "Canon: the log is false."],
    "contradictions_or_questions": ["Was Mira awake?"],
}
MEMORY = (
    Entry(match=ScriptMatch(schema="world_chapter_lock"), payload=lock_payload()),
    Entry(match=ScriptMatch(schema="turn_delta"), payload=DELTA),
)
REPLIES = Entry(match=ScriptMatch(schema="text"), text="I see.")
SCRIPT = Script(reply=(*MEMORY, Entry(match=NARRATIVE, text=PROSE), REPLIES))
HELD = Script(reply=(*MEMORY, Entry(match=NARRATIVE, text=PROSE, between_tokens=1), REPLIES))
"""Writes one word, and the others when the gate is opened."""


def failing(
    fault: Fault, times: int | None = 1, *, calls: tuple[int, ...] = (), between_tokens: float | None = None
) -> Script:
    """Return a script whose narratives fail, and succeed then; with a pause, not before the gate is open."""
    bad = Entry(
        match=NARRATIVE, fault=fault, text=PROSE, times=times, calls=calls, between_tokens=between_tokens
    )
    return Script(reply=(*MEMORY, bad, Entry(match=NARRATIVE, text=PROSE), REPLIES))


async def make_ended(engine: Engine, prompts: int = 2, drafts: int = 0) -> SessionId:
    """Store a chapter that was played and ended, with so many drafts written."""
    session_id = await make_active(engine, prompts)
    session = await engine.open(session_id)
    await session.end_chapter()
    await session.wait_idle()
    for number in range(drafts):
        await session.edits.define_narrative(f"In the manner of version {number + 1}.", 40)
        await session.wait(await session.build_narrative())
    await session.aclose()
    return session_id


class NarrativeApp(PageApp):
    """Tab 3 alone."""

    PAGE = NarrativePane
    CSS_PATH: ClassVar[list[str | PurePath] | None] = styles_of("narrative_pane")

    delivered = 0

    @on(ChapterBuild.DownloadWanted)
    async def _deliver(self, wanted: ChapterBuild.DownloadWanted) -> None:
        """Do as the program does."""
        assert self.configuration is not None
        folder = self.configuration.paths.downloads
        try:
            path = await deliver_chapter(self, wanted.draft.text, wanted.title, folder)
        except StoryEngineError as error:
            self.errors.append(error)
        else:
            wanted.build.show_delivered(wanted.draft, path)
            self.delivered += 1


@asynccontextmanager
async def chapter_page(
    desktop: Desktop, prepare: Callable[[Engine], Awaitable[SessionId]], size: tuple[int, int] = (120, 40)
) -> AsyncIterator["ChapterPage"]:
    """Open tab 3 on what `prepare` stores; at the end everything typed is stored."""
    async with desktop.engine("this window") as engine:
        session = await engine.open(await prepare(engine))
        async with session_page(desktop, session, size) as page:
            yield page
        await session.aclose()


@asynccontextmanager
async def session_page(
    desktop: Desktop, session: SessionHandle, size: tuple[int, int] = (120, 40)
) -> AsyncIterator["ChapterPage"]:
    """Open tab 3 on a session that is open already."""
    app = NarrativeApp(session, Configuration(desktop.paths, desktop.settings))
    async with app.run_test(size=size) as pilot:
        page = ChapterPage(pilot, app)
        await page.until(lambda: page.memory.is_known)
        yield page
        await page.pane.flush()


class ChapterPage:
    """Tab 3 as its user sees it."""

    def __init__(self, pilot: Pilot[Any], app: App[None]) -> None:
        self.pilot = pilot
        self.app = app

    @property
    def session(self) -> SessionHandle:
        return self.pane.session

    @property
    def pane(self) -> NarrativePane:
        return self.app.screen_stack[0].query_one(NarrativePane)

    @property
    def cell(self) -> MemoryCell:
        return self.pane.query_one(MemoryCell)

    @property
    def memory(self) -> BlockReader:
        return self.cell.memory

    @property
    def memory_text(self) -> str:
        return self.pane.query_one(PassageView).lines.text

    @property
    def draft(self) -> DraftCell:
        return self.pane.query_one(DraftCell)

    @property
    def chapter(self) -> str:
        """The text in the third cell."""
        return self.draft.view.text if self.draft.view.display else ""

    @property
    def definition(self) -> CappedTextArea:
        return self.pane.query_one("#definition", CappedTextArea)

    @property
    def target(self) -> Input:
        return self.pane.query_one("#target", Input)

    @property
    def build(self) -> Button:
        return self.pane.query_one("#build", Button)

    @property
    def download(self) -> Button:
        return self.pane.query_one("#download", Button)

    @property
    def drafts(self) -> list[str]:
        """The drafts that the picker offers."""
        options = self.pane.query_one("#drafts", Select)._options
        return [str(prompt) for prompt, value in options if value != NONE]

    @property
    def shown_draft(self) -> str:
        """The draft that the closed picker names."""
        return str(self.pane.query_one("#drafts SelectCurrent #label", Static).content)

    @property
    def busy(self) -> str:
        return str(self.pane.query_one(BusyLine).render())

    @property
    def banner(self) -> str:
        content = self.pane.query_one("#build-banner", Banner).content
        return f"{content.sentence} {content.hint}" if content else ""

    def said(self, name: str) -> str:
        """The text of a line of the page; empty when it is not shown."""
        line = self.pane.query_one(f"#{name}", Static)
        return str(line.content) if line.display else ""

    async def until(self, holds: Any, what: str = "") -> None:
        await until(self.pilot, holds, what)

    async def write(self) -> None:
        """Build, and wait until it is a version."""
        count = len(self.draft.drafts)
        await self.pilot.press("f8")
        await self.until(lambda: len(self.draft.drafts) == count + 1)
