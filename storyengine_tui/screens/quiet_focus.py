"""A screen on which going to another field paints the two fields, not everything."""

from textual.reactive import Reactive
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget


class QuietFocusScreen(Screen[ScreenResultType]):
    """Textual paints a whole screen anew for a new focus; what looks different by it paints itself."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
