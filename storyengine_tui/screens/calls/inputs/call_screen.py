"""One call in full: its facts, its output and its input."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.calls.inputs.call_rows import CallRow, agent_of, passages_of_call, segments_of
from storyengine_tui.screens.shared.text_screen import TextScreen
from storyengine_tui.widgets.reading.memory_outline import Passage
from storyengine_tui.widgets.reading.passage_view import PassageView


class CallScreen(TextScreen[None]):
    """Shows a call of the session."""

    CSS_PATH = "../calls_screen.tcss"
    HELP = (
        "Input and answer of this call; the system prompt is named by version, hash and length. y copies all "
        "that is shown, v marks a part."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "go('Output')", "Output"),
        Binding("i", "go('Input')", "Input"),
        Binding("f7", "close", "Back"),
    ]

    def __init__(self, session: SessionHandle, call: CallRow) -> None:
        super().__init__()
        self._session = session
        self._call = call
        self.heading = f"Call {call.number:,}, agent {agent_of(call, session.snapshot.session)}"

    async def passages(self) -> Sequence[Passage]:
        """Return facts, output and input."""
        artifact = self._call.artifact
        references = [reference for reference in (artifact.input_ref, artifact.output_ref) if reference]
        texts = dict(await self._session.reads.contents(references))
        segments = segments_of(texts.get(artifact.input_ref, ""))
        texts |= await self._session.reads.contents([segment.hash for segment in segments])
        return passages_of_call(self._call, self._session.snapshot.session, segments, texts)

    def action_go(self, title: str) -> None:
        """Go to the beginning of the output or the input."""
        view = self.query_one(PassageView)
        for number, paragraph in enumerate(view.lines.paragraphs):
            if paragraph.text == title:
                view.pin(number)
                return
