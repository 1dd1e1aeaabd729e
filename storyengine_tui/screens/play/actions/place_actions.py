"""Goes to words of the story: in the transcript, or in a text over it where the transcript has them not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType

from core.domain.story.event import Event
from core.domain.story.transcript import in_order, prefix_of
from core.text.cleaning import clean
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.text_screen import TextScreen
from storyengine_tui.widgets.reading.memory_outline import Passage
from storyengine_tui.widgets.reading.passage_view import PassageView
from storyengine_tui.widgets.reading.transcript_lines import SourcePos

if TYPE_CHECKING:
    from core.domain.session.session import Session
    from core.engine.session.session_handle import SessionHandle

NOT_PLAYED: Final = "Prompt {} is not part of the story now."


class PlaceActions(PageActions):
    """The action of tab 2 that shows a place of the story."""

    def action_go_to(self, prompt_index: int, ordinal: int, start: int, end: int) -> None:
        """Select words of an event in the transcript; where it has them not, show its prompt over it."""
        if self.reading.show_place(prompt_index, ordinal, start, end):
            self.page.page_focus.move_to(self.reading.transcript)
        else:
            work = self._show_earlier(self.session, prompt_index, ordinal, (start, end))
            run_in_background(self.page, work, group="place", exclusive=True)

    async def _show_earlier(
        self, session: "SessionHandle", prompt_index: int, ordinal: int, words: tuple[int, int]
    ) -> None:
        played = await self.page.perform(session.reads.canon(first=prompt_index, last=prompt_index))
        if played is None or not self.page.shows(session):
            return
        if all(event.ordinal != ordinal for event in played):
            self.page.notify(NOT_PLAYED.format(prompt_index), severity="warning", markup=False)
        else:
            screen = PromptScreen(session.snapshot.session, played, ordinal, words)
            self.page.ask(screen, lambda _: self.page.on_tab_shown())


class PromptScreen(TextScreen[None]):
    """Shows one prompt with its replies, and selects words of one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f7", "close", "Back")]
    HELP = (
        "A prompt that the transcript does not show here: it is an earlier one, or the transcript shows what "
        "one character knows. y copies all of it, v marks a part."
    )

    def __init__(
        self, session: "Session", events: Sequence[Event], ordinal: int, words: tuple[int, int]
    ) -> None:
        """Show events of one prompt, and select the characters `words` of the one with this ordinal."""
        super().__init__()
        self._session = session
        self._events = in_order(events)
        self._ordinal = ordinal
        self._words = words
        number = self._events[0].prompt_index
        self.heading = f"Prompt {number:,}" if number else "Before the first prompt"

    async def passages(self) -> Sequence[Passage]:
        """Return a passage for each event."""
        prefixes = [prefix_of(event, self._session) for event in self._events]
        texts = [clean(event.text) for event in self._events]
        return [Passage(prefix + text, len(prefix)) for prefix, text in zip(prefixes, texts, strict=True)]

    def begin_at(self, view: PassageView) -> None:
        """Begin at the words."""
        number = next(n for n, event in enumerate(self._events) if event.ordinal == self._ordinal)
        event = self._events[number]
        shift = len(prefix_of(event, self._session))
        begin, end = (SourcePos(number, shift + len(clean(event.text[:place]))) for place in self._words)
        view.mark_at(begin, end)
