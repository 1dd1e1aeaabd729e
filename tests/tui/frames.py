"""Paint the frames that a test looks at, and no others: a third of its processor time went into the rest."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from storyengine_tui.textual_ext.painting.compositor import FrontCompositor
from tests.tui.idle import nothing_ready

MOST_PAUSES = 50
"""Pauses after which a widget that never comes to rest is pointed at all the same."""
LATE = 0.5
"""Seconds by which a frame is late at most, however busy the loop is."""


def rendered(app: App[Any]) -> list[Strip]:
    """Return the rows of the screen in front, over the pages beneath as a frame of the app shows them.

    A dialog that is rendered without them is over nothing, and the rows stay so in its cache.
    """
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


async def at_rest(pilot: Pilot[Any], target: Widget | type[Widget] | str | None) -> None:
    """Wait until what the mouse is to meet stays where it is: a layout that is due would move it away."""
    if target is None:
        return
    screen = pilot.app.screen
    widget = target if isinstance(target, Widget) else screen.query_one(target)
    before, alike = widget.region, 0
    for _ in range(MOST_PAUSES):
        await pilot.pause()
        alike = alike + 1 if widget.region == before and not screen._layout_required else 0
        if alike == 2:
            return
        before = widget.region


@contextmanager
def frames_on_pause() -> Iterator[None]:
    """Have screens drop frames as they would on a slow line: what changed is painted at the next pause.

    The text of a screen and its pictures are taken from its layout, and always new. A layout waits until all
    is done that can be done at once: how many there are does not depend on the speed of the machine.
    """
    is_painting = False

    def dropping(render: Any) -> Any:
        def render_update(self: Compositor, full: bool = False, *arguments: Any, **options: Any) -> Any:
            return render(self, full, *arguments, **options) if full or is_painting else None

        return render_update

    pause = Pilot.pause
    tick = Timer._tick

    async def tick_when_idle(self: Timer, *, next_timer: float, count: int) -> None:
        if self.name == "screen_update":
            await nothing_ready(asyncio.get_running_loop().time() + LATE, but_waits=True)
        await tick(self, next_timer=next_timer, count=count)

    async def pause_and_paint(self: Pilot[Any], delay: float | None = None) -> None:
        nonlocal is_painting
        await pause(self, delay)
        screen = self.app.screen
        if screen._compositor._dirty_regions:
            is_painting = True
            try:
                screen._compositor_refresh()
            finally:
                is_painting = False

    post_mouse = Pilot._post_mouse_events

    async def post_mouse_at_rest(
        self: Pilot[Any], events: Any, widget: Any = None, *arguments: Any, **options: Any
    ) -> bool:
        await at_rest(self, widget)
        return await post_mouse(self, events, widget, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_post_mouse_events", post_mouse_at_rest)
        for kind in (Compositor, FrontCompositor):
            patch.setattr(kind, "render_update", dropping(kind.render_update))
        patch.setattr(Pilot, "pause", pause_and_paint)
        patch.setattr(Timer, "_tick", tick_when_idle)
        yield
