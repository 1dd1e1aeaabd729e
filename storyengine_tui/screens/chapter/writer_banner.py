"""The banner of a read-only window: which window writes in the chapter, and how to take over (design 6)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import on
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

POLL_SECONDS = 3.0
"""Interval in seconds at which a read-only window checks whether the writer is still there."""

WAIT: Final = BannerAction("take-over", "Take over when it closes", "ctrl+t")
STOP_WAITING: Final = BannerAction("take-over", "Do not take over", "ctrl+t")
TAKE_OVER: Final = BannerAction("take-over", "Take over", "ctrl+t")
CHAPTERS: Final = BannerAction("chapters", "Chapters", "f5")

OTHER_WRITES = "Another window writes in this chapter ({}, since {}); this window is read-only."
TAKES_OVER = " It takes over as soon as the other one closes."
GONE = "The window that wrote in this chapter has closed; no window writes here now."
SET_ASIDE = "Another window has set this chapter aside; it is archived, and here it can only be read."


class WriterBanner(Banner):
    """Shows while the session is read-only; takes over only if the GM asked for it."""

    @dataclass
    class TakeOverFailed(Message):
        """The store could not be reached; the banner tries again."""

        error: StoryEngineError

    _session: "SessionHandle | None" = None
    _is_waiting = False
    _choices = 0
    """Number of times that the GM has chosen to wait, or not to."""
    _polling: Timer | None = None
    _checking: Worker[None] | None = None

    @property
    def can_take_over(self) -> bool:
        """Whether this window can take over, now or when the writer closes."""
        session = self._session
        return session is not None and session.is_read_only and not _is_archived(session)

    def show_writer_of(self, session: "SessionHandle | None") -> None:
        """Say which window writes in `session`; hide if this window does, or if there is no session."""
        is_read_only = session is not None and session.is_read_only
        if not is_read_only:
            # A check that runs may be the take-over itself, which is repairing the chapter: it is not ended.
            self._stop_polling()
        if session is not self._session:
            self._stop_polling()
            self._stop_checking()
        self._session = session
        if session is None or not is_read_only:
            self.hide()
            return
        if self._polling is None:
            self._polling = self.set_interval(POLL_SECONDS, self._check)
        if _is_archived(session):
            self._is_waiting = False
            self.show(SET_ASIDE, actions=(CHAPTERS,), tone=Tone.INFO)
        elif session.holder is None:
            self.show(GONE, actions=(TAKE_OVER,), tone=Tone.INFO)
        else:
            label, since = session.holder.label, f"{session.holder.since.astimezone():%H:%M on %d %B}"
            sentence = OTHER_WRITES.format(label, since) + (TAKES_OVER if self._is_waiting else "")
            self.show(sentence, actions=(STOP_WAITING if self._is_waiting else WAIT,), tone=Tone.INFO)

    def toggle(self) -> None:
        """Take over as soon as the other window closes, or cancel that."""
        if not self.can_take_over:
            return
        self._is_waiting = not self._is_waiting
        self._choices += 1
        self.show_writer_of(self._session)
        self._check()

    def _stop_polling(self) -> None:
        self._is_waiting = False
        if self._polling is not None:
            self._polling.stop()
            self._polling = None

    def _stop_checking(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None

    def _check(self) -> None:
        """Check who writes, unless a check is still running: an unreachable store answers late."""
        if self._checking is None or self._checking.is_finished:
            self._checking = self.run_worker(self._check_once(), group="take-over", exit_on_error=False)

    async def _check_once(self) -> None:
        """Check once; a change arrives as a notification of the session, which shows this banner again."""
        session = self._session
        if session is None:
            return
        takes_over, choices = self._is_waiting, self._choices
        try:
            if takes_over:
                await session.take_over()
            else:
                await session.look_for_writer()
        except StoryEngineError as error:
            if takes_over:
                self.post_message(self.TakeOverFailed(error))
                if choices == self._choices:
                    self._is_waiting = True  # It may have been the writer for a moment.
                self.show_writer_of(self._session)

    @on(Banner.ActionChosen)
    async def _perform(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if event.action == CHAPTERS.name:
            await self.run_action("app.chapters")
        else:
            self.toggle()


def _is_archived(session: "SessionHandle") -> bool:
    return session.snapshot.session.archived_at is not None
