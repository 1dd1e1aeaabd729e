"""Fixtures of the tests of tab 2."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Table

Act = Callable[[Table], Awaitable[None]]
TableMatches = Callable[[Act], bool]


@pytest.fixture
def table_matches(desktop: Desktop, pictures_match: PicturesMatch) -> TableMatches:
    """Compare a picture of the whole program after `act` at its tab 2 with the accepted one."""

    def compare(act: Act) -> bool:
        async def run_before(pilot: Pilot[Any]) -> None:
            await act(await Table.opened(pilot))
            await pilot.pause()

        return pictures_match(desktop.app(), run_before=run_before)

    return compare
