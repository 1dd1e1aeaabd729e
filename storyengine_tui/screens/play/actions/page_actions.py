"""The base of the groups of actions of tab 2, which the page adopts."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.play_view import PlayView
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


class PageActions:
    """Actions on a page with a transcript and a composer; `view` returns what the page would show now."""

    def __init__(self, page: SessionTab, sender: PromptSender, view: Callable[[], PlayView]) -> None:
        self.page = page
        self.sender = sender
        self.view = view

    @property
    def session(self) -> "SessionHandle":
        """The session that the page shows."""
        return self.page.session

    @property
    def composer(self) -> Composer:
        """The panels in which prompts are written."""
        return self.page.query_one(Composer)

    @property
    def reading(self) -> TranscriptPanel:
        """The transcript."""
        return self.page.query_one(TranscriptPanel)

    def follow_reply(self) -> None:
        """Scroll the transcript to its end."""
        self.reading.go("end")
