"""A program that runs has its database back, also when nobody is left to start it but the program."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from db.embedded.machine.probe import server_processes
from db.embedded.server import EmbeddedServer
from db.embedded.watchdog import keep_alive
from tests.store.embedded.embedded_fixtures import (
    PATIENCE,
    ask,
    home,
    is_stopped,
    serving,
    wait_until,
)
from tests.store.embedded.server_status import status_of

__all__ = ["home"]

pytestmark = pytest.mark.anyio

SOON = 0.02


def kill_all(server: EmbeddedServer, home: Path) -> None:
    """Kill the supervisor first, so that it starts nothing, then the server."""
    os.kill(status_of(server).supervisor, signal.SIGKILL)
    for pid in server_processes(home / "data"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not server_processes(home / "data"), "all are dead")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(SOON)


async def test_a_server_that_was_killed_with_its_supervisor_comes_back_by_itself(home: Path) -> None:
    with serving(home) as server:
        async with keep_alive(server, every=SOON):
            for _ in range(2):
                await asyncio.to_thread(kill_all, server, home)
                await until(lambda: status_of(server).is_running)
                assert await asyncio.to_thread(ask, server, "SELECT 1") == "1"


async def test_what_cannot_be_started_is_tried_until_it_can(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    version = home / "data" / "PG_VERSION"
    mine = version.read_text()
    with serving(home) as server:
        async with keep_alive(server, every=SOON):
            version.write_text("7\n")
            await asyncio.to_thread(kill_all, server, home)
            await until(lambda: "could not be restarted" in caplog.text)
            version.write_text(mine)
            await until(lambda: status_of(server).is_running)
    assert caplog.text.count("could not be restarted") == 1, "the log is not filled with it"


async def test_a_look_that_fails_is_not_the_last_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(home) as server:
        looks: list[bool] = []
        has_looked_again = asyncio.Event()
        loop = asyncio.get_running_loop()

        def look() -> bool:
            looks.append(True)
            if len(looks) == 1:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            loop.call_soon_threadsafe(has_looked_again.set)
            return True

        monkeypatch.setattr(server, "is_supervised", look)
        async with keep_alive(server, every=SOON), asyncio.timeout(PATIENCE):
            await has_looked_again.wait()


async def test_a_server_that_is_let_go_is_not_brought_back(home: Path) -> None:
    with serving(home) as server:
        async with keep_alive(server, every=SOON):
            pass
        server.release()
        await until(lambda: is_stopped(home))
        assert not status_of(server).is_running
