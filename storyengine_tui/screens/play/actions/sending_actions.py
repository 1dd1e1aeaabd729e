"""Actions of tab 2 on lines that models are sent: always, never, from a new scene on (design 16)."""

from typing import TYPE_CHECKING

from core.domain.story.context_status import ContextStatus, status_of
from core.domain.story.event import Event
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.scene.sent_view import NEXT, said_of

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class SendingActions(PageActions):
    """Actions of tab 2 on lines that models are sent."""

    def action_mark_here(self) -> None:
        """Go on to the next status of the line at the cursor."""
        event = self.reading.marked_event
        if event is not None:
            self._send(event, NEXT[status_of(event, self.session.snapshot.statuses)])

    def action_send(self, status: str) -> None:
        """Give the line at the cursor this status."""
        event = self.reading.marked_event
        if event is not None:
            self._send(event, ContextStatus(status))

    def _send(self, event: Event, status: ContextStatus) -> None:
        self.page.do(self._store(self.session, event, status))

    async def _store(self, session: "SessionHandle", event: Event, status: ContextStatus) -> None:
        await session.scene.set_status([event], status)
        boundary = session.snapshot.session.boundary
        # One at a time: they would lie above each other while the key is pressed.
        self.page.app.clear_notifications()
        self.page.notify(said_of(event, status, boundary), timeout=4, markup=False)
