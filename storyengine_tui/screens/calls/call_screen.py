"""One call in full: its facts, its output and its input."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.domain.errors import StoryEngineError
from core.engine.session_handle import SessionHandle
from storyengine_tui.screens.calls.call_rows import CallRow, agent_of, passages_of_call, segments_of
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView


class CallScreen(OverlayScreen[None]):
    """Reads the texts of a call when it is shown; Esc goes back to the list."""

    CSS_PATH = "calls_screen.tcss"
    HELP = (
        "What was sent in this call, and what came back; of the system prompt its version, hash and length. "
        "y copies all that is shown, v marks a part."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "go('Output')", "Output"),
        Binding("i", "go('Input')", "Input"),
        Binding("y", "copy_all", "Copy all"),
        Binding("escape,f7", "close", "Back"),
    ]

    def __init__(self, session: SessionHandle, call: CallRow) -> None:
        super().__init__()
        self._session = session
        self._call = call

    def compose(self) -> ComposeResult:
        """Compose a heading above the text."""
        agent = agent_of(self._call, self._session.snapshot.session)
        yield Static(Content(f"Call {self._call.number:,}, agent {agent}"), id="heading")
        yield Banner(id="trouble")
        yield PassageView(id="call")
        yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the texts."""
        self.query_one(PassageView).focus()
        self.run_worker(self._load(), group="load", exit_on_error=False)

    async def _load(self) -> None:
        artifact = self._call.artifact
        references = [reference for reference in (artifact.input_ref, artifact.output_ref) if reference]
        try:
            texts = dict(await self._session.contents(references))
            segments = segments_of(texts.get(artifact.input_ref, ""))
            texts |= await self._session.contents([segment.hash for segment in segments])
        except StoryEngineError as error:
            self.query_one(Banner).show(error.message, hint=error.hint)
            return
        passages = passages_of_call(self._call, self._session.snapshot.session, segments, texts)
        view = self.query_one(PassageView)
        view.show_passages([Keyed(number, passage) for number, passage in enumerate(passages)])
        view.pin(0)

    def action_go(self, title: str) -> None:
        """Go to the beginning of the output or the input."""
        view = self.query_one(PassageView)
        for number, paragraph in enumerate(view.lines.paragraphs):
            if paragraph.text == title:
                view.pin(number)
                return

    def action_copy_all(self) -> None:
        """Copy everything."""
        text = self.query_one(PassageView).lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{len(text):,} characters copied."))
