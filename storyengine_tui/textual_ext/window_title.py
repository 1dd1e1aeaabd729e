"""Sets the title of the terminal window (`Part.WINDOW_TITLE`)."""

from typing import Any

from textual.app import App

from storyengine_tui.textual_ext.parts import Part, is_enabled


def set_window_title(app: App[Any], title: str) -> None:
    """Show `title`, which must be clean, as the window's title where the terminal has one."""
    if app.is_headless or not is_enabled(Part.WINDOW_TITLE):
        return
    driver = app._driver
    if driver is not None:
        driver.write(f"\x1b]2;{title}\x07")
