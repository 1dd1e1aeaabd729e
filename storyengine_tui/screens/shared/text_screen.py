"""The base of the screens that show one text in full: an input of a model, a prompt, an item of the bank."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from core.domain.errors import StoryEngineError
from core.text.numbers import counted
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.memory_outline import Names, Passage
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView


class TextScreen(OverlayScreen[ScreenResultType]):
    """Reads its passages when it is shown; Esc goes back without a result."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy all"),
        Binding("escape", "close", "Back"),
    ]

    heading: str
    """The line above the text."""
    names: Names = ()
    """The characters whose names are marked in the text."""
    OFFERS_PALETTE: ClassVar[bool] = True

    @abstractmethod
    async def passages(self) -> Sequence[Passage]:
        """Return the text; raises StoryEngineError."""

    def compose(self) -> ComposeResult:
        """Compose a heading above the text."""
        yield Static(Content(self.heading), id="heading")
        yield Banner(id="trouble")
        yield PassageView(id="text")
        yield from self.compose_below()
        yield Static("", id="said", markup=False)
        yield KeyLine(offers_palette=self.OFFERS_PALETTE)

    def compose_below(self) -> ComposeResult:
        """Compose more below the text."""
        yield from ()

    def on_mount(self) -> None:
        """Read the text."""
        self.first.focus()
        self.run_worker(self._load(), group="load", exit_on_error=False)

    @property
    def first(self) -> Widget:
        """The widget that has the focus at first."""
        return self.query_one(PassageView)

    async def _load(self) -> None:
        try:
            passages = await self.passages()
        except StoryEngineError as error:
            self.query_one(Banner).show(error.message, hint=error.hint)
            return
        view = self.query_one(PassageView)
        view.show_passages([Keyed(number, passage) for number, passage in enumerate(passages)], self.names)
        self.begin_at(view)

    def begin_at(self, view: PassageView) -> None:
        """Bring the place into view at which the reader begins."""
        view.pin(0)

    def action_copy_all(self) -> None:
        """Copy everything."""
        text = self.query_one(PassageView).lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{counted(len(text), 'character')} copied."))
