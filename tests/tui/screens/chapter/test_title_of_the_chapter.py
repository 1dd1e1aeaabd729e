"""The line above the tabs: the title of a restored chapter is told from the one it is of."""

import pytest
from textual.widgets import Static

from core.engine.engine import Engine
from tests.tui.engine_app import Desktop, make_active, until

TITLE = "The Lantern of Orrin Bay and its keepers (summary of prompts 295–301)"


async def make_restored(engine: Engine) -> None:
    """Store a chapter that is titled as a restored one."""
    session = await engine.open(await make_active(engine, 1))
    await session.edits.retitle(TITLE)
    await session.aclose()


@pytest.mark.anyio
async def test_a_title_that_is_cut_keeps_the_end_that_says_which_chapter_it_is(desktop: Desktop) -> None:
    await desktop.prepare(make_restored)
    app = desktop.app()
    async with app.run_test(size=(80, 24)) as pilot:

        def told() -> str:
            return str(app.chapter.query_one("#status-line", Static).content)

        await until(pilot, lambda: told().startswith("being played · The"))
        await until(pilot, lambda: told().endswith("295–301)"))
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: told() == f"being played · {TITLE}")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "…" in told() and told().endswith("295–301)"))
        await app.close_everything()
