"""The actions of tab 2 that move between the panels and the transcript."""

from core.domain.slot import Slot
from storyengine_tui.screens.play.actions.page_actions import PageActions


class PanelActions(PageActions):
    """Actions of tab 2 about where the GM reads and writes."""

    def action_read(self, way: str) -> None:
        """Scroll the transcript: `page_up`, `page_down` or `end`."""
        self.reading.go(way)

    def action_write(self) -> None:
        """Go back to the panel."""
        self.page.on_tab_shown()

    def action_next_panel(self) -> None:
        """Write to the next character."""
        self.sender.has_picked = True
        self.composer.show_next(self.composer.slot)
        self.page.on_tab_shown()

    def action_panel(self, number: int) -> None:
        """Write to the character in this slot."""
        if Slot(number) in self.session.snapshot.session.slots:
            self.sender.has_picked = True
            self.composer.show(Slot(number), takes_focus=True)
