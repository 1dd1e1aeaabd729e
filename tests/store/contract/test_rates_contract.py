"""What every store promises of a rate: the calls of all windows count, under each name by itself."""

import pytest

from core.storage.session_store import SessionStore
from tests.store.contract.conftest import OpenWindow

pytestmark = pytest.mark.anyio


async def test_calls_of_all_windows_count_for_one_rate(store: SessionStore, open_window: OpenWindow) -> None:
    other = await open_window()
    assert await store.queue.begin_call("work", 2) == 0
    assert await other.queue.begin_call("work", 2) == 0
    for window in (store, other):
        assert 30 < await window.queue.begin_call("work", 2) <= 60
    assert await other.queue.begin_call("work", 3) == 0, "what was refused is not counted"
    assert await other.queue.begin_call("elsewhere", 1) == 0
