"""Who writes in this chapter when it is not this window, and how to take over (design 6)."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.worker import Worker

from core.errors import StoryEngineError
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone

if TYPE_CHECKING:
    from core.engine.open_session import OpenSession
    from core.store import Holder

POLL_SECONDS = 3.0
"""How often a window that waits for the writer to go asks whether it is gone."""


class WriterBanner(Banner):
    """Shown while the session is read-only; takes over by itself only when the GM asked for it."""

    @dataclass
    class TakeOverFailed(Message):
        """The store could not be asked; it is asked again."""

        error: StoryEngineError

    _session: "OpenSession | None" = None
    _waiting: Worker[None] | None = None

    @property
    def is_read_only(self) -> bool:
        """Whether there is a writer to take over from."""
        return self._session is not None and self._session.is_read_only

    def show_writer_of(self, session: "OpenSession | None") -> None:
        """Say who writes in `session`; nothing when this window does, or when there is none."""
        if session is not self._session:
            self._stop_waiting()
        self._session = session
        if session is None or not session.is_read_only:
            self._stop_waiting()
            self.hide()
            return
        if self._waiting is None:
            action = BannerAction("toggle", "Take over when it is gone", "^t")
        else:
            action = BannerAction("toggle", "Do not take over", "^t")
        self.show(
            _sentence(session.holder, is_waiting=self._waiting is not None), actions=(action,), tone=Tone.INFO
        )

    def toggle(self) -> None:
        """Write here as soon as the other window is gone, or do not any more."""
        if self._waiting is None:
            self._waiting = self.run_worker(self._take_over(), group="take-over", exit_on_error=False)
        else:
            self._stop_waiting()
        self.show_writer_of(self._session)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _take_over(self) -> None:
        """Ask until this window writes; that it does is a notice of the session."""
        while self._session is not None:
            try:
                if await self._session.take_over():
                    break
            except StoryEngineError as error:
                self.post_message(self.TakeOverFailed(error))
            self.show_writer_of(self._session)
            await asyncio.sleep(POLL_SECONDS)
        self._waiting = None
        self.show_writer_of(self._session)

    @on(Banner.ActionChosen)
    def _do_as_it_says(self, event: Banner.ActionChosen) -> None:
        event.stop()
        self.toggle()


def _sentence(holder: "Holder | None", *, is_waiting: bool) -> str:
    who = f" ({holder.label}, since {holder.since.astimezone():%H:%M on %d %B})" if holder else ""
    sentence = f"Another window writes in this chapter{who}; here you read along."
    return f"{sentence} This one takes over as soon as that is gone." if is_waiting else sentence
