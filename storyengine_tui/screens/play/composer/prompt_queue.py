"""The queued prompts, each with a button that takes it back (design 6)."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive, var
from textual.widgets import Button, Static

from core.domain.ids import RequestId
from storyengine_tui.screens.play.play_view import PlayView, queue_line
from storyengine_tui.widgets.key_names import with_key


class PromptQueue(VerticalScroll, can_focus=False):
    """Takes no room while nothing is queued."""

    view: var[PlayView | None] = var(None, init=False)
    prompts: reactive[tuple[tuple[RequestId, Content], ...]] = reactive((), recompose=True)
    """The id and the line of each queued prompt."""

    @dataclass
    class TakeBackRequested(Message):
        """The GM takes a queued prompt back."""

        request_id: RequestId

    def compose(self) -> ComposeResult:
        """Compose a line for each prompt; the key takes back the newest."""
        for request_id, line in self.prompts:
            is_newest = request_id == self.prompts[-1][0]
            with Horizontal(classes="queued"):
                yield Static(line, classes="queued--line")
                label = with_key("Take back", "ctrl+t" if is_newest else "")
                yield Button(label, name=str(request_id), compact=True)

    def watch_view(self, view: PlayView | None) -> None:
        """Show the queue, the next prompt first; a read-only window hides the buttons."""
        if view is None:
            return
        self.set_class(not view.is_writer, "-read-only")
        self.prompts = tuple(
            (one.id, Content.styled(queue_line(view, one), f"$slot-{one.slot.colour}")) for one in view.queued
        )
        self.display = bool(self.prompts)

    @on(Button.Pressed)
    def _request_back(self, event: Button.Pressed) -> None:
        for request_id, _ in self.prompts:
            if str(request_id) == event.button.name:
                self.post_message(self.TakeBackRequested(request_id))
