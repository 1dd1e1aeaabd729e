"""Canon reaches only who may know it, and all of it, where a second window reads along and takes over."""

from functools import partial

import pytest

from db.store import open_store
from tests.leaks.many_chapters import play_chapters
from tests.leaks.random_chapter import RandomChapter
from tests.store.servers import cloned

pytestmark = pytest.mark.anyio
SEED, STEPS = 32, 6
"""A short chapter in which the second window takes over, and a crash is among the steps."""


async def test_a_window_that_takes_over_tells_no_one_more_and_forgets_nothing() -> None:
    found = await play_chapters(range(2), has_two_windows=True)
    assert (found.leaks, found.forgotten) == ([], [])
    assert found.inputs > 40


@pytest.mark.torture
async def test_a_window_on_a_server_that_takes_over_tells_no_one_more_and_forgets_nothing(
    private_template: str,
) -> None:
    for url in cloned(private_template):
        chapter = RandomChapter(SEED, partial(open_store, url), has_two_windows=True)
        found = await chapter.play(STEPS)
        assert (found.leaks, found.forgotten) == ([], [])
        assert chapter.handed_over
