"""The question before tab 2 opens for the first time: what is locked, and who reads it (design 5 and 10)."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from core.config.models import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.request import RequestState
from core.engine.session_handle import SessionHandle
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.model_labels import model_label_for, models_named
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.text_dialog import TextDialog
from storyengine_tui.widgets.elapsed import expected_time_sentence

WAITING = "Everything is stored. When this is done, tab 2 opens."
QUESTION = "Lock world, chapter and cast, and begin to play?"


class LockModal(TextDialog):
    """Asks, locks, and ends with whether it is locked; why it is not is a notice of the session."""

    CSS_PATH = "../../widgets/dialogs/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(
        self, session: SessionHandle, configuration: Configuration, *, is_confirmed: bool = False
    ) -> None:
        super().__init__()
        self._session = session
        self._configuration = configuration
        self._is_confirmed = is_confirmed
        self._request_id: RequestId | None = None

    def compose(self) -> ComposeResult:
        """Compose the question; its box shows the progress afterwards."""
        with Vertical(classes="dialog--box"):
            yield Static(QUESTION, classes="dialog--title", id="title")
            with VerticalScroll(classes="dialog--scroll", can_focus=False):
                yield Static(self._consequences(), classes="dialog--text", id="consequences")
            yield BusyLine(id="progress")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Lock and play", id="confirm", classes="action")

    def on_mount(self) -> None:
        """Ask, unless the GM has said so already."""
        self.query_one("#progress").display = False
        if self._is_confirmed:
            self._begin()

    def _consequences(self) -> Content:
        snapshot = self._session.snapshot
        session, tab1 = snapshot.session, snapshot.tab1
        playing = snapshot.cast.playing
        names = ", ".join(one.name for one in playing)
        blank = [one.name for one in playing if not one.has_identity]
        lines = [
            "From then on they can be read and copied, and no longer changed:",
            f"  • the world, {len(tab1.world):,} characters",
            f"  • the chapter, {len(tab1.chapter):,} characters",
            f"  • {_agents(len(playing))}: {names}",
        ]
        if blank:
            lines += ["", f"Still without an identity: {', '.join(blank)}."]
        reader = model_label_for(self._configuration, AgentRole.WORLD_LOCK)
        lines += ["", f"World and chapter are summarised once by {reader.model} {reader.where}."]
        if reader.address is not None:
            lines.append(f"Called there: {models_named(self._configuration.choices, dict(session.roster))}.")
        lines += ["", "This cannot be undone. Reset Chapter archives the chapter and starts an empty one."]
        return Content("\n".join(lines))

    def _begin(self) -> None:
        self.query_one("#title", Static).update("Locking world, chapter and cast")
        self.query_one("#consequences", Static).update(Content(WAITING))
        progress = self.query_one("#progress", BusyLine)
        reader = model_label_for(self._configuration, AgentRole.WORLD_LOCK)
        progress.begin(f"{reader.model} reads world and chapter")
        progress.display = True
        self.query_one("#confirm").display = False
        # Without the focus: an Enter too many would stop what was just begun. Esc and a click still do.
        self.query_one("#cancel").can_focus = False
        self.set_focus(None)
        self.run_worker(self._say_how_long(), group="expect", exit_on_error=False)
        self.run_worker(self._lock(), group="lock", exit_on_error=False)

    async def _say_how_long(self) -> None:
        try:
            model = self._configuration.choices[AgentRole.WORLD_LOCK].model
            seconds = await self._session.last_duration(0, model)
        except StoryEngineError:
            return  # The lock says what is wrong with the store.
        provider = self._configuration.settings.active().provider
        expected = expected_time_sentence(seconds, is_local=provider == "local")
        self.query_one("#consequences", Static).update(Content(f"{WAITING} {expected}".rstrip()))

    async def _lock(self) -> None:
        try:
            self._request_id = await self._session.lock()
            request = await self._session.wait(self._request_id)
        except StoryEngineError as error:
            self.app.screen_stack[0].post_message(SessionTab.CommandFailed(error))
            self.dismiss(False)
        else:
            self.dismiss(request.state is RequestState.DONE)

    @on(BusyLine.CancelRequested)
    @on(Button.Pressed, "#cancel")
    async def action_cancel(self) -> None:
        """Leave everything as it is; a lock that runs is stopped and settled first."""
        if self._request_id is None:
            self.dismiss(False)
            return
        self.query_one("#progress", BusyLine).say("Cancelling")
        try:
            await self._session.cancel(self._request_id)
        except StoryEngineError:
            return  # It was settled in this moment, and the dialog closes with what came of it.

    @on(Button.Pressed, "#confirm")
    def _confirm(self, event: Button.Pressed) -> None:
        event.stop()
        self._begin()


def _agents(count: int) -> str:
    return "1 agent" if count == 1 else f"{count} agents"
