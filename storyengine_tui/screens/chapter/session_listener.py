"""Follows the open session: hands its notifications to the pages, and shows what they mean for all tabs."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.screen import Screen

from core.domain.ids import RequestId, SessionId
from core.domain.session.session_state import SessionState
from storyengine_tui.screens.chapter.feedback import Feedback
from storyengine_tui.screens.chapter.paused_banner import PausedBanner
from storyengine_tui.screens.chapter.status_line import StatusLine
from storyengine_tui.screens.chapter.tab_pages import TabPages
from storyengine_tui.screens.chapter.writer_banner import WriterBanner
from storyengine_tui.screens.models.permission.call_permission import is_repairable

if TYPE_CHECKING:
    from core.domain.story.event import Event
    from core.engine.session.session_handle import SessionHandle
    from core.engine.sync.notifications import Notification
    from core.engine.sync.subscriptions import Listener


class SessionListener:
    """Holds the session that a screen shows; what concerns more than the screen is posted from there."""

    @dataclass
    class Replaced(Message):
        """The session was reset; the session with this id replaces it."""

        session_id: SessionId

    @dataclass
    class Played(Message):
        """A prompt and its reply are stored."""

        replier: str
        title: str

    @dataclass
    class RepairWanted(Message):
        """The call of this request may have failed because it lacked something that the GM can provide."""

        request_id: RequestId

    def __init__(self, screen: Screen[None], pages: TabPages, feedback: Feedback) -> None:
        self._screen = screen
        self._pages = pages
        self._feedback = feedback
        self._listening = ExitStack()
        self._was_played = False
        self.session: SessionHandle | None = None
        """None while no session is open."""

    def open(self, session: "SessionHandle") -> "Listener":
        """Listen to this session until `close`; what it says is handled by `follow`."""
        self.session, self._was_played = session, session.snapshot.session.state.is_played
        return self._listening.enter_context(session.listen())

    def close(self) -> None:
        """Listen no longer."""
        self._listening.close()
        self.session, self._was_played = None, False

    def show(self) -> None:
        """Show the title of the session, which window writes in it, and whether the queue is paused."""
        self.show_writer()
        self._screen.query_one(PausedBanner).show_state(self.session)
        self._show_title()

    def show_writer(self) -> None:
        """Say which window writes in the session, if it is another one."""
        self._screen.query_one(WriterBanner).show_writer_of(self.session)
        self._screen.refresh_bindings()

    def _show_title(self) -> None:
        if self.session is not None:
            self._screen.query_one(StatusLine).show(self.session.snapshot)
            self._screen.refresh_bindings()

    async def follow(self, listener: "Listener") -> None:
        """Handle what the session says, until it is closed."""
        from core.engine.sync.notifications import TextArrived

        async for batch in listener.batches():
            for notification in batch:
                await self._handle(notification)
                await self._pages.wait_until_attached()
                for page in self._pages:
                    page.on_notification(notification)
            # Once, after all notices of a commit.
            if not all(isinstance(notification, TextArrived) for notification in batch):
                for page in self._pages:
                    page.refresh_view()
                self._screen.query_one(PausedBanner).show_state(self.session)

    async def _handle(self, notification: "Notification") -> None:
        from core.engine.sync import notifications

        match notification:
            case notifications.SessionChanged(session):
                has_ended = session.state is SessionState.ENDED and self._was_played
                self._was_played = session.state.is_played
                self._show_title()
                self.show_writer()
                if has_ended:
                    self._pages.active = "narrative"
            case notifications.StorageTrouble(error):
                self._feedback.show_trouble(error, lasts_until_recovery=True)
            case notifications.StorageRecovered():
                self._feedback.hide_trouble()
            case notifications.WriterChanged(holder):
                self.show_writer()
                if holder is None and self.session is not None:
                    await self._pages.attach_again(self.session)
            case notifications.WriterGone():
                self.show_writer()
            case notifications.SessionReplaced(new_id):
                self._screen.post_message(self.Replaced(new_id))
            case notifications.RequestFailed(request, error) if is_repairable(self.session, request, error):
                self._screen.post_message(self.RepairWanted(request.id))
            case notifications.EventsAppended(events):
                self._report_reply(events)

    def _report_reply(self, events: "tuple[Event, ...]") -> None:
        slot = events[-1].slot
        if self.session is not None and slot is not None:
            name = self.session.snapshot.session.name_of(slot)
            self._screen.post_message(self.Played(name, self._screen.query_one(StatusLine).title))
