"""The written chapter: a version that is stored, or prose that streams in (design 10)."""

from core.domain.story.transcript import SEPARATOR, PieceKind
from core.text.cleaning import clean
from storyengine_tui.widgets.reading.line_view import LineView, StreamedText
from storyengine_tui.widgets.reading.transcript_lines import Paragraph


class DraftView(LineView):
    """Shows a whole text, which may grow: the first piece is painted at once, later ones at a frame rate."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._streamed = StreamedText(self, self._paint)

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self.lines.text

    def show_text(self, text: str, *, from_top: bool) -> None:
        """Show a text, from its beginning or at the current scroll position."""
        self._streamed.forget()
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
        """Append to the text; a view at the end follows it."""
        self.unpin()
        self._streamed.add(text)

    def _paint(self, text: str) -> None:
        if not self.lines.paragraphs:
            text = text.lstrip()
            self.extend(lambda: self.lines.add(Paragraph(PieceKind.GM, None, "", ("draft", 0))))
        if text:
            self.extend(lambda: self.lines.grow(text))


class LiveDraft:
    """The text of a build that is being written or has failed: its parts, one after the other."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.is_writing = True

    @property
    def text(self) -> str:
        """The text received so far."""
        return "".join(self._pieces).strip()

    def begin_part(self) -> str:
        """Begin another part; return the separator between it and the part before."""
        return self.add(SEPARATOR) if self.text else ""

    def add(self, piece: str) -> str:
        """Append `piece`, and return it."""
        self._pieces.append(piece)
        return piece
