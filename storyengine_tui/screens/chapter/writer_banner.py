"""Who writes in this chapter when it is not this window, and how to take over (design 6)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import on
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle
    from core.store import WriterInfo

POLL_SECONDS = 3.0
"""How often a window that reads along asks whether the writer is still there."""

WAIT: Final = BannerAction("take-over", "Take over when it closes", "^t")
WAIT_NO_MORE: Final = BannerAction("take-over", "Do not take over", "^t")
TAKE_OVER: Final = BannerAction("take-over", "Take over", "^t")
CHAPTERS: Final = BannerAction("chapters", "Chapters", "F5")

GONE = "The window that wrote in this chapter has closed; no window writes here now."
SET_ASIDE = "Another window has set this chapter aside; it is archived, and here it can only be read."


class WriterBanner(Banner):
    """Shown while the session is read-only; takes over by itself only when the GM asked for it."""

    @dataclass
    class TakeOverFailed(Message):
        """The store could not be asked; it is asked again."""

        error: StoryEngineError

    _session: "SessionHandle | None" = None
    _is_waiting = False
    _polling: Timer | None = None
    _asking: Worker[None] | None = None

    @property
    def can_take_over(self) -> bool:
        """Whether there is a writer to take over from, now or when it is gone."""
        session = self._session
        return session is not None and session.is_read_only and not _is_archived(session)

    def show_writer_of(self, session: "SessionHandle | None") -> None:
        """Say who writes in `session`; nothing when this window does, or when there is none."""
        if session is not self._session:
            self._stop()
        self._session = session
        if session is None or not session.is_read_only:
            self._stop()
            self.hide()
            return
        if self._polling is None:
            self._polling = self.set_interval(POLL_SECONDS, self._ask)
        if _is_archived(session):
            self._is_waiting = False
            self.show(SET_ASIDE, actions=(CHAPTERS,), tone=Tone.INFO)
        elif session.holder is None:
            self.show(GONE, actions=(TAKE_OVER,), tone=Tone.INFO)
        else:
            sentence = _sentence(session.holder, is_waiting=self._is_waiting)
            self.show(sentence, actions=(WAIT_NO_MORE if self._is_waiting else WAIT,), tone=Tone.INFO)

    def toggle(self) -> None:
        """Write here as soon as the other window is gone, or do not any more."""
        if not self.can_take_over:
            return
        self._is_waiting = not self._is_waiting
        self.show_writer_of(self._session)
        self._ask()

    def _stop(self) -> None:
        self._is_waiting = False
        if self._polling is not None:
            self._polling.stop()
            self._polling = None
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _ask(self) -> None:
        """Ask who writes, unless an answer is still awaited: a store that is away may take its time."""
        if self._asking is None or self._asking.is_finished:
            self._asking = self.run_worker(self._ask_once(), group="take-over", exit_on_error=False)

    async def _ask_once(self) -> None:
        """What is found is a notice of the session, after which this is shown again."""
        session = self._session
        if session is None:
            return
        try:
            if self._is_waiting:
                await session.take_over()
            else:
                await session.look_for_writer()
        except StoryEngineError as error:
            if self._is_waiting:
                self.post_message(self.TakeOverFailed(error))

    @on(Banner.ActionChosen)
    async def _do_as_it_says(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if event.action == CHAPTERS.name:
            await self.run_action("app.chapters")
        else:
            self.toggle()


def _is_archived(session: "SessionHandle") -> bool:
    return session.snapshot.session.archived_at is not None


def _sentence(holder: "WriterInfo", *, is_waiting: bool) -> str:
    who = f"{holder.label}, since {holder.since.astimezone():%H:%M on %d %B}"
    sentence = f"Another window writes in this chapter ({who}); this window is read-only."
    return f"{sentence} It takes over as soon as the other one closes." if is_waiting else sentence
