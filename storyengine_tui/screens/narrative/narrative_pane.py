"""Tab 3: structured memory, the narrative's definition, and the chapter (design 10)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from core.domain.draft import NarrativeDraft
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId
from core.domain.limits import Limits
from core.domain.request import NarrativeRequest, Request
from core.domain.session import SessionState, title_from
from core.domain.state_machine import Command
from core.engine.sync.notifications import (
    CallStarted,
    DraftStored,
    MemoryAppended,
    Notification,
    RequestFailed,
    SessionChanged,
    StreamRestarted,
    TextArrived,
    WriterChanged,
)
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.download_row import DeliveryRow
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.narrative_status import (
    failed_narrative,
    failure_of,
    open_narrative,
    why_no_build,
)
from storyengine_tui.screens.narrative.remembering_pane import RememberingPane
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone
from storyengine_tui.widgets.busy_line import BusyLine

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

_LIMITS = Limits()


class NarrativePane(RememberingPane):
    """The page on which the chapter is written and downloaded."""

    HELP = (
        "Tab 3: what is remembered, how the chapter is to be written, and the chapter. Build Narrative is "
        "possible once the chapter has ended on 2 Play."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "build", "Build"),
        Binding("f9", "download", "Download"),
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+r", "retry", "Retry"),
    ]

    @dataclass
    class DownloadWanted(Message):
        """A version is to be written into a text file; where, the page does not know."""

        page: "NarrativePane"
        draft: NarrativeDraft
        title: str

    def __init__(self) -> None:
        super().__init__()
        self._request_id: RequestId | None = None
        """The build whose text streams in."""

    def compose(self) -> ComposeResult:
        """Compose the three cells, and what there is to say above the one that it is about."""
        yield MemoryCell(chunk_size=_LIMITS.chunk_size, id="memory")
        yield DefinitionCell(_LIMITS, id="definition-cell")
        yield Banner(id="build-banner")
        yield BusyLine(id="building")
        yield Static("", id="left-out", markup=False)
        yield DraftCell(id="draft")
        yield DeliveryRow(id="delivery")

    @property
    def _draft(self) -> DraftCell:
        return self.query_one(DraftCell)

    @property
    def _delivery(self) -> DeliveryRow:
        return self.query_one(DeliveryRow)

    async def on_session_attached(self) -> None:
        """Show what is stored; memory is read when the tab is shown."""
        self.forget_memory()
        self._delivery.say("")
        self._say_left_out(())
        session = self.session.snapshot.session
        self.cell.show_stored(session)
        self._draft.set_target(session.target_words)
        running = open_narrative(self.session.snapshot)
        self._request_id = running.id if running else None
        drafts = await self.session.drafts()
        self._draft.show_drafts(drafts, is_being_written=running is not None)
        self._show_state()
        self._show_failure(failed_narrative(self.session.snapshot))
        if self.is_looked_at:
            self.read_memory()

    def on_tab_shown(self) -> None:
        """Read the memory when it is first wanted, and have the focus where to go on."""
        self.read_memory()
        self.go_on()

    def go_on(self) -> None:
        """Focus the chapter, else the next step: its definition, or the memory until then."""
        if not self.has_session or (self.screen.focused and self in self.screen.focused.ancestors):
            return
        session = self.session.snapshot.session
        if self._draft.has_text:
            self.have_focus(self._draft.view, scroll_visible=True)
        elif session.state is SessionState.ENDED or not session.tab1_locked:
            self.have_focus(self.cell.area, scroll_visible=True)
        elif self.memory.blocks:
            self.have_focus(self.memory.view, scroll_visible=True)

    def on_notification(self, notification: Notification) -> None:
        """Follow state, memory, and the text that streams in."""
        match notification:
            case SessionChanged(session):
                if self.session.is_read_only:
                    self.cell.show_stored(session)
                self._draft.set_target(session.target_words)
                self._show_state()
            case MemoryAppended(block):
                self.take_in(block)
            case DraftStored(draft):
                self._draft.settle(draft)
                self.query_one("#build-banner", Banner).hide()
                self._delivery.say(f"Version {draft.version} is stored.")
                self._show_state()
            case CallStarted(NarrativeRequest() as request):
                self._begin_call(notification)
            case TextArrived(request_id, text) if request_id == self._request_id:
                self._draft.stream(text)
            case StreamRestarted(request_id) if request_id == self._request_id:
                self._draft.restart()
            case RequestFailed(NarrativeRequest() as request):
                self._draft.fail()
                self._show_failure(request)
                self._show_state()
            case WriterChanged():
                self._show_state()
            case _:
                pass

    def _begin_call(self, notification: CallStarted) -> None:
        if self._request_id != notification.request.id or notification.call == 1:
            self._request_id = notification.request.id
            self._draft.begin()
            self._delivery.say("")
        self._draft.begin_call()
        self.query_one("#build-banner", Banner).hide()
        busy = self.query_one("#building", BusyLine)
        part = f", part {notification.call}" if notification.call > 1 else ""
        what = f"{notification.model} is writing the chapter{part}"
        if busy.is_busy:
            busy.say(what)
        self._say_left_out(notification.left_out)
        if notification.call == 1:
            work = self._expect(self.session, notification)
            self.run_worker(work, group="expect", exclusive=True, exit_on_error=False)

    async def _expect(self, session: "SessionHandle", call: CallStarted) -> None:
        expected = await self.expected_time(session, call)
        if self._request_id == call.request.id:
            self.query_one("#building", BusyLine).expect(expected)

    # What is possible

    def _show_state(self) -> None:
        """Enable what is possible now, and say what is going on."""
        if not self.has_session:
            return
        self.show_correcting()
        snapshot = self.session.snapshot
        is_writing = snapshot.session.state is SessionState.NARRATING
        why = "" if is_writing else why_no_build(snapshot, is_read_only=self.session.is_read_only)
        self.cell.show_access(
            is_editable=self.session.can(Command.DEFINE_NARRATIVE),
            can_build=self._can_build,
            why=why,
        )
        busy = self.query_one("#building", BusyLine)
        if not is_writing:
            busy.end()
        elif not busy.is_busy:
            busy.begin(
                "The chapter is being written", cancel="" if self.session.is_read_only else "Esc cancels"
            )
        busy.display = busy.is_busy
        has_chapter = is_writing or self._draft.has_text
        self.set_class(has_chapter, "-written")
        self.set_class(not has_chapter, "-unwritten")
        self._show_download()

    @property
    def _can_build(self) -> bool:
        snapshot = self.session.snapshot
        return self.session.can(Command.BUILD_NARRATIVE) and snapshot.session.prompt_index > 0

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if not self.has_session:
            return False
        match action:
            case "build":
                return self._can_build or None
            case "download":
                return self._draft.shown is not None or None
            case "cancel":
                return self._is_writing
            case "correct":
                return self.session.can(Command.CORRECT_CANON)
            case "retry":
                return self._can_build and failed_narrative(self.session.snapshot) is not None
            case _:
                return True

    def why_not(self, action: str) -> str:
        """Return why nothing can be built, or downloaded, now."""
        if action == "download" and not self._is_writing:
            return "There is no chapter to download yet: build it first (F8)."
        if action == "download":
            return "This version is still being written; it can be downloaded when it is done."
        return why_no_build(self.session.snapshot, is_read_only=self.session.is_read_only)

    @property
    def _is_writing(self) -> bool:
        is_open = open_narrative(self.session.snapshot) is not None
        return is_open and not self.session.is_read_only

    # Building

    def action_build(self) -> None:
        """Build a new version."""
        if self.has_session and self._can_build:
            self.run_worker(self._build(self.session), group="build", exit_on_error=False)

    @on(DefinitionCell.BuildRequested)
    def _handle_build(self, event: DefinitionCell.BuildRequested) -> None:
        event.stop()
        self.action_build()

    async def _build(self, session: "SessionHandle") -> None:
        if not self.shows(session):
            return
        if self.cell.typed.problem:
            self.query_one("#target").focus()
            return
        try:
            await self.flush()
            await session.build_narrative()
        except StoryEngineError as error:
            self.post_message(self.CommandFailed(error))
            return
        self._draft.view.focus(scroll_visible=False)
        self.call_after_refresh(self._draft.scroll_visible, animate=False)

    def action_retry(self) -> None:
        """Build again what failed."""
        self.action_build()

    def action_cancel(self) -> None:
        """Stop the writing; earlier versions stay as they are."""
        running = open_narrative(self.session.snapshot)
        if running is not None:
            self.run_worker(
                self.perform(self.session.cancel(running.id)), group="cancel", exit_on_error=False
            )

    @on(BusyLine.CancelRequested, "#building")
    def _handle_cancel(self, event: BusyLine.CancelRequested) -> None:
        event.stop()
        self.action_cancel()

    def _show_failure(self, request: Request | None) -> None:
        banner = self.query_one("#build-banner", Banner)
        if request is None:
            banner.hide()
            return
        sentence, hint = failure_of(request, self.session.snapshot.draft_count)
        actions = [BannerAction("dismiss", "Dismiss")]
        if not self.session.is_read_only:
            actions.insert(0, BannerAction("retry", "Retry", "^r"))
        is_cancelled = request.error_code is ErrorCode.LLM_CANCELLED
        banner.show(sentence, hint=hint, actions=actions, tone=Tone.INFO if is_cancelled else Tone.ERROR)
        self.call_after_refresh(banner.scroll_visible, animate=False)
        self.refresh_bindings()

    @on(Banner.ActionChosen, "#build-banner")
    def _do_as_banner_says(self, event: Banner.ActionChosen) -> None:
        event.stop()
        event.banner.hide()
        if event.action == "retry":
            self.action_retry()

    def _say_left_out(self, left_out: tuple[str, ...]) -> None:
        line = self.query_one("#left-out", Static)
        line.update(Content("Left out of what the model reads: " + "; ".join(left_out) if left_out else ""))
        line.display = bool(left_out)

    # Taking the chapter away

    @on(DraftCell.Chosen)
    def _handle_choice(self, event: DraftCell.Chosen) -> None:
        event.stop()
        self._show_download()

    def _show_download(self) -> None:
        self._delivery.show_access(can_download=self._draft.shown is not None)
        self.refresh_bindings()

    @on(DeliveryRow.DownloadRequested)
    def _handle_download(self, event: DeliveryRow.DownloadRequested) -> None:
        event.stop()
        self.action_download()

    def action_download(self) -> None:
        """Write the displayed version into a text file."""
        draft = self._draft.shown
        if draft is not None:
            snapshot = self.session.snapshot
            title = title_from(snapshot.session.title, snapshot.tab1.chapter, snapshot.tab1.world)
            self.post_message(self.DownloadWanted(self, draft, title))

    def show_delivered(self, draft: NarrativeDraft, path: Path | None) -> None:
        """Say where a version is; in the browser's hands, if there is no path."""
        where = f"Version {draft.version} is in {path}" if path else "Your browser takes the file."
        self._delivery.say(where, path=str(path or ""))

    @on(MemoryCell.CopyRequested)
    @on(DraftCell.CopyRequested)
    def _copy(self, event: MemoryCell.CopyRequested | DraftCell.CopyRequested) -> None:
        event.stop()
        self.app.copy_to_clipboard(event.text)
        self._delivery.say(f"{event.what} copied, {len(event.text):,} characters.")
