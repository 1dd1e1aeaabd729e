"""Says on every tab that the queue is paused, and lets the GM go on (design 17)."""

from typing import TYPE_CHECKING, Protocol

from textual import on

from core.domain.errors import StoryEngineError
from core.text.numbers import counted
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

HINT = "Running calls finish. Calls (F7) lists the waiting ones."


class Pausable(Protocol):
    """The queue, as far as it can be paused."""

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""

    async def resume(self) -> None:
        """Go on; raises StoryEngineError."""


class PausedBanner(Banner):
    """Takes no room while nothing is paused."""

    queue: Pausable | None = None
    """The queue of the engine; None where there is none to pause."""
    _shown_of: "SessionHandle | None" = None
    _sentence = ""

    def show_state(self, session: "SessionHandle | None") -> None:
        """Show whether the queue is paused, and how many prompts of the chapter wait."""
        self._shown_of = session
        sentence = ""
        if self.queue is not None and self.queue.is_paused:
            prompts = () if session is None else session.snapshot.open_prompts
            waiting = sum(not prompt.is_processing for prompt in prompts)
            count = counted(waiting, "prompt waits", "prompts wait")
            sentence = f"The queue is paused: nothing new is sent{f', and {count}' if waiting else ''}."
        if sentence != self._sentence:
            self._sentence = sentence
            if sentence:
                self.show(sentence, hint=HINT, actions=(BannerAction("resume", "Resume"),), tone=Tone.WARNING)
            else:
                self.hide()

    @on(Banner.ActionChosen)
    def _resume(self, event: Banner.ActionChosen) -> None:
        event.stop()
        self.run_worker(self._go_on(), group="resume", exit_on_error=False)

    async def _go_on(self) -> None:
        if self.queue is not None:
            try:
                await self.queue.resume()
            except StoryEngineError as error:
                self.notify(str(error), severity="warning", markup=False)
            self.show_state(self._shown_of)
