"""What every test of the screen shares: a still environment, and snapshots that do not hide a crash."""

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from storyengine_tui.textual_ext import parts
from tests.tui.engine_app import desktop as desktop

if pretended := os.environ.get("STORYENGINE_PRETEND_TEXTUAL"):
    parts.installed_version = lambda: pretended  # type: ignore[assignment]  # for the whole run


@pytest.fixture(autouse=True)
def _still_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear what changes colours or output behind a test's back."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "TMUX", "STORYENGINE_PLAIN_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    # The terminal that the tests run in may have fewer, and the program takes those that there are.
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "truecolor")


@pytest.fixture
def anyio_backend() -> str:
    """Textual runs on asyncio alone."""
    return "asyncio"


class SnapCompare(Protocol):
    """Compare a picture of `app` with the one that was accepted."""

    def __call__(
        self,
        app: App[Any],
        press: Iterable[str] = (),
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    ) -> bool: ...


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until nothing moves on the screen: a scroll bar that appears wraps a text once more.

    Raises:
        AssertionError: It never comes to rest.
    """
    for field in pilot.app.screen.query(Input):
        field.cursor_blink = False
    before: list[Strip] = []
    alike = 0
    for _ in range(100):
        await pilot.pause()
        picture = pilot.app.screen._compositor.render_strips()
        alike = alike + 1 if picture == before else 0
        if alike == 2:
            return
        before = picture
    raise AssertionError("the screen never comes to rest")


@pytest.fixture
def snapshot_of(snap_compare: Callable[..., bool]) -> SnapCompare:
    """Like `snap_compare`, of a screen that has come to rest.

    It raises what the app recorded: a crash still yields a picture (style.md).
    """

    def compare(
        app: App[Any],
        press: Iterable[str] = (),
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    ) -> bool:
        async def run_and_settle(pilot: Pilot[Any]) -> None:
            if run_before is not None:
                run = run_before(pilot)
                if run is not None:
                    await run
            await settled(pilot)

        matches = snap_compare(app, press=press, terminal_size=terminal_size, run_before=run_and_settle)
        # Private, and Textual is pinned: nothing public tells after the run.
        if app._exception is not None:
            raise app._exception
        return matches

    return compare
