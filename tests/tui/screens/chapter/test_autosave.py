"""What is typed is stored within a second, however it is typed. The clock is simulated: no test waits."""

import asyncio
import gc
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest

from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.screens.shared.autosave import Autosave


class Leaping(selectors.DefaultSelector):
    """An event loop whose clock jumps instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def never(error: StoryEngineError) -> None:
    raise AssertionError(error)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end in a loop whose clock jumps."""
    selector = Leaping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]  # a clock of the test
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


async def type_for(seconds: float, between: float, save_takes: float) -> list[float]:
    """Type for so long; return how long each key had to wait until it was stored."""
    loop = asyncio.get_running_loop()
    keys: list[float] = []
    waits: list[float] = []

    async def save() -> None:
        mine, keys[:] = keys[:], []
        await asyncio.sleep(save_takes)
        waits.extend(loop.time() - key for key in mine)

    autosave = Autosave(save, never)
    autosave.start()
    began = loop.time()
    while loop.time() - began < seconds:
        keys.append(loop.time())
        autosave.touch()
        await asyncio.sleep(between)
    await asyncio.sleep(2.0)
    assert not keys, "what was typed last is stored too"
    await autosave.stop()
    return waits


@pytest.mark.parametrize("between", [0.01, 0.05, 0.3, 0.49, 0.6, 1.5])
@pytest.mark.parametrize("save_takes", [0.0, 0.1])
def test_every_key_is_stored_within_a_second_also_when_the_gm_never_pauses(
    between: float, save_takes: float
) -> None:
    async def work() -> None:
        assert max(await type_for(20.0, between, save_takes)) < 1.0

    run(work())


def test_keys_that_come_fast_are_stored_together() -> None:
    async def work() -> None:
        saves = 0

        async def save() -> None:
            nonlocal saves
            saves += 1

        autosave = Autosave(save, never)
        autosave.start()
        for _ in range(10):
            autosave.touch()
            await asyncio.sleep(0.05)
        await asyncio.sleep(2.0)
        await autosave.stop()
        assert saves == 1

    run(work())


def test_what_is_typed_is_stored_also_after_a_bug_which_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        tries: list[str] = []
        told: list[StoryEngineError] = []

        async def save() -> None:
            tries.append("a try")
            if len(tries) == 1:
                raise ZeroDivisionError("a bug of a page")

        autosave = Autosave(save, told.append)
        autosave.start()
        autosave.touch()
        await asyncio.sleep(10.0)
        assert len(tries) == 2
        assert [one.code for one in told] == [ErrorCode.STORAGE_SAVE_FAILED]
        assert not autosave.is_dirty
        assert "a bug of a page" in caplog.text
        await autosave.stop()

    run(work())


def test_a_save_that_fails_as_the_page_closes_leaves_no_error_that_nobody_has_seen() -> None:
    unseen: list[object] = []

    async def work() -> None:
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def save() -> None:
            begun.set()
            await goes_on.wait()
            raise ZeroDivisionError("the fields are gone")

        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        autosave = Autosave(save, never)
        autosave.start()
        autosave.touch()
        await begun.wait()
        goes_on.set()
        await autosave.stop()
        del autosave
        gc.collect()

    run(work())
    assert unseen == []
