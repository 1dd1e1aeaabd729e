"""What a worker that is cancelled half-way does to a page: another chapter opens, the program is left."""

import ast
import asyncio
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical

from storyengine_tui.screens.shared.background import remove, run_in_background
from tests.tui.engine_app import PATIENCE, until

pytestmark = pytest.mark.anyio

PRODUCT = Path(__file__).parents[4] / "storyengine_tui"


class SlowBox(Vertical):
    """Takes its time to go."""

    app: "Page"

    async def on_unmount(self) -> None:
        self.app.is_going.set()
        await self.app.may_go.wait()


class Page(App[None]):
    """Shows two boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_going, self.may_go = asyncio.Event(), asyncio.Event()

    def compose(self) -> ComposeResult:
        yield SlowBox()
        yield SlowBox()


async def test_a_removal_that_is_cancelled_half_way_removes_all_and_the_program_goes_on() -> None:
    app = Page()
    async with app.run_test() as pilot:
        run_in_background(app, remove(app.query(SlowBox)), group="removal")
        [worker] = app.workers
        assert worker._task is not None
        async with asyncio.timeout(PATIENCE):
            await app.is_going.wait()
            worker.cancel()
            await asyncio.wait([worker._task])
        app.may_go.set()
        await until(pilot, lambda: not app.query(SlowBox))
        assert app.is_running


def test_the_program_waits_for_removals_in_that_one_way() -> None:
    places = [
        f"{path.name}:{node.lineno}"
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("remove", "remove_children")
        and not node.value.args
    ]
    assert not places
