"""Plots the length of characters' inputs over a chapter, and the kept share of shortened parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from core.context.lore import NOTE_ROLE
from core.context.window import WINDOW_NOTES, kept_share, read_notes
from core.domain.requests.request import ReplyRequest
from core.engine.session.session_handle import SessionHandle
from core.text.numbers import counted
from storyengine_tui.screens.calls.inputs.call_rows import CallRow, Segment, segments_of
from storyengine_tui.screens.calls.inputs.passages import window_parts
from storyengine_tui.screens.shared.text_screen import TextScreen
from storyengine_tui.widgets.reading.memory_outline import Passage

MOST_CALLS: Final = 500
"""The newest calls of a chapter that are plotted."""
TOKENS: Final = "Tokens of each input of a character, the newest at the right"
LEFT: Final = "Kept share of shortened parts, in percent"
NONE_YET: Final = "No character was asked yet."
ALL_WHOLE: Final = "No part was made shorter."


@dataclass(frozen=True, slots=True)
class InputLength:
    """The tokens of an input, and what is left of its parts that were made shorter; None if all are whole."""

    tokens: int
    kept: float | None


class PlotScreen(TextScreen[None]):
    """Shows the plots of a chapter."""

    CSS_PATH = "../calls_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f7", "close", "Back")]
    HELP = (
        "How the inputs of characters grow, call by call, as the service counts them or at an estimate; and "
        "how much was left of memory and recent context where they had to be made shorter."
    )

    def __init__(self, session: SessionHandle, calls: Sequence[CallRow]) -> None:
        """Plot the newest of `calls`, which are those of the chapter, newest first."""
        super().__init__()
        self._session = session
        replies = (call for call in calls if isinstance(call.request, ReplyRequest) and call.artifact.call)
        self._calls = [call for call, _ in zip(replies, range(MOST_CALLS), strict=False)][::-1]
        self.heading = f"Inputs over time, {counted(len(self._calls), 'call')}"

    async def passages(self) -> Sequence[Passage]:
        """Return the plots."""
        manifests = await self._session.reads.contents([call.artifact.input_ref for call in self._calls])
        inputs = [segments_of(manifests.get(call.artifact.input_ref, "")) for call in self._calls]
        wanted = {
            part.hash
            for call, parts in zip(self._calls, inputs, strict=True)
            for part in parts
            if part.name == WINDOW_NOTES or call.artifact.usage.input_tokens is None
        }
        texts = await self._session.reads.contents(wanted)
        return passages_of_plot(
            [length_of(call, parts, texts) for call, parts in zip(self._calls, inputs, strict=True)]
        )


def length_of(call: CallRow, parts: Sequence[Segment], texts: Mapping[str, str]) -> InputLength:
    """Return the length of the input of a call: as the service counted it, else at an estimate."""
    stored = [(part.role, part.name, texts.get(part.hash, "")) for part in parts]
    counted = call.artifact.usage.input_tokens
    if counted is None:
        counted = sum(part.tokens for part in window_parts(call.artifact.prompt_version, stored))
    notes = next((text for role, name, text in stored if (role, name) == (NOTE_ROLE, WINDOW_NOTES)), "")
    return InputLength(counted, kept_share(read_notes(notes)))


def passages_of_plot(lengths: Sequence[InputLength]) -> list[Passage]:
    """Return the plots of these inputs, oldest first, with a summary in words."""
    if not lengths:
        return [Passage(NONE_YET)]
    tokens = [one.tokens for one in lengths]
    summed = f"Least {min(tokens):,}, most {max(tokens):,}, the newest {tokens[-1]:,} tokens"
    kept = [100 if one.kept is None else 100 * one.kept for one in lengths]
    shorter = [100 * one.kept for one in lengths if one.kept is not None]
    said = (
        f"{len(shorter):,} of {len(lengths):,} inputs, least {min(shorter):.0f} %" if shorter else ALL_WHOLE
    )
    return [
        Passage("\n".join((TOKENS, *plot_lines(tokens), summed)), len(TOKENS)),
        Passage("\n".join((LEFT, *(plot_lines(kept, 100, " %") if shorter else ()), said)), len(LEFT)),
    ]


WIDTH: Final = 50
"""Columns of a plot, at most."""
HEIGHT: Final = 6
"""Lines of a plot."""
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_LABEL: Final = 9
"""Cells beside it for the labels of the top and the bottom."""


def plot_lines(values: Sequence[float], top: float | None = None, unit: str = "") -> list[str]:
    """Return a plot of `values`, oldest first, from 0 to the largest of them, or to `top`.

    Where there are more values than columns, each column shows the largest of its share, so that no peak
    is lost. Without values there are no lines.
    """
    if not values:
        return []
    columns = _largest_of_each(values)
    most = max(*columns, 1e-9) if top is None else top
    # The top of a value that is there is never below the lowest block.
    heights = [max(int(value > 0), round(value / most * HEIGHT * 8)) for value in columns]
    lines = []
    for row in reversed(range(HEIGHT)):
        label = f"{most:,.0f}{unit}" if row == HEIGHT - 1 else "0" if row == 0 else ""
        cells = "".join(_BLOCKS[min(8, max(0, height - 8 * row))] for height in heights)
        lines.append(f"{label:>{_LABEL}} │{cells}".rstrip())
    return lines


def _largest_of_each(values: Sequence[float]) -> list[float]:
    count = min(WIDTH, len(values))
    edges = [len(values) * number // count for number in range(count + 1)]
    return [max(values[first:last]) for first, last in pairwise(edges)]
