"""The panel that the GM goes on in, before there is one: it shows what is typed into the start."""

from textual.content import Content
from textual.widgets import Static

from core.domain.slot import Slot
from storyengine_tui.screens.chapter.last_session import LastPanel
from storyengine_tui.theme import slot_class

SHOWN = 1_000
"""Characters from the end that are shown; the panel that comes has all."""


class EarlyPanel(Static):
    """Looks like the composer of the last session and stands in its place until that is open."""

    def show_for(self, panel: LastPanel) -> None:
        """Stand in for this panel."""
        self.border_title = Content(f"To {int(panel.slot)} {panel.name}")
        self.remove_class(*map(slot_class, Slot)).add_class(slot_class(panel.slot))
        self.show_text("")
        self.display = True

    def show_text(self, text: str) -> None:
        """Show what is typed so far, with a cursor behind it."""
        self.update(Content.assemble(text[-SHOWN:], (" ", "reverse")), layout=False)
