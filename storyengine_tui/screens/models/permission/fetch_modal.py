"""The question before the weights of a local model are fetched, and their fetching (design 8)."""

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static
from textual.worker import Worker

from core.config.files.paths import Paths
from core.domain.errors import StoryEngineError
from storyengine_tui.screens.models.permission.local_weights import bundled_model, fetch
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog

if TYPE_CHECKING:
    from core.providers.local.catalogue import CatalogueEntry

SMALL_MODEL = "the small local model"
_PLAYS = "It plays the characters on this machine, without a key and without sending anything."
WHY = (
    f"{_PLAYS} Its weights are "
    "not here yet: {size} MB from {source}, kept in\n{folder}\n\n"
    "Without them nothing can be locked or played. Another model can be connected instead (F6)."
)
WHY_BETTER = (
    f"{_PLAYS} It needs about "
    "{memory:,} MB of memory while it answers; licence {licence}.\n\n"
    "{size} MB come from {source}, are checked against the hash of the published file, and are kept in\n"
    "{folder}\n\nAfter a stop or a failure the next try goes on from there."
)
SAFE_TEXT = "Nothing that you wrote is touched, and Esc stops it at any time."
GO_ON = "Try again, or go back and connect another model (F6)."


class FetchModal(TextDialog):
    """Ends with whether the weights are here."""

    CSS_PATH = "../../../widgets/dialogs/dialog.tcss"
    HELP = (
        "Fetch asks the address that is named for the file, checks it, and keeps it. Esc stops and goes back."
    )
    IS_FINAL = False
    AUTO_FOCUS = "#fetch"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, paths: Paths, entry: "CatalogueEntry | None" = None) -> None:
        """Ask about this model; left out, about the bundled one, without which nothing can be played."""
        super().__init__()
        self._paths = paths
        self._is_bundled = entry is None
        self._entry = entry or bundled_model()
        self._called = SMALL_MODEL if entry is None else entry.title
        self._fetching: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Compose the question; its box shows the progress afterwards."""
        size = f"{self._entry.megabytes:,}"
        text = (WHY if self._is_bundled else WHY_BETTER).format(
            size=size,
            source=self._entry.source,
            folder=shown_folder(self._paths),
            memory=self._entry.memory,
            licence=self._entry.licence,
        )
        with Vertical(classes="dialog--box"):
            yield Static(Content(f"Fetch {self._called}?"), classes="dialog--title", id="title")
            with VerticalScroll(classes="dialog--scroll", can_focus=False):
                yield Static(Content(text), classes="dialog--text", id="text")
            yield BusyLine(id="progress")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Not now", id="cancel")
                yield Button(f"Fetch {size} MB", id="fetch", classes="action")

    def on_mount(self) -> None:
        """Nothing goes on yet."""
        self.query_one("#progress").display = False

    @on(Button.Pressed, "#fetch")
    def _begin(self, event: Button.Pressed) -> None:
        event.stop()
        self.query_one("#title", Static).update(Content(f"Fetching {self._called}"))
        self.query_one("#text", Static).update(Content(SAFE_TEXT))
        progress = self.query_one("#progress", BusyLine)
        progress.begin("asking for it")
        progress.display = True
        self.query_one("#fetch").display = False
        self.query_one("#cancel", Button).label = "Stop"
        # Without the focus: an Enter too many would stop what was just begun.
        self.set_focus(None)
        self._fetching = self.run_worker(self._fetch(), group="fetch", exit_on_error=False)

    async def _fetch(self) -> None:
        try:
            await fetch(self._paths, self._say, self._entry)
        except StoryEngineError as error:
            self._show_failure(error)
        else:
            self.dismiss(True)

    def _say(self, words: str) -> None:
        if self.is_mounted:
            self.query_one("#progress", BusyLine).say(words)

    def _show_failure(self, error: StoryEngineError) -> None:
        said = [error.message, error.hint, *([GO_ON] if self._is_bundled else [])]
        self.query_one("#progress", BusyLine).end()
        self.query_one("#progress").display = False
        self.query_one("#title", Static).update(
            Content(f"{self._called[:1].upper()}{self._called[1:]} is not here")
        )
        self.query_one("#text", Static).update(Content("\n\n".join(said)))
        self.query_one("#cancel", Button).label = "Not now"
        again = self.query_one("#fetch", Button)
        again.label = "Try again"
        again.display = True
        again.focus()

    @on(BusyLine.CancelRequested)
    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Stop, if something is being fetched, and go back."""
        if self._fetching is not None:
            self._fetching.cancel()
        self.dismiss(False)


def shown_folder(paths: Paths) -> str:
    """Return where the weights will be kept."""
    return str(paths.models)
