"""The written chapter: a version that is stored, or prose that streams in (design 10)."""

from textual.timer import Timer

from core.domain.transcript import SEPARATOR, PieceKind
from core.text.cleaning import clean, word_count
from storyengine_tui.widgets.reading.pinned_view import PinnedView
from storyengine_tui.widgets.reading.transcript_lines import Paragraph

FRAMES_PER_SECOND = 30


class DraftView(PinnedView):
    """Shows a whole text, which may grow: the first piece is painted at once, others some times a second."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._pending: list[str] = []
        self._frame_timer: Timer | None = None

    @property
    def text(self) -> str:
        """What is shown."""
        return self.lines.text

    def show_text(self, text: str, *, from_top: bool) -> None:
        """Show a text from its beginning, or keep the place."""
        self._forget_pending()
        self.unpin()
        parts = clean(text).split(SEPARATOR) if text else []
        paragraphs = [
            Paragraph(PieceKind.GM, None, part, ("draft", index)) for index, part in enumerate(parts)
        ]
        self.rearrange(lambda: self.lines.show(paragraphs))
        if from_top:
            self.pin(0)
        self.refresh_bindings()

    def grow(self, text: str) -> None:
        """Add to the end; who looks at the end sees it grow."""
        self.unpin()
        self._pending.append(text)
        if self._frame_timer is None:
            self._paint_pending()
            self._frame_timer = self.set_timer(1 / FRAMES_PER_SECOND, self._frame_over)

    def _frame_over(self) -> None:
        self._frame_timer = None
        if self._pending:
            self._paint_pending()
            self._frame_timer = self.set_timer(1 / FRAMES_PER_SECOND, self._frame_over)

    def _paint_pending(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        if not self.lines.paragraphs:
            text = text.lstrip()
            self.extend(lambda: self.lines.add(Paragraph(PieceKind.GM, None, "", ("draft", 0))))
        if text:
            self.extend(lambda: self.lines.grow(text))

    def _forget_pending(self) -> None:
        self._pending.clear()
        if self._frame_timer is not None:
            self._frame_timer.stop()
            self._frame_timer = None


class LiveDraft:
    """A chapter that is being written, or was when its writing failed; its parts follow each other."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._calls = 0
        self.is_writing = True

    @property
    def text(self) -> str:
        """What has come in."""
        return "".join(self._pieces).strip()

    @property
    def words(self) -> int:
        """How many words have come in."""
        return word_count(self.text)

    @property
    def part(self) -> int:
        """Which call of this attempt is being made, from 1."""
        return self._calls

    def begin_call(self) -> str:
        """Begin another part; return what stands between it and the one before."""
        self._calls += 1
        return self.add(SEPARATOR) if self.text else ""

    def add(self, piece: str) -> str:
        """Add what came in, and return it."""
        self._pieces.append(piece)
        return piece
