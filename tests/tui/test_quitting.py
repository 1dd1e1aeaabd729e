"""What quitting leaves on the terminal."""

import gc
import warnings

import pytest

from tests.tui.engine_app import Desktop, opened
from tests.tui.engine_app import desktop as desktop
from tests.tui.engine_app import screen_template as screen_template

pytestmark = pytest.mark.anyio


async def test_work_that_quitting_ends_before_it_began_leaves_no_warning(desktop: Desktop) -> None:
    async def work() -> None:
        raise AssertionError("it is ended before")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        async with desktop.app().run_test() as pilot:
            app = await opened(pilot)
            app.do(work(), group="ended")
            app.workers.cancel_group(app, "ended")
            await pilot.pause()
            await app.close_everything()
        gc.collect()
    assert not [str(warning.message) for warning in said if "never awaited" in str(warning.message)]
