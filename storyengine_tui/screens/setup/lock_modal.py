"""The question before tab 2 first opens: what is locked, and which model reads it (design 5 and 10)."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from core.config.models.cast_models import CastModels, look_up
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.text.numbers import counted
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.model_labels import (
    ModelLabel,
    model_label_for,
    models_named,
    services_called,
)
from storyengine_tui.screens.setup.secrets.secrets_view import group_lines, locked_lines
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog
from storyengine_tui.widgets.elapsed import expected_time_sentence

WAITING = "Everything is stored. When this is done, tab 2 opens."
QUESTION = "Lock world, chapter and cast, and begin to play?"


def _length_of(text: str) -> str:
    return counted(len(text), "character") if text.strip() else "empty"


class LockModal(TextDialog):
    """Asks, locks, and ends with whether the chapter is locked; a notification tells tab 1 why it is not."""

    CSS_PATH = "../../widgets/dialogs/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    _progress = getters.query_one("#progress", BusyLine)

    def __init__(
        self, session: SessionHandle, configuration: Configuration, *, is_confirmed: bool = False
    ) -> None:
        super().__init__()
        self._session = session
        self._configuration, self._choices = configuration, configuration.choices
        self._is_confirmed = is_confirmed
        self._request_id: RequestId | None = None
        self._is_locking = self._is_cancelled = False
        self._paused: Collection[Slot] = ()

    def compose(self) -> ComposeResult:
        """Compose the question; the same box shows the progress later."""
        with Vertical(classes="dialog--box"):
            yield Static(QUESTION, classes="dialog--title", id="title")
            with VerticalScroll(classes="dialog--scroll", can_focus=False):
                yield Static(self._consequences(), classes="dialog--text", id="consequences")
            yield BusyLine(id="progress")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Lock and play", id="confirm", classes="action")

    def on_mount(self) -> None:
        """Ask, unless the GM has already confirmed."""
        self.query_one("#progress").display = False
        if self._is_confirmed:
            self._begin()
        else:
            self.run_worker(self._say_who_is_paused(), group="paused", exit_on_error=False)

    async def _say_who_is_paused(self) -> None:
        """Say who is paused, and which models of the library cannot be called."""
        profiles = self._session.snapshot.tab1.profiles
        brings_model = any(profile.model for profile in profiles.values())
        if brings_model:
            await asyncio.to_thread(look_up, self._choices, profiles, self._configuration.consent)
        try:
            self._paused = await self._session.paused()
        except StoryEngineError:
            return  # The lock reports what is wrong with the store.
        if (self._paused or brings_model) and self.query_one("#confirm").display:  # It still asks.
            self.query_one("#consequences", Static).update(self._consequences())

    def _consequences(self) -> Content:
        snapshot = self._session.snapshot
        session, tab1 = snapshot.session, snapshot.tab1
        playing = snapshot.cast.playing
        names = ", ".join(one.name for one in playing)
        blank = [one.name for one in playing if not one.has_identity]
        lines = [
            "From then on they can be read and copied, and no longer changed:",
            f"  • the world, {_length_of(tab1.world)}",
            f"  • the chapter, {_length_of(tab1.chapter)}",
            f"  • {counted(len(playing), 'character')}: {names}",
        ]
        for part, text in ("world", tab1.world), ("chapter", tab1.chapter):
            if not text.strip():
                lines += ["", f"The {part} is empty, and cannot be written once it is locked."]
        if blank:
            lines += ["", f"Still without an identity: {', '.join(blank)}."]
        lines += [*locked_lines(snapshot), *group_lines(snapshot)]
        if self._paused:
            gone = ", ".join(session.name_of(slot) for slot in sorted(self._paused))
            lines += ["", f"Away at first, because they are paused in the library: {gone}."]
        reader = model_label_for(self._configuration, AgentRole.WORLD_LOCK)
        lines += ["", f"World and chapter are summarised once by {reader.model} {reader.where}."]
        roster = dict(session.roster)
        lines += self._called(reader, roster)
        cast = CastModels(self._choices, tab1.profiles)
        lines += [*cast.played_by(roster), *cast.not_played(roster)]
        lines += ["", "This cannot be undone. Reset Chapter archives the chapter and starts an empty one."]
        return Content("\n".join(lines))

    def _called(self, reader: ModelLabel, names: Mapping[Slot, str]) -> list[str]:
        """Return what is called at each service, beginning with the reader's."""
        accounts = self._configuration.accounts
        choices = self._choices.for_cast(self._session.snapshot.tab1.profiles)
        return [
            f"Called {'there' if account.base_url == reader.address else account.where}: "
            f"{models_named(choices, names, account.name)}."
            for account in services_called(accounts, choices)
        ]

    @on(Button.Pressed, "#confirm")
    def _begin(self) -> None:
        if self._is_locking:  # Enter came twice.
            return
        self._is_locking = True
        self.query_one("#title", Static).update("Locking world, chapter and cast")
        self.query_one("#consequences", Static).update(Content(WAITING))
        reader = model_label_for(self._configuration, AgentRole.WORLD_LOCK)
        self._progress.begin(f"{reader.model} reads world and chapter")
        self._progress.display = True
        self.query_one("#confirm").display = False
        # Without the focus: a second Enter would cancel the lock. Esc and a click still do.
        self.query_one("#cancel").can_focus = False
        self.set_focus(None)
        self.run_worker(self._say_how_long(), group="expect", exit_on_error=False)
        self.run_worker(self._lock(), group="lock", exit_on_error=False)

    async def _say_how_long(self) -> None:
        try:
            choice = self._configuration.choices[AgentRole.WORLD_LOCK]
            seconds = await self._session.reads.last_duration(0, choice.label)
        except StoryEngineError:
            return  # The lock reports what is wrong with the store.
        account = self._configuration.accounts.of(choice.account)
        expected = expected_time_sentence(seconds, is_local=account.provider == "local")
        self.query_one("#consequences", Static).update(Content(f"{WAITING} {expected}".rstrip()))

    async def _lock(self) -> None:
        try:
            self._request_id = await self._session.lock()
            if self._is_cancelled:
                await self._cancel()
            request = await self._session.wait(self._request_id)
        except StoryEngineError as error:
            self.app.screen_stack[0].post_message(SessionTab.CommandFailed(error))
            self.dismiss(False)
        except Exception:  # a bug, which the app reports; this dialog can be left
            self._is_locking = False
            raise
        else:
            self.dismiss(request.state is RequestState.DONE)

    @on(BusyLine.CancelRequested)
    @on(Button.Pressed, "#cancel")
    async def action_cancel(self) -> None:
        """Close without locking; a running lock is cancelled and settled first."""
        if not self._is_locking:
            self.dismiss(False)
            return
        self._is_cancelled = True
        self._progress.say("Cancelling")
        await self._cancel()

    async def _cancel(self) -> None:
        if self._request_id is not None:  # Otherwise it is being stored, and cancelled after that.
            # Refused if the lock was settled just now: the dialog then closes with its outcome.
            with suppress(StoryEngineError):
                await self._session.cancel(self._request_id)
