"""The exact input that a character is given next, before it is sent (design 13)."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.agents.prompt_file import SEGMENTS, in_place_of_text
from core.config.models import ModelConfig
from core.context.segments import Context
from core.domain.errors import StoryEngineError
from core.text.cleaning import clean, clean_line
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.reading.memory_outline import Passage
from storyengine_tui.widgets.reading.passage_view import Keyed, PassageView


class NextInputScreen(OverlayScreen[None]):
    """Shows an input when it is made; nothing is sent."""

    CSS_PATH = "calls_screen.tcss"
    HELP = (
        "What the model is given when you send the text of the panel now, part by part, as `storyengine "
        "context` prints it; of the system prompt its version, hash and length. y copies all, v marks a part."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy all"),
        Binding("escape,f7", "close", "Back"),
    ]

    def __init__(self, name: str, make: Callable[[], Awaitable[Context]], choice: ModelConfig) -> None:
        """Show what `make` returns: the input for the character called `name`, as `choice` says."""
        super().__init__()
        self._character = name
        self._make = make
        self._choice = choice

    def compose(self) -> ComposeResult:
        """Compose a heading above the text."""
        yield Static(Content(f"What {clean_line(self._character)} is given next"), id="heading")
        yield Banner(id="trouble")
        yield PassageView(id="call")
        yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read what the input is made of."""
        self.query_one(PassageView).focus()
        self.run_worker(self._load(), group="load", exit_on_error=False)

    async def _load(self) -> None:
        try:
            made = await self._make()
        except StoryEngineError as error:
            self.query_one(Banner).show(error.message, hint=error.hint)
            return
        view = self.query_one(PassageView)
        passages = passages_of_input(made, self._choice)
        view.show_passages([Keyed(number, passage) for number, passage in enumerate(passages)])
        view.pin(0)

    def action_copy_all(self) -> None:
        """Copy everything."""
        text = self.query_one(PassageView).lines.text
        self.app.copy_to_clipboard(text)
        self.query_one("#said", Static).update(Content(f"{len(text):,} characters copied."))


def passages_of_input(made: Context, choice: ModelConfig) -> list[Passage]:
    """Return the parts of an input with their lengths, and how it is sent."""
    passages = []
    for segment in made.segments:
        heading = f"{segment.name.value} · {segment.role} · about {segment.tokens:,} tokens"
        text = segment.text
        if segment.name in SEGMENTS:
            text = in_place_of_text(made.prompt_version, text)
        passages.append(Passage(f"{heading}\n{clean(text)}", len(heading)))
    total = f"In all about {made.tokens:,} of {made.max_input_tokens:,} tokens"
    temperature = "the service's own" if choice.temperature is None else f"{choice.temperature:g}"
    lines = [
        total,
        f"To {clean_line(choice.model)}, at most {choice.max_output_tokens:,} tokens of answer, "
        f"temperature {temperature}",
        *(f"Left out: {clean_line(line)}" for line in made.left_out),
    ]
    return [*passages, Passage("\n".join(lines), len(total))]
