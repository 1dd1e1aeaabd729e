"""The screen from its start to its end: after a bug another app goes on where the last one stored."""

from collections.abc import Callable

from storyengine_tui.bootstrap import Configuration, Unread
from storyengine_tui.shell.app import StoryEngineApp

MOST_BUGS = 5
"""After how many bugs a program is better ended."""

MakeApp = Callable[[Configuration | Unread, Exception | None], StoryEngineApp]


async def run_until_left(make: MakeApp, configuration: Configuration | Unread) -> int:
    """Run apps made by `make` until the GM leaves one; return the exit code.

    Raises the bug that is one too many, and StoryEngineError when the settings are not valid.
    """
    bug: Exception | None = None
    for _ in range(MOST_BUGS):
        app = make(configuration, bug)
        try:
            await app.run_async()
        finally:
            # However the screen ended: what is typed is stored, what runs is settled.
            await (app.close_everything() if app.bug is None else app.close_in_time())
        if app.refusal is not None:
            raise app.refusal
        if app.bug is None:
            return app.return_code or 0
        bug, configuration = app.bug, app.unread or app.configuration
    if bug is None:
        raise AssertionError("only a bug ends an app that the user did not quit")
    raise bug
