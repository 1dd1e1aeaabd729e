"""Tab 2: the transcript, and the composer that prompts the characters (design 9 and 10)."""

from contextlib import suppress
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.reactive import var
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.domain.requests.request import BackgroundRequest, ReplyRequest, SummaryRequest
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.sync import notifications
from core.ledger.sums import dollars
from core.text.numbers import counted
from storyengine_tui.screens.play.actions.bank_actions import BankActions
from storyengine_tui.screens.play.actions.page_actions import (
    EndingActions,
    PanelActions,
    RequestActions,
    SendingActions,
)
from storyengine_tui.screens.play.actions.place_actions import PlaceActions
from storyengine_tui.screens.play.actions.scene_actions import SceneActions
from storyengine_tui.screens.play.actions.take_actions import TakeActions
from storyengine_tui.screens.play.composer.composer import Composer
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.screens.play.composer.prompt_queue import PromptQueue
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.failure_banners import FailureBanners
from storyengine_tui.screens.play.play_view import PlayView, adds, play_view
from storyengine_tui.screens.play.scene import hearing_view, stage_view
from storyengine_tui.screens.play.takes_view import COMMANDS, takes_view
from storyengine_tui.screens.play.transcript.transcript_panel import TranscriptPanel
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.kept_fields import Fields
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.panel_switcher import SlotEntries
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from storyengine_tui.widgets.widget_message import ActionRequested

KEYS: Final = "Tab, then a digit, picks a panel · PgUp and PgDn scroll"


