"""The base of the screens that show what a model was given, or is given next."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.domain.errors import StoryEngineError
from core.text.numbers import counted
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.memory_outline import Passage
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView


class TextScreen(OverlayScreen[None]):
    """Reads its passages when it is shown; Esc goes back."""

    CSS_PATH = "../calls_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy all"),
        Binding("escape,f7", "close", "Back"),
    ]

    heading: str
    """The line above the text."""

    @abstractmethod
    async def passages(self) -> Sequence[Passage]:
        """Return the text; raises StoryEngineError."""

    def compose(self) -> ComposeResult:
        """Compose a heading above the text."""
        yield Static(Content(self.heading), id="heading")
        yield Banner(id="trouble")
        yield PassageView(id="call")
        yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the text."""
        self.query_one(PassageView).focus()
        self.run_worker(self._load(), group="load", exit_on_error=False)

    async def _load(self) -> None:
        try:
            passages = await self.passages()
        except StoryEngineError as error:
            self.query_one(Banner).show(error.message, hint=error.hint)
            return
        view = self.query_one(PassageView)
        view.show_passages([Keyed(number, passage) for number, passage in enumerate(passages)])
        self.begin_at(view)

    def begin_at(self, view: PassageView) -> None:
        """Bring the place into view at which the reader begins."""
        view.pin(0)

    def action_copy_all(self) -> None:
        """Copy everything."""
        text = self.query_one(PassageView).lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{counted(len(text), 'character')} copied."))
