"""The line above the tabs: the state of the chapter, and its title (design 10)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from storyengine_tui.screens.shared.state_labels import STATE_LABELS

if TYPE_CHECKING:
    from core.storage.snapshot import Snapshot


class StatusLine(Static):
    """Shows a chapter by its title, or by the first words of its text."""

    @dataclass
    class Retitled(Message):
        """The title of the chapter has changed."""

        title: str

    title = ""

    def show(self, snapshot: "Snapshot") -> None:
        """Show the chapter as it is now."""
        from core.domain.session.session import title_from  # After the first paint.

        session = snapshot.session
        title = title_from(session.title, snapshot.tab1.chapter, snapshot.tab1.world)
        self.update(Content(f"{STATE_LABELS[session.state]} · {title}"))
        if title != self.title:
            self.title = title
            self.post_message(self.Retitled(title))
