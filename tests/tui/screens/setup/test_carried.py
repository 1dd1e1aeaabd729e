"""What earlier chapters hand on, on tab 1: lines that the GM pins and strikes before the lock."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from core.domain.session.carry_over import CarriedLine, CarryKind, CarryOver
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from storyengine_tui.screens.setup.carried_cell import CarriedCell
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_draft, opened, screen_text, until

EVERYONE = ("Mira", "Jonas", "Pell")
LINES = (
    CarriedLine(kind=CarryKind.CANON, text="The lamp was put out on purpose. [/x]", known_to=EVERYONE),
    CarriedLine(kind=CarryKind.CANON, text="Mira did it.", known_to=("Mira",), is_pinned=True),
    CarriedLine(kind=CarryKind.THREAD, text="Who signalled from the boathouse?", known_to=("Mira", "Jonas")),
    CarriedLine(kind=CarryKind.PLACE, text="The lamp room, at dawn.", known_to=EVERYONE, is_struck=True),
    CarriedLine(kind=CarryKind.KNOWLEDGE, text="The stranger is a keeper.", known_to=("Ines",), chapter=2),
)


async def make_later(engine: Engine) -> None:
    """Store a chapter to which something comes over."""
    session_id = await engine.create(carried=CarryOver(budget=400, lines=LINES))
    session = await engine.open(session_id)
    await session.edits.edit_tab1(
        Tab1Edit(
            world="A cold sea.",
            names={Slot.RED: "Mira", Slot.ORANGE: "Jonas", Slot.YELLOW: "Pell"},
        )
    )
    await session.aclose()


async def cell_shown(pilot: Pilot[Any]) -> tuple[StoryEngineApp, CarriedCell]:
    app = await opened(pilot)
    await until(pilot, lambda: bool(app.screen.query(CarriedCell)))
    cell = app.screen.query_one(CarriedCell)
    await until(pilot, lambda: cell.query_one(OptionList).option_count > 0)
    app.chapter.set_focus(cell.query_one(OptionList), scroll_visible=True)
    await pilot.pause()
    return app, cell


def lines_of(app: StoryEngineApp) -> tuple[CarriedLine, ...]:
    assert app.session is not None
    return app.session.snapshot.tab1.carried.lines


@pytest.mark.anyio
async def test_a_line_is_pinned_and_struck_and_the_next_start_knows(desktop: Desktop) -> None:
    await desktop.prepare(make_later)
    async with desktop.app().run_test(size=(100, 40)) as pilot:
        app, _ = await cell_shown(pilot)
        await pilot.press("p")
        await until(pilot, lambda: lines_of(app)[0].is_pinned)
        await pilot.press("down", "x")
        await until(pilot, lambda: lines_of(app)[1].is_struck)
        assert not lines_of(app)[1].is_pinned
        await pilot.press("x")
        await until(pilot, lambda: not lines_of(app)[1].is_struck)
    async with desktop.app().run_test(size=(100, 40)) as pilot:
        app, _ = await cell_shown(pilot)
        assert [(line.is_pinned, line.is_struck) for line in lines_of(app)][:2] == [
            (True, False),
            (False, False),
        ]
        assert "pinned · canon · known to everyone · chapter 1" in screen_text(app)


@pytest.mark.anyio
async def test_lines_that_are_marked_at_once_are_all_marked(desktop: Desktop) -> None:
    await desktop.prepare(make_later)
    async with desktop.app().run_test(size=(100, 40)) as pilot:
        app, cell = await cell_shown(pilot)
        rows = cell.query_one(OptionList)
        for row, mark in enumerate((cell.action_pin, cell.action_strike, cell.action_strike)):
            rows.highlighted = row
            mark()
        cell.action_strike()
        await until(pilot, lambda: [one.is_pinned for one in lines_of(app)[:2]] == [True, False])
        await until(pilot, lambda: not [one for one in app.workers if one.group == "do"])
        assert [one.is_struck for one in lines_of(app)[:3]] == [False, True, False]


@pytest.mark.anyio
async def test_a_chapter_to_which_nothing_comes_over_has_no_such_cell(desktop: Desktop) -> None:
    async def draft(engine: Engine) -> None:
        await make_draft(engine)

    await desktop.prepare(draft)
    async with desktop.app().run_test(size=(100, 40)) as pilot:
        app = await opened(pilot)
        assert not app.screen.query(CarriedCell)


@pytest.mark.anyio
async def test_once_it_is_locked_no_line_can_be_marked(desktop: Desktop) -> None:
    async def locked(engine: Engine) -> None:
        await make_later(engine)
        session = await engine.open((await engine.sessions())[0].id)
        await session.wait(await session.lock())
        await session.aclose()

    await desktop.prepare(locked)
    async with desktop.app().run_test(size=(100, 40)) as pilot:
        app = await opened(pilot)
        await pilot.press("f2")
        app, cell = await cell_shown(pilot)
        assert not cell.check_action("pin", ())
        await pilot.press("p", "x")
        assert lines_of(app) == LINES


def test_lines_of_earlier_chapters_below_the_cast(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_later)

    async def run_before(pilot: Pilot[Any]) -> None:
        await cell_shown(pilot)

    assert pictures_match(desktop.app(), run_before)
