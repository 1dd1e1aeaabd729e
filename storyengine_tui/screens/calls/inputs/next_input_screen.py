"""The exact input that a character is given next, before it is sent (design 13)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from core.agents.role.prompt_file import SEGMENTS, in_place_of_text
from core.config.models.model_config import ModelConfig
from core.context.segments import Context
from core.context.window import parts_of, window_text
from core.context.working_memory import working_memory_text
from core.text.cleaning import clean, clean_line
from storyengine_tui.screens.calls.inputs.passages import passages_of_lore
from storyengine_tui.screens.shared.text_screen import TextScreen
from storyengine_tui.widgets.reading.memory_outline import Passage

WINDOW: Final = "The window"
WORKING_MEMORY: Final = "Working memory"


class NextInputScreen(TextScreen[None]):
    """Shows an input when it is made; nothing is sent."""

    CSS_PATH = "../calls_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f7", "close", "Back")]
    HELP = (
        "The model's input if you send the text of the panel now, part by part, as `storyengine context` "
        "prints it; the system prompt is named by version, hash and length. y copies all, v marks a part."
    )

    def __init__(self, name: str, make: Callable[[], Awaitable[Context]], choice: ModelConfig) -> None:
        """Show what `make` returns: the input for the character called `name`, as `choice` says."""
        super().__init__()
        self.heading = f"What {clean_line(name)} is given next"
        self._make = make
        self._choice = choice

    async def passages(self) -> Sequence[Passage]:
        """Return the parts of the input."""
        return passages_of_input(await self._make(), self._choice)


def passages_of_input(made: Context, choice: ModelConfig) -> list[Passage]:
    """Return the parts of an input with their lengths, and how it is sent."""
    picture = window_text(parts_of(made), [clean_line(line) for line in made.left_out], made.max_input_tokens)
    passages = [Passage(f"{WINDOW}\n{picture}", len(WINDOW))]
    if stays := working_memory_text(made):
        passages.append(Passage(f"{WORKING_MEMORY}\n{stays}", len(WORKING_MEMORY)))
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
    ]
    return [*passages, *passages_of_lore(made.lore), Passage("\n".join(lines), len(total))]
