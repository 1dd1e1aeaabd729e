"""Messages that several widgets send."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.message import Message
from textual.widget import Widget

Sender = TypeVar("Sender", bound=Widget)


@dataclass
class ActionRequested(Message):
    """The user wants an action of the page, written as in a binding; the page runs it if it is possible."""

    action: str


@dataclass
class WidgetMessage(Message, Generic[Sender]):
    """A message of a widget; `@on` with a selector picks those of one widget."""

    sender: Sender

    @property
    def control(self) -> Sender:
        """The widget that sent this, where Textual looks for it."""
        return self.sender
