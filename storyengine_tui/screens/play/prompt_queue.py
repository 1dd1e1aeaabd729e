"""The prompts that wait for their turn, each with a way back (design 6)."""

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


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """One line: what waits for what."""

    request_id: RequestId
    line: str
    style: str


class PromptQueue(VerticalScroll, can_focus=False):
    """Takes no room while nothing waits."""

    view: var[PlayView | None] = var(None, init=False)
    prompts: reactive[tuple[QueuedPrompt, ...]] = reactive((), recompose=True)

    @dataclass
    class TakeBackRequested(Message):
        """The GM wants this prompt back before it goes."""

        request_id: RequestId

    def compose(self) -> ComposeResult:
        """Compose a line for each; only the newest answers to the key."""
        for number, prompt in enumerate(self.prompts, 1):
            is_newest = number == len(self.prompts)
            with Horizontal(classes="queued"):
                yield Static(Content.styled(prompt.line, prompt.style), classes="queued--line")
                label = "Take back (^t)" if is_newest else "Take back"
                yield Button(label, name=str(prompt.request_id), compact=True)

    def watch_view(self, view: PlayView | None) -> None:
        """Show what waits, the next one to go first; a window that only reads offers no way back."""
        if view is None:
            return
        self.set_class(not view.is_writer, "-read-only")
        self.prompts = tuple(
            QueuedPrompt(one.id, queue_line(view, one), f"$slot-{one.slot.colour}") for one in view.queued
        )
        self.display = bool(self.prompts)

    @on(Button.Pressed)
    def _ask(self, event: Button.Pressed) -> None:
        event.stop()
        for prompt in self.prompts:
            if str(prompt.request_id) == event.button.name:
                self.post_message(self.TakeBackRequested(prompt.request_id))
