"""A screen that paints what changed, and no more."""

from textual.reactive import Reactive
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from storyengine_tui.few_bytes import is_wanted


class LeanScreen(Screen[ScreenResultType]):
    """Does less for each paint than Textual's screen, where painting by difference is wanted as well."""

    # Textual paints a whole screen anew for a new focus; what looks different by it paints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        if is_wanted():
            from storyengine_tui.screen_updates import FrontCompositor

            self._compositor = FrontCompositor()
