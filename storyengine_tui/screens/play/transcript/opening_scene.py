"""The opening scene above a transcript that is still empty: as much of it as there is room for."""

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from storyengine_tui.widgets.reading.wrap import wrap

ROWS_BELOW = 2
"""Rows that are kept for the transcript and the line below it."""


def scene_lines(scene: str, to_do: str, width: int, rows: int) -> list[str]:
    """Return the lines of a scene, a blank one, and what to do; of the scene only so many that all fit.

    Where not even its first line fits, what to do stands alone.
    """
    below = [to_do[span.begin : span.end] for span in wrap(to_do, 0, width)]
    spans = wrap(scene, 0, width)
    room = rows - len(below) - 1
    if room < 1:
        return below
    lines = [scene[span.begin : span.end] for span in spans[:room]]
    if len(spans) > room:
        begin = spans[room - 1].begin
        # Twice the width: the last line has to end where a word does, with room for the mark behind it.
        last = wrap(scene[: begin + 2 * width], begin, width - 1)[0]
        lines[-1] = scene[last.begin : last.end].rstrip() + "…"
    return [*lines, "", *below]


class OpeningScene(Widget):
    """Takes no room once something was played."""

    ALLOW_SELECT = False
    scene: reactive[str] = reactive("", layout=True)
    to_do: reactive[str] = reactive("", layout=True)
    """The sentence below the scene that says what to do; without it nothing is shown."""

    def watch_to_do(self, to_do: str) -> None:
        """Disappear without a text."""
        self.display = bool(to_do)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the rows of all of it, or as many as the page has."""
        return len(scene_lines(self.scene, self.to_do, width, max(1, container.height - ROWS_BELOW)))

    def render(self) -> RenderResult:
        """Draw what fits."""
        return Content("\n".join(scene_lines(self.scene, self.to_do, *self.content_size)))