class PlayPane(SessionTab):
    """The page on which the chapter is played."""

    HELP = (
        "Type what happens and press Enter: one character answers. The next panel shows then; any other can "
        "be picked. A prompt that is sent while a reply is written waits its turn and can be taken back.\n\n"
        "The dashed line in the transcript shows how far structured memory has come. The figure below counts "
        "the characters that are shown: the newest 60,000. The chapter itself may be longer, and nothing of "
        "it is lost.\n\n"
        "The newest reply can be written again (F9) as often as you like: every take stays, and Left and "
        "Right in an empty panel choose the one that counts. Ctrl+O takes the newest prompt back, again and "
        "again if need be, with its text in its panel to edit and send; Redo (Alt+O) is offered until you "
        "send. The palette (Ctrl+P) also has another model for one take, a correction by hand, and a "
        "branch.\n\n"
        "Everyone hears everything, until you choose with Ctrl+L who hears a prompt, or who is in the scene "
        "from now on. F12 shows the story as one character sees it, then the next; Esc shows everything "
        "again. Alt+S lets several characters answer one prompt, in turn. Alt+D rolls dice. In the palette: "
        "a line without a prompt, a secret to reveal, what a character is given next, who is away for a "
        "while, and who may act without words or say nothing; w on the transcript shows you why.\n\n"
        "With the cursor in the transcript (Shift+Tab, then v), k has a line always sent to those who "
        "witnessed it, then never to any model, then as usual. New scene, in the palette, lets recent "
        "context begin afresh."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "branch_here", "Branch here"),
        Binding("k", "mark_here", "Always, never, as usual", show=False),
        Binding("w", "why_here", "Why no words"),
        Binding("q", "quote_here", "Quote"),
        Binding("escape", "cancel", "Cancel"),
        Binding("escape", "view_all", "Everything", show=False),
        Binding("escape", "write", "Back to the panel", show=False),
        Binding("ctrl+r", "retry", "Retry"),
        Binding("ctrl+t", "take_back", "Take back", show=False),
        Binding("ctrl+n", "next_panel", "Next panel"),
        Binding("f8", "end_chapter", "End Chapter", show=False),
        Binding("f9", "reroll", "Another take of the newest reply", show=False),
        Binding("ctrl+o", "undo", "Undo the newest prompt", show=False),
        Binding("alt+o", "redo", "Redo", show=False),
        Binding("ctrl+l", "choose_hearers", "Who hears it", show=False),
        Binding("alt+s", "choose_called", "Who answers", show=False),
        Binding("alt+d", "roll_dice", "Roll dice", show=False),
        Binding("alt+c", "sheet", "Character sheet", show=False),
        Binding("f12", "view_as", "As the next character sees it", show=False),
        Binding("left", "choose_take(-1)", "Take before", show=False),
        Binding("right", "choose_take(1)", "Take after", show=False),
        Binding("pageup", "read('page_up')", show=False),
        Binding("pagedown", "read('page_down')", show=False),
        Binding("end", "read('end')", show=False),
        *(Binding(f"alt+{int(slot)}", f"panel({int(slot)})", show=False) for slot in Slot),
    ]

    view: var[PlayView | None] = var(None, init=False)

    reading = getters.query_one(TranscriptPanel)
    composer = getters.query_one(Composer)
    _banners = getters.query_one(FailureBanners)

    def __init__(self) -> None:
        super().__init__()
        self.sender = PromptSender(self)
        self.autosave = self.sender.autosave
        parts = (self, self.sender, self.current_view)
        self.requests, self.takes = RequestActions(*parts), TakeActions(*parts)
        self.scene = SceneActions(*parts, self.show_forecast)
        self.bank = BankActions(*parts)
        self.ending = EndingActions(*parts)
        self.adopt(self.requests, self.takes, self.scene, self.bank, self.ending)
        self.adopt(SendingActions(*parts), PlaceActions(*parts), PanelActions(*parts))
        self._shown_id: SessionId | None = None

    def compose(self) -> ComposeResult:
        """Compose the cells; before the lock only the note is visible."""
        yield Static(id="play-note", markup=False)
        yield TranscriptPanel(id="reading").data_bind(PlayPane.view)
        yield FailureBanners(id="play-notes").data_bind(PlayPane.view)
        yield PromptQueue(id="prompt-queue", classes="grows").data_bind(PlayPane.view)
        yield Composer(self.sender.send, id="composer", classes="grows").data_bind(PlayPane.view)
        with Horizontal(id="play-actions"):
            yield Static(KEYS, id="play-keys", markup=False)
            yield Button("End Chapter (F8)", id="end-chapter", compact=True)

    # Showing the session

    async def on_session_attached(self) -> None:
        """Show what is stored; texts of this session that are not stored yet stay."""
        is_new, self._shown_id = self._shown_id != self.session.id, self.session.id
        if self.current_view().is_playable:
            await self.sender.show_cast(is_new=is_new)
        elif is_new:
            await self.composer.dismiss_cast()
        self._banners.show_left_out(())
        session = self.session
        viewpoint = None if is_new else self.reading.viewpoint
        played = await self.perform(session.newest_canon(known_to=viewpoint))
        if not self.shows(session):
            return
        self.reading.load(played or (), session.snapshot.session, viewpoint)
        self.bank.read_quotes()
        self.refresh_view()
        if not is_new:
            self._go_on()

    def on_tab_shown(self) -> None:
        """Focus the widget where the GM continues: the panel if it is writable, else the transcript."""
        self.page_focus.move_to(self.field_for_typing() or self.reading.transcript)

    def text_targets(self) -> tuple[tuple[str, str], ...]:
        """Return an action for each panel that the typed text on screen can be moved to, and its name."""
        return self.takes.text_targets()

    def field_for_typing(self) -> PromptArea | None:
        """Return the panel that shows, if it is writable."""
        area = self.composer.shown
        return None if area is None or area.read_only else area

    def on_notification(self, notification: notifications.Notification) -> None:
        """Update the transcript, the panels and the banners."""
        session = self.session.snapshot.session
        self.bank.note(notification)
        match notification:
            case notifications.TextArrived(request_id, text):
                self.reading.stream(request_id, text)
            case notifications.StreamRestarted(request_id):
                self.reading.restart(request_id)
            case notifications.CallStarted(request=ReplyRequest() as request):
                self.sender.remove_resent(request)
                self.reading.begin(request, session)
                self._banners.show_left_out(notification.left_out)
            case notifications.CallStarted(request=BackgroundRequest() as request) if adds(notification):
                self.reading.begin(request, session)
            case notifications.CallStarted(request=SummaryRequest()):
                self.expect(notification, self.reading.expect)
            case notifications.RequestBegun(ReplyRequest() as request) if self.session.is_read_only:
                self.reading.begin(request, session)
            case notifications.RequestQueued(ReplyRequest() as request):
                self.sender.remove_resent(request)
            case notifications.PromptReturned(request):
                self.sender.put_back(request)
            case notifications.EventsAppended(events):
                self.reading.append(events, session)
                self._banners.show_repeated(events[-1].repeats)
                if not events[-1].is_afterthought:
                    self.sender.move_on(events[-1].slot)
            case notifications.CanonChanged(first):
                if not self.reading.change(first, self.session.snapshot):
                    self.scene.reread_story()
            case notifications.RequestFailed(ReplyRequest() as request):
                self.reading.discard(request.id, session)
                self.sender.fail(request)
            case (
                notifications.RequestSettled(ReplyRequest() | BackgroundRequest() as request)
                | notifications.RequestQueued(BackgroundRequest() as request)
                | notifications.RequestFailed(BackgroundRequest() as request)
            ):
                self.reading.discard(request.id, session)
            case notifications.SessionChanged() | notifications.MemoryAppended():
                self.reading.redraw(session)
            case notifications.UnsentChanged(slot, text) if self.session.is_read_only:
                self.composer.follow(slot, text)
            case _:
                pass

    def current_view(self) -> PlayView:
        """Return what the page would show now."""
        session = self.session
        return play_view(
            session.snapshot,
            holder=session.holder,
            is_writer=not session.is_read_only,
            can_end=session.can(Command.END_CHAPTER),
            takes=takes_view(session.snapshot, session.why_not, self.reading.viewpoint),
            hearing=hearing_view.hearing_view(
                session.snapshot, session.why_not, has_private=self.reading.has_private
            ),
            stage=stage_view.stage_view(session.snapshot.session, session.why_not, self.scene.hints),
            has_partial=self.takes.has_partial,
        )

    def refresh_view(self) -> None:
        """Show the session as it is now."""
        self.scene.look_for_hints(self.session.snapshot)
        self.takes.look_for_partial(self.session.snapshot)
        self.view = self.current_view()

    def watch_view(self, before: PlayView | None, view: PlayView | None) -> None:
        """Show the parts of the view that the page itself shows; its widgets are bound to the view."""
        if view is None:
            return
        if before is None or before.note != view.note:
            self.set_class(bool(view.note), "-not-locked")
            self.query_one("#play-note", Static).update(view.note)
        if view.is_playable and not self.composer.is_cast_of(view.session):
            self.call_later(self._begin_play)
        keys = view.why_read_only if view.is_writer and view.why_read_only else KEYS
        self.query_one("#play-keys", Static).update(keys, layout=False)
        end = self.query_one("#end-chapter", Button)
        end.disabled, end.display = not view.can_end, not view.is_ended
        if before is None or before.next_call != view.next_call:
            self.show_forecast()
        if before is None or before.actions != view.actions:
            self.refresh_bindings()  # Only on a change: it recomposes the footer, which is expensive.

    @on(Composer.Shown)
    def show_forecast(self) -> None:
        """Update what the prompt in the panel that is shown costs at most."""
        if self.view is not None and self.view.spent:
            work = self._forecast(self.view)
            run_in_background(self, work, group="forecast", exclusive=True)

    async def _forecast(self, view: PlayView) -> None:
        session, area, amount = self.session, self.composer.shown, None
        slot, typed, then = view.session.next_slot, "", tuple[Slot, ...]()
        if area is not None:
            slot, typed, then = area.slot, area.text, area.then
        if view.running is None and not view.why_read_only:
            with suppress(StoryEngineError):  # The prompt itself says what is wrong.
                amount = await session.money.of_prompt(slot, typed, then)
        if self.shows(session):
            self.reading.show_spent(f"{view.spent} · next up to {dollars(amount)}" if amount else view.spent)

    async def _begin_play(self) -> None:
        """Create the panels of a cast that was locked, and focus the first if this tab is active."""
        if self.composer.is_cast_of(self.session.snapshot.session):
            return
        await self.sender.show_cast(is_new=True)
        self._go_on()

    def _go_on(self) -> None:
        """Focus the widget where the GM continues, if this tab is active."""
        if self.screen.focused is None or self.has_focus_within:
            self.on_tab_shown()

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if not self.has_session or self.view is None:
            return False
        if action == "view_all":
            return self.reading.viewpoint is not None
        if action in ("why_silent", "why_here"):
            is_near = action == "why_silent" or self.reading.transcript.has_focus
            return is_near and self.reading.reasoned is not None
        if action in ("quote_here", "sheet"):
            return self.bank.is_offered(action)
        if action == "branch_here":
            return self.reading.transcript.has_focus and self.reading.marked_prompt is not None
        if action in ("send", "mark_here") and self.view.actions[action]:
            is_near = action == "send" or self.reading.transcript.has_focus
            return is_near and self.reading.marked_event is not None
        return self.view.actions.get(action, self.view.is_playable)

    def why_not(self, action: str) -> str:
        """Return why an action that changes the chapter is not possible now."""
        commands = {**COMMANDS, **hearing_view.COMMANDS, **stage_view.COMMANDS}
        command = Command.END_CHAPTER if action == "end_chapter" else commands.get(action)
        if command is None:
            return ""
        return self.session.why_not(command) or self.current_view().why_read_only

    @on(Button.Pressed, "#end-chapter")
    def _handle_end(self) -> None:
        self.ending.action_end_chapter()

    @property
    def typed_fields(self) -> Fields:
        """The texts of the panels that are not stored."""
        return self.sender.typed_fields

    @property
    def has_unsaved(self) -> bool:
        """Whether a text of a panel can be stored and is not yet, or is being sent."""
        return self.sender.has_unsaved

    async def flush(self) -> None:
        """Store what is typed and not stored yet."""
        await self.sender.flush()

    @on(Composer.Typed)
    def _touch(self) -> None:
        self.sender.touch()
        if self.has_session:
            self.session.afterthoughts.touch()

    @on(SlotEntries.Picked)
    def _note_pick(self) -> None:
        self.sender.has_picked = True

    @on(Banner.ActionChosen)
    def _perform(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if self.view is None:
            return
        reply = next(iter(self.view.failed_replies), None)
        if event.action == "keep":
            self.takes.action_keep_partial()
        elif event.action in ("leave-out", "leave-rest"):
            self.scene.leave_out(with_rest=event.action == "leave-rest")
        elif event.action == "edit" and reply is not None:
            event.sender.hide()
            self.sender.has_picked = True
            self.composer.show(reply.slot, takes_focus=True)
        elif request := (self.view.failed_summary if event.action == "retry-summary" else reply):
            self.requests.retry(request)

    @on(PromptQueue.TakeBackRequested)
    def _handle_take_back(self, event: PromptQueue.TakeBackRequested) -> None:
        self.requests.take_back(event.request_id)

    @on(BusyLine.CancelRequested)
    def _cancel(self) -> None:
        self.requests.action_cancel()

    @on(ActionRequested)
    async def _run_requested(self, event: ActionRequested) -> None:
        await self.run_action(event.action)

    @on(TranscriptView.Copied)
    def _say_copied(self, event: TranscriptView.Copied) -> None:
        self.notify(f"{counted(event.length, 'character')} copied", timeout=2, markup=False)
