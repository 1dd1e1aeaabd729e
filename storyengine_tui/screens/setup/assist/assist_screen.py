"""Help with a text of the GM's own: a proposal beside it, which is taken or dropped (design 17)."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.agents.assist import LONGEST_NOTE, AssistRequest, Field, SuggestedText, Task
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import BackgroundRequest, Request
from core.engine.session.session_handle import SessionHandle
from core.text.cleaning import clean_line, is_blank
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.permission.call_permission import repair_after_failure
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.key_line import KeyLine

LACKING = (ErrorCode.CONSENT_REQUIRED, ErrorCode.CEILING_REACHED, ErrorCode.LLM_REQUEST_ERROR)
"""Failures after which the GM may be asked for the missing consent, limit or setting."""
NOT_PUT = "Your text is another one by now, so the proposal was not put into it; F7 has the call."
NOTHING_YET = "Choose a kind of proposal. Your text stays as it is until you take a proposal."


@dataclass(frozen=True, slots=True)
class Taken:
    """A proposal that the GM took."""

    asked: AssistRequest
    proposal: str


class AssistScreen(OverlayScreen[Taken]):
    """Ends with the proposal that was taken, or without one."""

    CSS_PATH = "assist_screen.tcss"
    HELP = (
        "A model proposes how your text goes on (c), how it says the same in fewer words (t), how it reads "
        "as your note wants it (w), or what it lacks (s). Enter on Take puts the proposal into the field, "
        "where Ctrl+Z undoes that; Esc drops it, and stops a call that runs. F7 has every such call."
    )
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "ask('continue')", "Continue"),
        Binding("t", "ask('tighten')", "Tighten"),
        Binding("w", "ask('rewrite')", "Rewrite"),
        Binding("s", "ask('suggest')", "Suggest"),
        Binding("ctrl+r", "ask_again", "Retry"),
        Binding("escape", "stop", "Stop"),
        Binding("escape", "close", "Drop"),
    ]

    _note = getters.query_one("#note", LineField)
    _proposed = getters.query_one("#proposed", CappedTextArea)
    _busy = getters.query_one(BusyLine)
    _said = getters.query_one("#said", Static)

    def __init__(self, configuration: Configuration, session: SessionHandle, area: CappedTextArea) -> None:
        super().__init__()
        if area.helped is None:
            raise ValueError("there is no help with this text")
        self._configuration = configuration
        self._session = session
        self._area = area
        self._helped = area.helped
        self._text = area.text
        self._limit: int = getattr(session.snapshot.session.limits, self._helped.field)
        of = f"{self._helped.field}.{self._helped.slot or 0}"
        self._kept = KeptText.of(f"note.{of}", session.id, configuration.paths.data)
        self._asked: AssistRequest | None = None
        self._proposal: SuggestedText | None = None
        self._request: BackgroundRequest | None = None
        """The request that is in the queue, or has failed."""
        self._failed: BackgroundRequest | None = None
        """The request that Ctrl+R takes up again."""
        self._is_asking = False

    def compose(self) -> ComposeResult:
        """Compose the text and the proposal beside each other, and below them what can be asked."""
        yield Static(Content(f"Help with: {clean_line(self._helped.name)}"), id="heading")
        with Horizontal(id="sides"):
            for title, name in (("Your text", "own"), ("Proposal", "proposed")):
                with Vertical():
                    yield Static(title, id=f"{name}-title", classes="label", markup=False)
                    text = self._text if name == "own" else ""
                    limit = max(self._limit, len(self._text)) if name == "own" else 1_000_000
                    yield CappedTextArea(text, limit=limit, read_only=True, id=name)
        with Horizontal(id="note-line"):
            yield Static("Note ", classes="label")
            placeholder = "What to mind; a rewrite needs it."
            begun = clean_line(self._kept.read())
            yield LineField(begun, limit=LONGEST_NOTE, placeholder=placeholder, id="note")
        with Horizontal(id="tasks"):
            for task in Task:
                yield Button(task.value.capitalize(), id=task.value, classes="task", compact=True)
            yield Static(classes="gap")
            yield Button("Take", id="take", classes="action", compact=True)
            yield Button("Drop", id="drop", compact=True)
        yield Static("", id="said", markup=False)
        yield BusyLine(id="asking")
        yield KeyLine(offers_palette=False)

    def on_mount(self) -> None:
        """Say what can be done, and begin where one key asks."""
        own = f"Your text, {len(self._text):,}/{self._limit:,}"
        self.query_one("#own-title", Static).update(Content(own))
        self._show_state(NOTHING_YET)
        self.set_focus(self.query_one("#suggest" if is_blank(self._text) else "#continue"))

    def on_unmount(self) -> None:
        """Leave what is in the queue: its proposal could not be shown."""
        self._leave_request()

    def _leave_request(self) -> None:
        if self._request is not None:
            self._session.assist.leave(self._request.id)
        self._request = self._failed = None

    def _show_state(self, said: str = "") -> None:
        is_running = self._is_asking
        self._said.update(Content(said))
        self._said.display = bool(said) and not is_running
        self._busy.display = is_running
        for button in self.query(".task").results(Button):
            button.disabled = is_running
        self.query_one("#take", Button).disabled = self._proposal is None
        self.refresh_bindings()

    @on(CappedTextArea.Edited, "#note")
    def _keep_note(self) -> None:
        self._kept.keep(self._note.text)

    def dismiss(self, result: Taken | None = None) -> AwaitComplete:
        """Close; a note that was asked with is on record, and another one is there again."""
        if self._asked is not None and self._asked.note == self._note.text.strip():
            self._kept.forget()
        return super().dismiss(result)

    # Asking

    @on(Button.Pressed, ".task")
    def _ask_by_button(self, event: Button.Pressed) -> None:
        self.action_ask(event.button.id or "")

    def action_ask(self, name: str) -> None:
        """Ask for a proposal; the one before is gone then."""
        if not self._is_asking:
            self._leave_request()
            self._begin(
                AssistRequest(
                    task=Task(name),
                    field=Field(self._helped.field),
                    text=self._text,
                    limit=self._limit,
                    note=self._note.text.strip(),
                    slot=self._helped.slot,
                )
            )

    def action_ask_again(self) -> None:
        """Ask for the same again: after a failure as another attempt of it."""
        if not self._is_asking and self._asked is not None:
            self._begin(self._asked)

    def _begin(self, asked: AssistRequest) -> None:
        self._asked, self._proposal = asked, None
        self.run_worker(self._propose(asked), group="propose", exclusive=True, exit_on_error=False)

    async def _propose(self, asked: AssistRequest) -> None:
        work = self._session.assist
        try:
            request = self._failed or work.new(asked)
        except StoryEngineError as error:
            self._show_state(str(error))
            return
        self._request, self._failed, self._is_asking = request, None, True
        self.begin(work.model)
        # Its button is disabled now, which would hand the focus to Drop: a second Enter would end the call.
        self._focus_unless_noting("#proposed")
        self._show_state()
        try:
            proposal = await work.propose(request, self)
        except StoryEngineError as error:
            await self._show_failure(request, error)
        except Exception:  # a bug, which the app reports; this page can be left
            self._is_asking = False
            self._show_state()
            raise
        else:
            self._is_asking, self._request = False, None
            self._show_proposal(asked, proposal)
        finally:
            self._busy.end()

    # What the engine tells of the request

    def begin(self, model: str) -> None:
        """A call begins."""
        if self.is_attached:
            self._proposed.load_text("")
            self._busy.begin(f"{model} writes a proposal", cancel="Esc stops it")

    def add(self, text: str) -> None:
        """The next piece of the answer."""
        if self.is_attached:
            self._proposed.load_text(self._proposed.text + text)

    def wait(self, request: Request) -> None:
        """It waits for its turn, or after a failure until it is tried again."""
        if self.is_attached:
            due = request.retry_after
            why = (
                f"{request.error_message} Tried again by itself." if due is not None else "Waits for its turn"
            )
            self._busy.say(why)

    def _show_proposal(self, asked: AssistRequest, proposal: SuggestedText) -> None:
        self._proposal = proposal
        self._proposed.load_text(proposal.text)
        length = len(asked.with_proposal(proposal.text))
        how = "behind it" if asked.task.adds else "in its place"
        title = f"Proposal {how}: {length:,}/{self._limit:,}"
        self.query_one("#proposed-title", Static).update(Content(title))
        self._show_state("; ".join(("Left out: " + line) for line in proposal.cut))
        self._focus_unless_noting("#take")

    def _focus_unless_noting(self, selector: str) -> None:
        if self.focused is not self._note:
            self.set_focus(self.query_one(selector))

    async def _show_failure(self, request: BackgroundRequest, error: StoryEngineError) -> None:
        """Say why there is no proposal; one that lacked consent, money or weights is asked for them."""
        self._is_asking, self._failed = False, request
        self._show_state(f"{error} Ctrl+R tries again.")
        if self._asked is not None:
            self._focus_unless_noting(f"#{self._asked.task}")
        if error.code in LACKING:
            try:
                is_met = await repair_after_failure(self.app, self._configuration, self._session)
            except StoryEngineError as other:
                self._show_state(str(other))
                return
            if is_met:
                self.action_ask_again()

    # Ending

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        is_running = self._is_asking
        if action == "ask":
            return not is_running
        if action == "ask_again":
            return self._asked is not None and not is_running
        if action in ("stop", "close"):
            return is_running is (action == "stop")
        return True

    @on(BusyLine.CancelRequested)
    def action_stop(self) -> None:
        """Stop the call; what it has cost is on record."""
        if self._is_asking and self._request is not None:
            stop = self._session.assist.stop(self._request.id)
            run_in_background(self, stop, group="stop", failed=self._say_not_stopped)

    def _say_not_stopped(self, error: StoryEngineError) -> None:
        self.notify(str(error), severity="warning", markup=False)

    @on(Button.Pressed, "#take")
    def _accept(self) -> None:
        if self._proposal is not None and self._asked is not None:
            self.dismiss(Taken(self._asked, self._proposal.text))

    @on(Button.Pressed, "#drop")
    def _drop(self) -> None:
        self.dismiss()

    def put_into(self, taken: Taken | None) -> None:
        """Put a proposal that was taken into the field, which can undo it."""
        area = self._area
        if taken is None:
            return
        if not area.is_attached or area.read_only or area.text != taken.asked.text:
            self.app.notify(NOT_PUT, severity="warning", markup=False)
            return
        if taken.asked.task.adds and not is_blank(area.text):
            area.insert(taken.asked.separator(taken.proposal) + taken.proposal, area.document.end)
        else:
            area.replace(taken.proposal, (0, 0), area.document.end)
        area.move_cursor(area.document.end)
