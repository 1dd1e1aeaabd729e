"""Tab 2: the transcript, and the composer that prompts the characters (design 9 and 10)."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Button, Static

from core.domain.ids import SessionId
from core.domain.request import ReplyRequest, SummaryRequest
from core.domain.slot import Slot
from core.domain.state_machine import Command
from core.engine.sync.notifications import (
    CallStarted,
    EventsAppended,
    MemoryAppended,
    Notification,
    RequestBegun,
    RequestFailed,
    RequestQueued,
    RequestSettled,
    SessionChanged,
    StreamRestarted,
    TextArrived,
    UnsentChanged,
)
from storyengine_tui.screens.play.composer import Composer
from storyengine_tui.screens.play.failure_banners import FailureBanners
from storyengine_tui.screens.play.play_status import (
    NOT_LOCKED,
    NOT_LOCKED_ELSEWHERE,
    ending_consequences,
    has_short_chunk,
    opening_scene,
    queue_line,
    status_of,
    why_not_writable,
)
from storyengine_tui.screens.play.prompt_area import PromptArea
from storyengine_tui.screens.play.prompt_queue import PromptQueue, QueuedPrompt
from storyengine_tui.screens.play.prompting_pane import PromptingPane
from storyengine_tui.screens.play.transcript_panel import TranscriptPanel
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.reading.transcript_view import TranscriptView

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

KEYS = "Tab, then a digit, picks a panel · PgUp and PgDn scroll"

ACTIONS = ("cancel", "retry", "take_back", "next_panel", "end_chapter")


class PlayPane(PromptingPane):
    """The page on which the chapter is played."""

    HELP = (
        "Type what happens and press Enter: one character answers. The next panel shows then; any other can "
        "be picked. A prompt that is sent while a reply is written waits its turn and can be taken back.\n\n"
        "The dashed line in the transcript shows how far structured memory has come. The figure below counts "
        "the characters that are shown: the newest 60,000. The chapter itself may be longer, and nothing of "
        "it is lost."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("escape", "write", "Back to the panel", show=False),
        Binding("ctrl+r", "retry", "Retry"),
        Binding("ctrl+t", "take_back", "Take back", show=False),
        Binding("ctrl+n", "next_panel", "Next panel"),
        Binding("f8", "end_chapter", "End Chapter", show=False),
        Binding("pageup", "read('page_up')", show=False),
        Binding("pagedown", "read('page_down')", show=False),
        Binding("end", "read('end')", show=False),
        *(Binding(f"alt+{int(slot)}", f"panel({int(slot)})", show=False) for slot in Slot),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown_id: SessionId | None = None
        self._possible: tuple[bool | None, ...] = ()
        self._note = ""

    def compose(self) -> ComposeResult:
        """Compose the cells; before the lock only the note shows."""
        yield Static(id="play-note", markup=False)
        yield TranscriptPanel(id="reading")
        yield FailureBanners(id="play-notes")
        yield PromptQueue(id="prompt-queue", classes="grows")
        yield Composer(id="composer", classes="grows")
        with Horizontal(id="play-actions"):
            yield Static(KEYS, id="play-keys", markup=False)
            yield Button("End Chapter (F8)", id="end-chapter", compact=True)

    @property
    def _reading(self) -> TranscriptPanel:
        return self.query_one(TranscriptPanel)

    # Showing the session

    async def on_session_attached(self) -> None:
        """Show what is stored; texts of this session that are only here stay."""
        is_new, self._shown_id = self._shown_id != self.session.id, self.session.id
        status = status_of(self.session.snapshot)
        self._returned = {request.id: request.slot for request in status.failed_replies}
        if status.is_playable:
            await self.show_cast(is_new=is_new)
        elif is_new:
            await self.composer.dismiss_cast()
        self.query_one(FailureBanners).show_left_out(())
        session = self.session
        played = await self.perform(session.newest_canon())
        if not self.shows(session):
            return  # Another one was opened meanwhile.
        self._reading.load(played or (), session.snapshot.session)
        self._show_status(is_news=False)
        if not is_new:
            self._go_on()

    def on_tab_shown(self) -> None:
        """Focus the field where the GM continues: the panel, if it is writable."""
        area = self.composer.shown
        if area is not None and not area.read_only:
            self.have_focus(area)
        else:
            self.have_focus(self._reading.transcript)

    def field_for_typing(self) -> PromptArea | None:
        """What is typed beside the panels is meant for the one that shows."""
        area = self.composer.shown
        return None if area is None or area.read_only else area

    def on_notification(self, notification: Notification) -> None:
        """Show what is new."""
        session = self.session.snapshot.session
        match notification:
            case TextArrived(request_id, text):
                self._reading.stream(request_id, text)
                return
            case StreamRestarted(request_id):
                self._reading.restart(request_id)
            case CallStarted(request=ReplyRequest() as request):
                self.go_again(request)
                self._reading.begin(request, session)
                self.query_one(FailureBanners).show_left_out(notification.left_out)
            case CallStarted(request=SummaryRequest()):
                work = self._expect(self.session, notification)
                self.run_worker(work, group="expect", exclusive=True, exit_on_error=False)
            case RequestBegun(ReplyRequest() as request) if self.session.is_read_only:
                self._reading.begin(request, session)
            case RequestQueued(ReplyRequest() as request):
                self.go_again(request)
            case EventsAppended(events):
                self._reading.append(events, session)
                self.move_on(events[-1].slot)
            case RequestFailed(ReplyRequest() as request):
                self._reading.discard(request.id)
                self.fail(request)
            case RequestSettled(ReplyRequest() as request):
                self._reading.discard(request.id)
            case SessionChanged() | MemoryAppended():
                self._reading.redraw(session)
            case UnsentChanged(slot, text) if self.session.is_read_only:
                self.composer.follow(slot, text)
            case _:
                pass
        self._show_status()

    def _show_status(self, *, is_news: bool = True) -> None:
        status, is_writer = status_of(self.session.snapshot), not self.session.is_read_only
        self._show_note("" if status.is_playable else NOT_LOCKED if is_writer else NOT_LOCKED_ELSEWHERE)
        if status.is_playable and not self.composer.is_cast_of(status.session):
            self.call_later(self._begin_play)
        self._reading.show_scene(opening_scene(self.session.snapshot))
        self._reading.show_doing(status, can_cancel=is_writer)
        self.query_one(FailureBanners).show_failures(status, can_act=is_writer, is_news=is_news)
        self.query_one(PromptQueue).show(
            [QueuedPrompt(one.id, queue_line(status, one), _style(one)) for one in status.queued],
            can_act=is_writer,
        )
        reason = why_not_writable(status.session, self.session.holder, is_writer=is_writer)
        self.composer.set_writable(reason)
        self.query_one("#play-keys", Static).update(reason if is_writer and reason else KEYS, layout=False)
        end = self.query_one("#end-chapter", Button)
        end.disabled = not self.session.can(Command.END_CHAPTER)
        end.display = not status.is_ended
        self._tell_footer()

    async def _expect(self, session: "SessionHandle", call: CallStarted) -> None:
        self._reading.expect(call.request.id, await self.expected_time(session, call))

    async def _begin_play(self) -> None:
        """The cast is locked: have its panels, and the focus in the first if the GM is here already."""
        if self.composer.is_cast_of(self.session.snapshot.session):
            return
        await self.show_cast(is_new=True)
        self._show_status()
        self._go_on()

    def _go_on(self) -> None:
        """Focus the field where the GM continues, if this tab is active."""
        focused = self.screen.focused
        if focused is None or self in focused.ancestors:
            self.on_tab_shown()

    def _show_note(self, note: str) -> None:
        """Say why there is nothing to play yet, in place of everything else."""
        if note != self._note:
            self._note = note
            self.set_class(bool(note), "-not-locked")
            self.query_one("#play-note", Static).update(note)

    def _tell_footer(self) -> None:
        """Recompose the footer, which is expensive, only where the possible actions changed."""
        possible = tuple(self.check_action(action, ()) for action in ACTIONS)
        if possible != self._possible:
            self._possible = possible
            self.refresh_bindings()

    def sent(self) -> None:
        """The GM wants to see the reply."""
        self._reading.go("end")

    # What the GM can do

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if not self.has_session:
            return False
        status, is_writer = status_of(self.session.snapshot), not self.session.is_read_only
        match action:
            case "cancel":
                return is_writer and status.running is not None
            case "retry":
                return is_writer and bool(status.failed_replies or status.failed_summary)
            case "take_back":
                return is_writer and bool(status.queued)
            case "next_panel":
                return status.is_playable and len(status.session.slots) > 1
            case "end_chapter":
                return True if self.session.can(Command.END_CHAPTER) else None
            case _:
                return status.is_playable

    def why_not(self, action: str) -> str:
        """Return why the chapter cannot be ended now."""
        if action != "end_chapter":
            return ""
        session = self.session
        return session.why_not(Command.END_CHAPTER) or why_not_writable(
            session.snapshot.session, session.holder, is_writer=not session.is_read_only
        )

    def action_read(self, way: str) -> None:
        """Read elsewhere in the transcript: `page_up`, `page_down` or `end`."""
        self._reading.go(way)

    @on(BusyLine.CancelRequested)
    def action_cancel(self) -> None:
        """Stop the reply or the summary that runs."""
        running = status_of(self.session.snapshot).running
        if running is not None:
            self._reading.say_cancelling()
            self.do(self.session.cancel(running.id))

    def action_write(self) -> None:
        """Go on writing."""
        self.on_tab_shown()

    def action_retry(self) -> None:
        """Try again what failed: the prompt, or else the summary."""
        failed = self.query_one(FailureBanners).failed
        if failed is not None:
            self._retry(failed)

    def _retry(self, request: ReplyRequest | SummaryRequest) -> None:
        if isinstance(request, ReplyRequest):
            self.send_again(request)
        else:
            self.do(self.session.retry(request.id))

    def action_take_back(self) -> None:
        """Take the newest queued prompt back."""
        queued = status_of(self.session.snapshot).queued
        if queued:
            self.do(self._take_back(self.session, queued[-1]))

    async def _take_back(self, session: "SessionHandle", request: ReplyRequest) -> None:
        await session.withdraw(request.id)
        if self.shows(session):
            self.give_back(request.slot, request.text)

    def action_next_panel(self) -> None:
        """Write to the next character."""
        self.note_pick()
        self.composer.show_next(self.composer.slot)
        self.on_tab_shown()

    def action_panel(self, number: int) -> None:
        """Write to the character in this slot."""
        if Slot(number) in self.session.snapshot.session.slots:
            self.note_pick()
            self.composer.show(Slot(number), takes_focus=True)

    @on(Button.Pressed, "#end-chapter")
    def action_end_chapter(self) -> None:
        """End the chapter at once where nothing is left over; ask where something is.

        The specification has the button summarise immediately. But an ended chapter cannot be played on, so
        an unfinished one is not ended by one key: with text in a panel, with a last chunk of fewer prompts
        than the others, or before the first prompt, the GM is told what will happen and can cancel.
        """
        waiting = [area.slot for area in self.composer if not area.is_blank]
        session = self.session.snapshot.session
        if not (waiting or has_short_chunk(session)):
            self._end(self.session, is_confirmed=True)
            return
        text = ending_consequences(session, waiting)
        question = ConfirmModal("End the chapter?", text, confirm="End Chapter")
        self.ask(question, partial(self._end, self.session))

    def _end(self, session: "SessionHandle", is_confirmed: bool | None) -> None:
        if is_confirmed:
            self.do(session.end_chapter())

    @on(FailureBanners.RetryRequested)
    def _handle_retry(self, event: FailureBanners.RetryRequested) -> None:
        event.stop()
        self._retry(event.request)

    @on(FailureBanners.EditRequested)
    def _handle_edit(self, event: FailureBanners.EditRequested) -> None:
        event.stop()
        self.note_pick()
        self.composer.show(event.request.slot, takes_focus=True)

    @on(PromptQueue.TakeBackRequested)
    def _handle_take_back(self, event: PromptQueue.TakeBackRequested) -> None:
        event.stop()
        for request in status_of(self.session.snapshot).queued:
            if request.id == event.request_id:
                self.do(self._take_back(self.session, request))

    @on(PromptArea.ScrollRequested)
    def _scroll(self, event: PromptArea.ScrollRequested) -> None:
        event.stop()
        self._reading.go(event.way)

    @on(TranscriptView.Copied)
    def _say_copied(self, event: TranscriptView.Copied) -> None:
        event.stop()
        self.notify(f"{event.length:,} characters copied", timeout=2, markup=False)


def _style(request: ReplyRequest) -> str:
    return f"$slot-{request.slot.colour}"
