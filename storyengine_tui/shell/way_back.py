"""Goes back to the chapter before a command of it runs, so that what it does is seen."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from textual.worker import WorkerError

from storyengine_tui.shell.overlay_app import OverlayApp
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen

AT_WORK: Final = "This page is still at work; Esc stops that."


def do_on_page(app: OverlayApp, work: Callable[[], object]) -> None:
    """Do it where it shows: on the chapter. What is open over that closes first, as Esc closes it."""
    if app.screen is app.chapter:
        work()
        return

    async def go_back() -> None:
        if await _close_overlays(app):
            work()

    app.do(go_back(), group="go back")


async def _close_overlays(app: OverlayApp) -> bool:
    """Close what is open over the chapter; return whether all of it closed, and nothing asks a question."""
    for _ in range(2 * len(app.screen_stack)):  # Esc hides a field for words first.
        over = app.screen
        if not isinstance(over, OverlayScreen) or over.is_modal:
            break
        if not over.check_action("close", ()):
            app.notify(AT_WORK, markup=False)
            break
        over.action_close()
        if closing := [one for one in over.workers if one.node is over and one.group == "close"]:
            with suppress(WorkerError):
                await over.workers.wait_for_complete(closing)
    return app.screen is app.chapter
