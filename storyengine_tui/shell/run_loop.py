"""Runs the app until the GM quits: after a bug a new app continues from what is stored."""

from collections.abc import Callable

from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.shell.app import StoryEngineApp

MOST_BUGS = 5
"""Bugs after which the program ends."""

MakeApp = Callable[[Configuration | Unread, Exception | None], StoryEngineApp]


async def run_until_left(make: MakeApp, configuration: Configuration | Unread) -> int:
    """Run apps made by `make` until the GM leaves one; return the exit code.

    Raises the last of `MOST_BUGS` bugs, and StoryEngineError when the settings are not valid.
    """
    bug: Exception | None = None
    for _ in range(MOST_BUGS):
        app = make(configuration, bug)
        try:
            await app.run_async()
        finally:
            # However the app ended, store what is typed and settle what runs.
            await (app.close_everything() if app.bug is None else app.close_in_time())
        if app.refusal is not None:
            raise app.refusal
        if app.bug is None:
            return app.return_code or 0
        bug, configuration = app.bug, app.unread or app.configuration
    if bug is None:
        raise AssertionError("only a bug ends an app that the user did not quit")
    raise bug
