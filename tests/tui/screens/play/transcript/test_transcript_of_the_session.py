"""Tab 2 shows the open session, whatever was shown, restored and hidden before."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot

from core.domain.ids import EventId, SessionId, new_uuid
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import Window, render_window
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.play.play_pane import PlayPane
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.transcript_lines import TranscriptLines, paragraph_of
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.conftest import settled
from tests.tui.engine_app import Desktop, filled, make_active, make_draft, opened, until
from tests.tui.rooms.play_table import PlayApp
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio
SIZE = (80, 24)
STEPS = 20


async def make_ended(engine: Engine) -> SessionId:
    """Store an ended chapter of ten prompts, with slots at the lock, at a summary, and at its end."""
    session_id = await make_active(engine)
    session = await engine.open(session_id)
    for number in range(1, 11):
        text = f"Prompt number {number}. " + "The wind turns, and the rope goes slack. " * (number % 4)
        await session.wait(await session.submit_prompt(Slot.RED, text))
        await session.wait_idle()
    await session.end_chapter()
    await session.wait_idle()
    await session.aclose()
    await engine.save_points.keep(session_id, "the end")
    return session_id


@dataclass
class Reader:
    """Opens, restores and goes from tab to tab, and compares what is painted with the log."""

    pilot: Pilot[Any]
    app: StoryEngineApp
    ended: SessionId

    async def over_the_list(self, work: Any) -> None:
        """Do something as from the chapter list, which covers the chapter meanwhile."""
        self.app.action_chapters()
        await until(self.pilot, lambda: isinstance(self.app.screen, ChaptersScreen))
        await work
        self.app.screen.dismiss()
        await until(self.pilot, lambda: self.app.screen is self.app.chapter)
        await opened(self.pilot)

    async def open(self, session_id: SessionId) -> None:
        """Open another chapter."""
        await self.over_the_list(self.app.workspace.open(session_id))

    async def restore(self, name: str) -> SessionId:
        """Restore a slot of the ended chapter."""
        slots = await self.app.workspace.require_engine().save_points.listed(self.ended)
        *_, slot = [slot for slot in slots if name in slot.label]  # The oldest of those.
        await self.over_the_list(self.app.workspace.restore_save_point(self.ended, slot))
        assert self.app.session is not None
        return self.app.session.id

    async def behind(self) -> None:
        """Lay the page out in the background, as in an idle moment."""
        await self.app.chapter._pages.lay_out_behind("play")

    async def check(self) -> None:
        """Compare what is painted, if tab 2 is visible and there is something to compare."""
        session = self.app.session
        assert session is not None
        if self.app.chapter.active_tab != "play" or not session.snapshot.session.tab1_locked:
            return
        await settled(self.pilot)
        view = self.app.chapter.query_one(TranscriptView)
        lines = TranscriptLines()
        lines.set_width(view.scrollable_content_region.width)
        window = render_window(await session.reads.canon(), session.snapshot.session)
        lines.show([paragraph_of(piece) for piece in window.pieces])
        top = round(view.scroll_y)
        assert painted(self.app, view) == [_row(lines, top + y) for y in range(view.size.height)]


def painted(app: StoryEngineApp, view: TranscriptView) -> list[str]:
    """Return the rows of the transcript as they are on the screen."""
    x, y, width, height = view.scrollable_content_region
    rows = app.chapter._compositor.render_strips()[y : y + height]
    return [row.crop(x, x + width).text.strip() for row in rows]


def _row(lines: TranscriptLines, y: int) -> str:
    found = lines.line(y)
    return "" if found is None else found[0].text[found[1].begin : found[1].end].strip()


@asynccontextmanager
async def reading_the_second(desktop: Desktop) -> AsyncIterator[tuple[Pilot[Any], Reader, list[SessionId]]]:
    """Open a chapter that has ended, beside a draft, and give the ids of both."""
    ids: list[SessionId] = []

    async def make(engine: Engine) -> None:
        ids.extend([await make_draft(engine), await make_ended(engine)])

    await desktop.prepare(make)
    async with desktop.app().run_test(size=SIZE) as pilot:
        reader = Reader(pilot, await opened(pilot), ids[1])
        await reader.open(ids[1])
        yield pilot, reader, ids


async def test_a_chapter_that_is_restored_while_tab_2_is_hidden_shows_no_prompt_of_the_one_before(
    desktop: Desktop,
) -> None:
    async with reading_the_second(desktop) as (pilot, reader, ids):
        await pilot.press("f3")
        await reader.check()
        await pilot.press("f4")
        await reader.open(ids[0])
        await reader.restore("the end")
        await reader.behind()
        await reader.restore("1–7")
        assert reader.app.chapter.active_tab == "play"
        await reader.check()
        await reader.app.close_everything()


async def test_another_session_opens_at_its_end_and_the_same_one_keeps_the_place_of_its_reader(
    desktop: Desktop,
) -> None:
    async with reading_the_second(desktop) as (pilot, reader, _):
        await pilot.press("f3")
        await filled(pilot, "play")
        await pilot.press("pageup")
        view = reader.app.chapter.query_one(TranscriptView)
        await until(pilot, lambda: not view.position.is_following)
        place = view.scroll_y
        await reader.app.chapter.show_again()
        await settled(pilot)
        assert (view.position.is_following, view.scroll_y) == (False, place), "it is the same session"
        # The same texts under other ids.
        await reader.restore("the end")
        await pilot.press("f3")
        await settled(pilot)
        assert view.position.is_following
        assert round(view.scroll_y) == view.max_scroll_y > 0
        await reader.check()
        await reader.app.close_everything()


async def test_events_that_are_read_for_a_session_that_was_left_meanwhile_are_not_shown(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.engine("this window") as engine:
        left = await engine.open(await make_active(engine, 3))
        wanted = await engine.open(await make_active(engine, 1))
        arrived, gate = asyncio.Event(), asyncio.Event()
        at_once = SessionHandle.newest_canon

        async def late(session: SessionHandle, *, known_to: Slot | None = None) -> Sequence[Event]:
            if session is left:
                arrived.set()
                await gate.wait()
            return await at_once(session, known_to=known_to)

        monkeypatch.setattr(SessionHandle, "newest_canon", late)
        app = PlayApp(wanted)
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.has_begun)
            pane = app.query_one(PlayPane)
            slow = asyncio.create_task(pane.attach(left))
            await arrived.wait()
            await pane.attach(wanted)
            gate.set()
            await slow
            assert "Prompt number 3" not in app.query_one(TranscriptView).text
            assert "Prompt number 1" in app.query_one(TranscriptView).text
            await pane.flush()
        await left.aclose()
        await wanted.aclose()


def of_another(prompts: int) -> Window:
    """Return the window of a chapter with the same texts under other ids."""
    others = [
        replace(event, session_id=SessionId(UUID(int=77)), id=EventId(new_uuid()))
        for event in chapter.events(prompts)
    ]
    return render_window(others, replace(chapter.session(prompts), id=SessionId(UUID(int=77))))


async def test_the_view_shows_nothing_of_the_previous_session() -> None:
    app = WidgetApp(lambda: [TranscriptView()])
    async with app.running((60, 20)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.show_window(chapter.window(20))
        await pilot.pause()
        await pilot.press("pageup", "v", "space", "up")
        view.begin_reply(Slot.BLUE, "Agent Blue", "21) And then?")
        view.stream("Somebody")
        assert not view.position.is_following
        assert view.text_selection is not None
        other = of_another(18)
        view.show_window(other)
        await pilot.pause()
        assert view.text == other.text
        assert not view.selection.is_marking
        assert app.screen.selections == {}
        assert view.position.is_following
        assert view.scroll_offset.y == view.max_scroll_y > 0


@pytest.mark.parametrize("seed", range(2))
async def test_what_is_painted_is_the_log_of_the_open_session_in_whatever_order_it_is_looked_at(
    desktop: Desktop, seed: int
) -> None:
    ids: list[SessionId] = []

    async def make(engine: Engine) -> None:
        ids.extend([await make_draft(engine), await make_active(engine, 5), await make_ended(engine)])

    await desktop.prepare(make)
    chance = random.Random(seed)
    async with desktop.app().run_test(size=SIZE) as pilot:
        reader = Reader(pilot, await opened(pilot), ids[2])
        for _ in range(STEPS):
            match chance.choice(["open", "restore", "restore", "tab", "tab", "key", "behind"]):
                case "open":
                    await reader.open(chance.choice(ids))
                case "restore":
                    ids.append(await reader.restore(chance.choice(["the end", "summary", "locked"])))
                case "tab":
                    session = reader.app.session
                    assert session is not None
                    tabs = ["f2", "f3", "f4"] if session.snapshot.session.tab1_locked else ["f2", "f4"]
                    await pilot.press(chance.choice(tabs))
                case "key":
                    await pilot.press(chance.choice(["pageup", "pagedown", "end"]))
                case _:
                    await reader.behind()
            await reader.check()
        await reader.app.close_everything()
