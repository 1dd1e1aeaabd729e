"""Loads the modules and the style sheets of later screens, while the GM does nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import App

from storyengine_tui.textual_ext.parts import Part, is_enabled

if TYPE_CHECKING:
    from storyengine_tui.textual_ext.painting.style_cache import CachingStylesheet

STYLES = Path(__file__).resolve().parents[1]
LATER_STYLES = [
    STYLES / "widgets/notes.tcss",
    STYLES / "screens/chapter/hidden_at_start.tcss",
    STYLES / "widgets/widgets.tcss",
    STYLES / "screens/setup/setup_pane.tcss",
    STYLES / "screens/play/play_pane.tcss",
    STYLES / "screens/narrative/narrative_pane.tcss",
]
"""Style sheets that the first paint does not need; parsing them takes a fifth of its time."""
SCREENS_OF_KEYS = (
    "core.engine.services.library.library",
    "storyengine_tui.screens.library.chapters.chapters_screen",
    "storyengine_tui.screens.models.model_screen",
    "storyengine_tui.screens.calls.calls_screen",
    "storyengine_tui.screens.search.search_screen",
)
"""Modules that a key or the palette needs at once, and no start."""
STYLES_OF_KEYS = [
    STYLES / "widgets/dialogs/dialog.tcss",
    STYLES / "screens/library/shelf/shelf.tcss",
    STYLES / "screens/models/model_screen.tcss",
    STYLES / "screens/calls/calls_screen.tcss",
    STYLES / "screens/search/search.tcss",
]
"""Style sheets of these screens, and of dialogs."""


async def load_ahead(app: App[Any], turn: Callable[[], Awaitable[object]]) -> None:
    """Load what a key opens, each part at a `turn`: the first F5 or F6 would wait for it."""
    for name in SCREENS_OF_KEYS:
        await turn()
        await asyncio.to_thread(import_module, name)
    if is_enabled(Part.STYLE_CACHE):  # without it all style sheets would be parsed again
        await _read_styles(app, turn)


async def _read_styles(app: App[Any], turn: Callable[[], Awaitable[object]]) -> None:
    """Parse style sheets in a thread, and style all widgets by them at a `turn`: they look as before."""
    sheet: CachingStylesheet = cast("Any", app.stylesheet)
    await turn()
    take_over = await asyncio.to_thread(sheet.parsed_apart, STYLES_OF_KEYS)
    await turn()
    take_over()
    if unread := [path for path in STYLES_OF_KEYS if not sheet.has_source(str(path))]:
        sheet.read_all(unread)
        sheet.update(app)
