"""The line above the tabs: the state of the chapter, and its title (design 10)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from storyengine_tui.screens.shared.state_labels import STATE_LABELS, shortened_title

if TYPE_CHECKING:
    from core.storage.snapshot import Snapshot


_BESIDE: Final = 32
"""Cells of the tabs, and of the edge on the right."""
_NARROWEST: Final = 10
"""Cells of a title below which its end is cut as that of any text."""


class StatusLine(Static):
    """Shows a chapter by its title, or by the first words of its text."""

    @dataclass
    class Retitled(Message):
        """The title of the chapter has changed."""

        title: str

    title = ""
    _state = ""

    def show(self, snapshot: "Snapshot") -> None:
        """Show the chapter as it is now."""
        title = snapshot.title
        self._state = f"{STATE_LABELS[snapshot.session.state]} · "
        is_new, self.title = title != self.title, title
        self.fit()
        if is_new:
            self.post_message(self.Retitled(title))

    def fit(self) -> None:
        """Cut the title as the window has room: its end says which restored chapter or branch it is."""
        if not self._state:
            return
        room = self.screen.size.width - _BESIDE - cell_len(self._state)
        title = shortened_title(self.title, room) if room > _NARROWEST else self.title
        self.update(Content(f"{self._state}{title}"))
