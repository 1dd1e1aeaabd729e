"""The transcript of tab 2: a window of the stored events, and the reply that streams in below it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.transcript import PieceKind, Window
from core.text.cleaning import StreamCleaner, clean, clean_line
from storyengine_tui.widgets.reading.line_view import LineView, StreamedText
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, Quoted, nothing_quoted, paragraph_of

LIVE_REPLY: Final = "live reply"
"""The key of the paragraph of a reply that is not stored yet."""
NO_MARKS: Final[Mapping[object, str]] = MappingProxyType({})


class TranscriptView(LineView):
    """Shows windows and streams.

    `show_window` shows what is stored, and wraps only what is new in it. `begin_reply`, `stream`,
    `restart_reply` and `discard_reply` are for a reply that is not stored yet; `settle` puts the window that
    holds it in its place. The first token is painted at once, the following ones once in a frame.

    A window of another session is shown from its end. Nothing of the session before is kept: no reply that
    streams, no scroll position, no selection.
    """

    # Not in `LineView`: each class is restyled whenever a view gains or loses the focus.
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "transcript-view--line",
        *(f"transcript-view--{slot.colour}" for slot in Slot),
    }
    BINDINGS: ClassVar[list[BindingType]] = [Binding("m", "copy_marked", "Copy with who heard it")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session_id: SessionId | None = None
        self._stored: Sequence[Paragraph] = ()
        self._live: list[Paragraph] = []
        self._prefix = ""
        self._cleaner = StreamCleaner()
        self._streamed = StreamedText(self, self._paint)

    @property
    def text(self) -> str:
        """Everything that is shown, with the marks of who heard it."""
        return self.lines.text

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to copy marks only where some are selected."""
        if action == "copy_marked":
            ends = self.selection.ends
            return ends is not None and self.lines.has_marks(*ends)
        return super().check_action(action, parameters)

    def action_copy_marked(self) -> None:
        """Copy what is selected, with the marks of who heard it."""
        self.action_copy(with_marks=True)

    def show_window(
        self, window: Window, marks: Mapping[object, str] = NO_MARKS, quoted: Quoted = nothing_quoted
    ) -> None:
        """Show `window`, and below it what streams, if anything does.

        `marks` has the marks to put before events, by their ids: who heard what not everyone heard. `quoted`
        says which of their words are kept as quotes.
        """
        if self._session_id not in (None, window.session_id):
            self._forget_session()
        self._session_id = window.session_id
        self._stored = [
            paragraph_of(piece, marks.get(piece.event.id, "") if marks and piece.event else "", quoted)
            for piece in window.pieces
        ]
        self._show_all()

    def _forget_session(self) -> None:
        """Keep nothing of the session that was shown."""
        self._drop_reply()
        if self.is_attached:
            self.action_unmark()
        self.position.is_following = True

    def begin_reply(self, slot: Slot, name: str, gm_line: str = "", mark: str = "") -> None:
        """Show the GM's line, such as `8) Who is there?`, and the beginning of a reply to it."""
        self._forget_pending()
        mark = clean(mark)
        self._prefix = f"{mark}{clean_line(name)}: "
        self._live = []
        if gm_line:
            self._live.append(Paragraph(PieceKind.GM, None, mark + clean(gm_line), "live gm", len(mark)))
        self._live.append(Paragraph(PieceKind.REPLY, slot, self._prefix, LIVE_REPLY, len(mark)))
        self._show_all()

    def stream(self, text: str) -> None:
        """Add to the reply; without one, do nothing."""
        if self._live:
            self._streamed.add(text)

    def restart_reply(self) -> None:
        """Remove what streamed so far; another attempt begins."""
        if self._live:
            self._forget_pending()
            reply = self._live[-1]
            self._live[-1] = Paragraph(reply.kind, reply.slot, self._prefix, reply.key, reply.mark)
            self._show_all()

    def settle(
        self, window: Window, marks: Mapping[object, str] = NO_MARKS, quoted: Quoted = nothing_quoted
    ) -> None:
        """Show `window`, which holds the reply that streamed."""
        self._drop_reply()
        self.show_window(window, marks, quoted)

    def discard_reply(self) -> None:
        """Show only what is stored; the reply failed or was cancelled."""
        self._drop_reply()
        self._show_all()

    def _show_all(self) -> None:
        self.rearrange(lambda: self.lines.show([*self._stored, *self._live]))

    def _drop_reply(self) -> None:
        self._forget_pending()
        self._live = []

    def _paint(self, text: str) -> None:
        text = self._cleaner.feed(text)
        if len(self._live[-1].text) == len(self._prefix):
            text = text.lstrip()  # As it will be stored.
        if text:
            self.extend(lambda: self.lines.grow(text))

    def _forget_pending(self) -> None:
        self._streamed.forget()
        self._cleaner = StreamCleaner()
