"""An app that is shown by two emulated terminals: one is painted whole, one by difference."""

import unicodedata

import pyte
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from core.domain.story.transcript import Window, render_window
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.textual_ext.painting.batched_screen import BatchedScreen
from storyengine_tui.textual_ext.painting.compositor import Pieces
from storyengine_tui.textual_ext.painting.diff_display import DiffDisplayApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.rooms.widget_app import WIDGET_STYLES


class Terminal:
    """An emulated terminal that is fed bytes."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = pyte.Screen(width, height)
        self.stream = pyte.Stream(self.screen)

    def feed(self, text: str) -> None:
        self.stream.feed(text)

    def shown(self) -> list[list[tuple[str, str, str, bool]]]:
        """Return character, colours and weight of every cell."""
        buffer = self.screen.buffer
        return [
            [
                (unicodedata.normalize("NFC", cell.data), cell.fg, cell.bg, cell.bold)
                for cell in (buffer[y][x] for x in range(self.screen.columns))
            ]
            for y in range(self.screen.lines)
        ]


def sure_window(prompts: int, boundary: int = 0) -> Window:
    """Return a window without characters that the emulator gives another width than Textual."""
    events = [
        event
        for index in range(1, prompts + 1)
        for event in chapter.prompt(index, reply=chapter.REPLIES[index % 2])
    ]
    return render_window(events, chapter.session(prompts, boundary))


class ComparedApp(DiffDisplayApp, ThemedApp):
    """Feeds two terminals, one plainly and one by difference."""

    CSS_PATH = WIDGET_STYLES
    CSS = "#end { height: 3; } TranscriptView { height: 1fr; }"

    def __init__(self, screen: type[Screen[None]] = BatchedScreen, size: tuple[int, int] = (80, 24)) -> None:
        super().__init__()
        self.screen_class = screen
        self.ours = Terminal(*size)
        self.theirs = Terminal(*size)
        self.sent = 0
        self.sent_plainly = 0

    def get_default_screen(self) -> Screen[None]:
        return self.screen_class()

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TranscriptView()
            yield CappedTextArea(limit=500, id="end")
            yield Static(Content.from_markup("a [link='https://example.org']link[/link]"))

    def _display(self, screen: Screen[object], renderable: object) -> None:
        if isinstance(renderable, Pieces | ChopsUpdate | LayoutUpdate) and not self._batch_count:
            # What Textual paints when all of the screen is painted anew, whoever found out what changed.
            full = screen._compositor.render_update(full=True, screen_stack=self._background_screens)
            assert isinstance(full, LayoutUpdate)
            whole = full.render_segments(self.console)
            part = self.difference_of(renderable)
            sequence = part.render_segments(self.console) if part is not None else ""
            self.theirs.feed(whole)
            self.ours.feed(sequence)
            self.sent_plainly += len(renderable.render_segments(self.console))
            self.sent += len(sequence)
        super()._display(screen, renderable)  # type: ignore[arg-type]  # None as well

    def assert_same(self) -> None:
        assert self.ours.shown() == self.theirs.shown()
