"""The title of the transcript while it shows what one character witnessed (design 13)."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Button, Static

from core.text.cleaning import clean_line
from storyengine_tui.widgets.widget_message import ActionRequested

EVERYTHING = "Everything"


class ViewpointLine(Horizontal):
    """Takes no room, and has no widgets, while the transcript shows everything."""

    content: reactive[tuple[str, str, bool]] = reactive(("", "", False), recompose=True)
    """The viewer, such as `2 Joss`, the style of that name, and whether Esc leads back now."""

    def compose(self) -> ComposeResult:
        """Compose the title, and the way back."""
        who, style, is_left_by_escape = self.content
        if not who:
            return
        title = Content(f"As {who} sees it").stylize(style, 3, 3 + len(who))
        yield Static(title, classes="viewpoint--title")
        label = f"{EVERYTHING} (Esc)" if is_left_by_escape else EVERYTHING
        yield Button(label, compact=True)

    def show(self, who: str, style: str, *, is_left_by_escape: bool) -> None:
        """Say whose view it is; nothing for that of the GM."""
        self.content = (clean_line(who), style, is_left_by_escape) if who else ("", "", False)
        self.display = bool(who)

    @on(Button.Pressed)
    def _leave(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(ActionRequested("view_all"))
