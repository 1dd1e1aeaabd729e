"""Fixtures of the tests of tab 2."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop
from tests.tui.rooms.play_table import Table

Act = Callable[[Table], Awaitable[None]]


class TableMatches(Protocol):
    """Takes one act, or several that follow each other, whose names are those of their pictures."""

    def __call__(self, *acts: Act) -> bool: ...


@pytest.fixture
def table_matches(desktop: Desktop, pictures_match: PicturesMatch) -> TableMatches:
    """Compare pictures of the whole program, each after an act at its tab 2, with the accepted ones."""

    def compare(*acts: Act) -> bool:
        async def run_before(act: Act, pilot: Pilot[Any]) -> None:
            await act(await Table.opened(pilot) if act is acts[0] else Table(pilot, pilot.app))
            await pilot.pause()

        return pictures_match(desktop.app(), {act.__name__: partial(run_before, act) for act in acts})

    return compare
