"""The line below the transcript about the takes of the newest reply and about undone prompts (design 12)."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive, var
from textual.widgets import Button, Static

from storyengine_tui.screens.play.play_view import PlayView
from storyengine_tui.screens.play.takes_view import TakeButton
from storyengine_tui.widgets.widget_message import ActionRequested


class TakeLine(Horizontal, can_focus_children=False):
    """Takes no room, and has no widgets, while there is one take and nothing is undone.

    Each button has a key, so none is on the way from a panel to the transcript.
    """

    view: var[PlayView | None] = var(None, init=False)
    content: reactive[tuple[str, tuple[TakeButton, ...]]] = reactive(("", ()), recompose=True)
    """The line and its buttons."""

    def compose(self) -> ComposeResult:
        """Compose the line and its buttons, if there is something to say."""
        line, buttons = self.content
        if not line:
            return
        yield Static(Content(line), classes="takes--line")
        for button in buttons:
            yield Button(button.label, name=button.action, compact=True, disabled=not button.is_possible)

    def watch_view(self, view: PlayView | None) -> None:
        """Show the takes; a window that only reads has no buttons."""
        if view is None:
            return
        self.content = (view.takes.line, view.takes.buttons if view.is_writer else ())
        self.display = bool(view.takes.line)

    @on(Button.Pressed)
    def _request(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.name:
            self.post_message(ActionRequested(event.button.name))
