"""The pages of the tabs, which are created one after the other while the GM already works."""

import asyncio
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.app import App, ComposeResult
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane

from core.domain.slot import Slot
from core.engine.sync.notifications import Notification
from storyengine_tui.screens.chapter import tab_pages
from storyengine_tui.screens.chapter.tab_pages import TabPages
from storyengine_tui.screens.narrative.narrative_pane import NarrativePane
from tests.tui.engine_app import Desktop, make_active, screen_text, until

pytestmark = pytest.mark.anyio


class SlowPage:
    """A page whose text takes a while to be stored."""

    has_unsaved = False

    def __init__(self) -> None:
        self.display = False
        self.flushing, self.gate = asyncio.Event(), asyncio.Event()

    async def attach(self, session: object) -> None: ...

    async def flush(self) -> None:
        self.flushing.set()
        await self.gate.wait()


class FilledPage(SlowPage):
    """A page that is never filled to its end."""

    has_session = False

    def __init__(self) -> None:
        super().__init__()
        self.began = asyncio.Event()

    async def attach(self, session: object) -> None:
        self.has_session = True
        self.began.set()
        await self.gate.wait()

    def detach(self) -> None:
        self.has_session = False


class FailingPage(SlowPage):
    """A page that cannot store its text."""

    async def flush(self) -> None:
        self.flushing.set()
        raise NoMatches("it has lost its fields")


def made_of(pages: dict[str, SlowPage], monkeypatch: pytest.MonkeyPatch) -> TabPages:
    async def make(self: TabPages, tab: str) -> Any:
        self._pages[tab] = pages[tab]  # type: ignore[assignment]  # a double of a page
        return pages[tab]

    monkeypatch.setattr(TabPages, "make", make)
    return TabPages(Screen())


async def test_a_page_that_fails_to_store_keeps_no_other_from_being_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = {tab: FailingPage() for tab in ("setup", "play", "narrative")}
    pages, session = made_of({**made}, monkeypatch), cast(Any, object())
    for tab in made:
        await pages.attach(tab, session)
    with pytest.raises(NoMatches):
        await pages.flush()
    assert all(page.flushing.is_set() for page in made.values())


async def test_a_page_that_is_attached_while_another_is_stored_is_stored_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = {"play": SlowPage(), "setup": SlowPage()}
    pages, session = made_of({**made}, monkeypatch), cast(Any, object())
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        await pages.attach("play", session)
        group.create_task(pages.flush())
        await made["play"].flushing.wait()
        await pages.attach("setup", session)
        made["play"].gate.set()
        await made["setup"].flushing.wait()
        made["setup"].gate.set()


class TypedPage(SlowPage):
    """A page on which the GM types faster than it is stored."""

    stored = 0
    has_unsaved = True

    async def flush(self) -> None:
        self.stored += 1


async def test_what_is_typed_on_one_page_while_another_is_stored_is_stored_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play, setup = SlowPage(), TypedPage()
    pages, session = made_of({"play": play, "setup": setup}, monkeypatch), cast(Any, object())
    for tab in ("play", "setup"):
        await pages.attach(tab, session)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        setup.has_unsaved = False
        group.create_task(pages.flush())
        await play.flushing.wait()
        assert setup.stored == 1
        setup.has_unsaved = True
        play.gate.set()
    assert setup.stored == tab_pages.MOST_ROUNDS, "also where the typing does not end, the flush does"


class PlayPane(Widget):
    """A page that takes a while to be mounted."""

    began: asyncio.Event
    gate: asyncio.Event

    async def on_mount(self) -> None:
        self.began.set()
        await self.gate.wait()


class Tabs(App[None]):
    """Shows one tab without a page."""

    def compose(self) -> ComposeResult:
        with TabbedContent(id="tabs"):
            yield TabPane("Play", id="play")


async def test_a_page_is_made_once_also_where_another_chapter_is_opened_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("began", "gate"):
        monkeypatch.setattr(PlayPane, name, asyncio.Event(), raising=False)
    monkeypatch.setattr(tab_pages, "import_module", lambda name: SimpleNamespace(PlayPane=PlayPane))
    app = Tabs()
    async with asyncio.timeout(60), app.run_test():
        pages = TabPages(cast("Screen[None]", app.screen))
        making = asyncio.create_task(pages.make("play"))
        await PlayPane.began.wait()
        making.cancel()
        with suppress(asyncio.CancelledError):
            await making
        PlayPane.gate.set()
        page = await pages.make("play")
        assert [page] == [*app.query(PlayPane)]


async def test_a_window_that_closes_while_a_page_is_imported_leaves_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, began, gate = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def import_slowly(name: str) -> SimpleNamespace:
        loop.call_soon_threadsafe(began.set)
        assert gate.wait(60)
        return SimpleNamespace(PlayPane=PlayPane)

    monkeypatch.setattr(tab_pages, "import_module", import_slowly)
    app = Tabs()
    async with asyncio.timeout(60):
        async with app.run_test():
            pages = TabPages(cast("Screen[None]", app.screen))
            asking = asyncio.create_task(pages.make("play"))
            await began.wait()
            asking.cancel()
            [making] = [task for task in asyncio.all_tasks() if "TabPages._make" in repr(task.get_coro())]
        gate.set()
        await making
        assert not app.query(PlayPane)


def narratives(app: App[Any]) -> list[NarrativePane]:
    """Return the page of tab 3, where it is made."""
    return list(app.query(NarrativePane))


async def test_a_prompt_is_played_before_the_other_pages_are_made_and_these_show_it_once_they_are(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 6)) as (pilot, app):
        assert app.session is not None
        assert app.chapter.active_tab == "play"
        reply = await app.session.submit_prompt(Slot.RED, "The seventh")
        await app.session.wait(reply)
        await until(pilot, lambda: "The seventh" in screen_text(app))
        assert not narratives(app)
        await pilot.press("f4")
        await until(pilot, lambda: narratives(app) and "1–7" in screen_text(app))


async def test_a_page_is_told_of_a_commit_once_it_shows_the_session(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach, note = NarrativePane.on_session_attached, NarrativePane.on_notification
    began, gate = asyncio.Event(), asyncio.Event()
    told: list[bool] = []

    async def attach_late(self: NarrativePane) -> None:
        began.set()
        await gate.wait()
        await attach(self)

    def told_when(self: NarrativePane, notification: Notification) -> None:
        told.append(gate.is_set())
        note(self, notification)

    monkeypatch.setattr(NarrativePane, "on_session_attached", attach_late)
    monkeypatch.setattr(NarrativePane, "on_notification", told_when)
    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        await pilot.press("f4")
        await began.wait()
        await app.session.wait(await app.session.submit_prompt(Slot.RED, "Who is there?"))
        await pilot.pause()
        assert not told
        gate.set()
        await until(pilot, lambda: told)
        assert all(told)


async def test_a_page_that_was_being_filled_as_its_chapter_was_left_shows_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = FilledPage()
    pages = made_of({"play": page}, monkeypatch)
    filling = asyncio.create_task(pages.attach("play", cast(Any, object())))
    await page.began.wait()
    filling.cancel()
    with suppress(asyncio.CancelledError):
        await filling
    pages.detach()
    assert not page.has_session
