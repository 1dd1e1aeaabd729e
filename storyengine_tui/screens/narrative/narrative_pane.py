"""Tab 3: structured memory, the narrative's definition, and the chapter (design 10)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from core.domain.draft import NarrativeDraft
from core.domain.ids import RequestId
from core.domain.limits import LONGEST_CORRECTIONS, Limits
from core.domain.request import NarrativeRequest
from core.domain.session import SessionState, title_from
from core.domain.state_machine import Command
from core.engine.sync.notifications import (
    CallStarted,
    DraftStored,
    MemoryAppended,
    Notification,
    RequestFailed,
    StreamRestarted,
    TextArrived,
)
from storyengine_tui.screens.narrative.correction_modal import CorrectionModal
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell
from storyengine_tui.screens.narrative.definition_saver import DefinitionSaver
from storyengine_tui.screens.narrative.download_row import DeliveryRow
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory_loader import MemoryLoader
from storyengine_tui.screens.narrative.narrative_view import NarrativeView, failure_banner, narrative_view
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

_LIMITS = Limits()
NO_ROOM = (
    f"The corrections of this chapter have {LONGEST_CORRECTIONS:,} characters together, and no more fit: "
    "each of them is sent with every call."
)
ACTIONS = ("build", "download", "cancel", "correct", "retry")


class NarrativePane(SessionTab):
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

    view: var[NarrativeView | None] = var(None, init=False)
    can_download: var[bool] = var(False, init=False, bindings=True)
    """Whether a version shows that can be downloaded."""

    def __init__(self) -> None:
        super().__init__()
        self._saver = DefinitionSaver(self)
        self.autosave = self._saver.autosave
        self.memory = MemoryLoader(self, self._go_on)
        self._request_id: RequestId | None = None
        """The build whose text streams in."""

    def compose(self) -> ComposeResult:
        """Compose the three cells, and what there is to say above the one that it is about."""
        yield MemoryCell(chunk_size=_LIMITS.chunk_size, id="memory")
        yield DefinitionCell(_LIMITS, id="definition-cell")
        yield Banner(scrolls_into_view=True, id="build-banner")
        yield BusyLine(id="building")
        yield Static("", id="left-out", markup=False)
        yield DraftCell(id="draft")
        yield DeliveryRow(id="delivery")

    @property
    def _definition(self) -> DefinitionCell:
        return self.query_one(DefinitionCell)

    @property
    def _draft(self) -> DraftCell:
        return self.query_one(DraftCell)

    @property
    def _delivery(self) -> DeliveryRow:
        return self.query_one(DeliveryRow)

    @property
    def _busy(self) -> BusyLine:
        return self.query_one("#building", BusyLine)

    @property
    def _banner(self) -> Banner:
        return self.query_one("#build-banner", Banner)

    # Showing the session

    async def on_session_attached(self) -> None:
        """Show what is stored; memory is read when the tab is shown."""
        self.memory.forget()
        self._delivery.say("")
        self._say_left_out(())
        view = narrative_view(self.session)
        self._definition.show_stored(view.session)
        self._request_id = view.running.id if view.running else None
        drafts = await self.session.drafts()
        self._draft.show_drafts(drafts, is_being_written=view.running is not None)
        self.view = None
        self.refresh_view()
        if self.is_looked_at:
            self.memory.read()

    async def prepare(self) -> None:
        """Read a memory that is not long, before the tab is looked at."""
        await self.memory.prepare()

    def on_tab_shown(self) -> None:
        """Read the memory when it is first wanted, and have the focus where to go on."""
        self.memory.read()
        self._go_on()

    def _go_on(self) -> None:
        """Focus the chapter, else the next step: its definition, or the memory until then."""
        if not self.has_session or (self.screen.focused and self in self.screen.focused.ancestors):
            return
        session, memory = self.session.snapshot.session, self.query_one(MemoryCell)
        if self._draft.has_text:
            self.have_focus(self._draft.view, scroll_visible=True)
        elif session.state is SessionState.ENDED or not session.tab1_locked:
            self.have_focus(self._definition.area, scroll_visible=True)
        elif memory.blocks:
            self.have_focus(memory.view, scroll_visible=True)

    def field_for_typing(self) -> CappedTextArea | None:
        """What is typed beside the fields says how the chapter is to be written."""
        area = self._definition.area
        return None if area.read_only else area

    def on_notification(self, notification: Notification) -> None:
        """Follow the memory, and the text that streams in."""
        match notification:
            case MemoryAppended(block):
                self.memory.append(block)
            case DraftStored(draft):
                self._draft.settle(draft)
                self._banner.hide()
                self._delivery.say(f"Version {draft.version} is stored.")
            case CallStarted(NarrativeRequest()):
                self._begin_call(notification)
            case TextArrived(request_id, text) if request_id == self._request_id:
                self._draft.stream(text)
            case StreamRestarted(request_id) if request_id == self._request_id:
                self._draft.restart()
            case RequestFailed(NarrativeRequest()):
                self._draft.fail()
            case _:
                pass

    def refresh_view(self) -> None:
        """Show the session as it is now."""
        if self.has_session:
            self.view = narrative_view(self.session)
            self._show_draft()

    def watch_view(self, before: NarrativeView | None, view: NarrativeView | None) -> None:
        """Enable what is possible now, and say what is going on and what failed."""
        if view is None:
            return
        if not view.is_writer:
            self._definition.show_stored(view.session)
        self._definition.show_access(
            is_editable=view.can_define,
            can_build=view.can_build,
            why="" if view.is_being_written else view.why_no_build,
        )
        self.query_one(MemoryCell).offer_correction(view.can_correct)
        self._draft.set_target(view.session.target_words)
        if view.is_being_written:
            self._begin_waiting()
        else:
            self._busy.end()
        self._busy.display = self._busy.is_busy
        if before is None or before.failed != view.failed or before.is_writer != view.is_writer:
            self._banner.content = failure_banner(view)
        can_download = self.can_download
        if before is None or any(
            before.may(action, can_download=can_download) != view.may(action, can_download=can_download)
            for action in ACTIONS
        ):
            # The footer is composed again, which is expensive.
            self.refresh_bindings()

    def _begin_waiting(self) -> None:
        if not self._busy.is_busy:
            is_writer = not self.session.is_read_only
            self._busy.begin("The chapter is being written", cancel="Esc cancels" if is_writer else "")

    def _show_draft(self) -> None:
        """Give the chapter its room once there is something of it, and offer what can be downloaded."""
        has_chapter = self._draft.has_text or (self.view is not None and self.view.is_being_written)
        self.set_class(has_chapter, "-written")
        self.set_class(not has_chapter, "-unwritten")
        self.can_download = self._draft.shown is not None

    def watch_can_download(self, can_download: bool) -> None:
        """Enable the button where a version shows that can be downloaded."""
        self._delivery.show_access(can_download=can_download)

    def _begin_call(self, notification: CallStarted) -> None:
        if self._request_id != notification.request.id or notification.call == 1:
            self._request_id = notification.request.id
            self._draft.begin()
            self._delivery.say("")
        self._draft.begin_call()
        self._banner.hide()
        part = f", part {notification.call}" if notification.call > 1 else ""
        self._begin_waiting()
        self._busy.say(f"{notification.model} is writing the chapter{part}")
        self._say_left_out(notification.left_out)
        if notification.call == 1:
            work = self._expect(self.session, notification)
            self.run_worker(work, group="expect", exclusive=True, exit_on_error=False)

    async def _expect(self, session: "SessionHandle", call: CallStarted) -> None:
        expected = await self.expected_time(session, call)
        if self._request_id == call.request.id:
            self._busy.expect(expected)

    # What is possible

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if not self.has_session or self.view is None:
            return False
        return self.view.may(action, can_download=self.can_download)

    def why_not(self, action: str) -> str:
        """Return why nothing can be built, or downloaded, now."""
        view = narrative_view(self.session)
        if action == "download" and (view.running is None or not view.is_writer):
            return "There is no chapter to download yet: build it first (F8)."
        if action == "download":
            return "This version is still being written; it can be downloaded when it is done."
        return view.why_no_build

    # Storing what is typed

    async def flush(self) -> None:
        """Store what was typed and is not stored yet."""
        await self._saver.flush()

    async def focus_first_invalid(self) -> str:
        """Go to a target that is no number of words."""
        return self._saver.focus_invalid()

    @on(DefinitionCell.Edited)
    def _handle_edit(self, event: DefinitionCell.Edited) -> None:
        event.stop()
        self._saver.touch()

    # Correcting canon

    @on(MemoryCell.CorrectionRequested)
    def action_correct(self) -> None:
        """Ask for a correction of canon, and store it."""
        session = self.session
        if not session.can(Command.CORRECT_CANON):
            return
        if self.memory.room > 0:
            kept = KeptText.correction_of(session.id, self.folder) if self.folder is not None else None
            self.ask(CorrectionModal(session.correct_canon, self.memory.room, kept), self._show_correction)
        else:
            self.notify(NO_ROOM, severity="warning", markup=False)

    def _show_correction(self, is_stored: bool | None) -> None:
        if is_stored:
            self.query_one(MemoryCell).go_to_newest()

    # Building

    def action_build(self) -> None:
        """Build a new version."""
        if self.has_session and narrative_view(self.session).can_build:
            self.do(self._build(self.session), group="build")

    @on(DefinitionCell.BuildRequested)
    def _handle_build(self, event: DefinitionCell.BuildRequested) -> None:
        event.stop()
        self.action_build()

    async def _build(self, session: "SessionHandle") -> None:
        if not self.shows(session):
            return
        if self._definition.typed.problem:
            self._definition.focus_target()
            return
        await self.flush()
        await session.build_narrative()
        self._draft.view.focus(scroll_visible=False)
        self.call_after_refresh(self._scroll_to_draft)

    def _scroll_to_draft(self) -> None:
        """Scroll to what is being written, unless it has failed: then the banner that says why is in view."""
        if self.view is not None and self.view.running is not None:
            self._draft.scroll_visible(animate=False)

    def action_retry(self) -> None:
        """Build again what failed."""
        self.action_build()

    def action_cancel(self) -> None:
        """Stop the writing; earlier versions stay as they are."""
        running = narrative_view(self.session).running
        if running is not None:
            self.do(self.session.cancel(running.id), group="cancel")

    @on(BusyLine.CancelRequested, "#building")
    def _handle_cancel(self, event: BusyLine.CancelRequested) -> None:
        event.stop()
        self.action_cancel()

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
        self._show_draft()

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
