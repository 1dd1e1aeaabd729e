"""Requests of all chapters that wait, run or have failed, with the commands on them (design 17)."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import ReplyRequest, RequestState
from core.engine.queue.control import QueueControl
from core.engine.queue.entries import QueueEntry
from core.engine.queue.queue_commands import may_stop, waits_beside
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.text.cleaning import clean_line
from storyengine_tui.screens.calls.calls_view import CallsView, right
from storyengine_tui.screens.calls.queue.queue_rows import NOTHING_WAITS, purpose_of, state_of, totals_of
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.list_screen import cut
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal

OTHER_COLUMNS: Final = 5 + 14 + 14 + 4
"""Cells of the number, the chapter and the model, and between the columns."""


class PromptModal(StoredTextModal):
    """Edits the text of a waiting prompt; one that has begun meanwhile is refused with the reason."""

    heading = "Edit the prompt that waits"
    EFFECT: ClassVar[str] = "The prompt keeps its place in the queue."
    LOSS: ClassVar[tuple[str, str]] = ("Leave the prompt as it was?", "Your changes will be lost.")


class QueueView(CallsView):
    """Lists the requests in the order of taking."""

    TABLE = "queue"
    HINT = "all chapters, the next one first"
    EMPTY = NOTHING_WAITS
    HELP = (
        "p pauses the queue: running calls finish, and nothing new begins; p again resumes it. s stops the "
        "call under the cursor, Ctrl+R retries a failed one, d drops it, u moves it up, e edits a waiting "
        "prompt, t returns all waiting prompts of its chapter to their panels. c drops all background "
        "work that does not run."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "Pause"),
        Binding("p", "resume", "Resume"),
        Binding("s", "stop", "Stop"),
        Binding("e", "edit", "Edit"),
        Binding("ctrl+r", "retry", "Retry"),
        Binding("d", "drop", "Drop"),
        Binding("u", "move_up", "Up"),
        Binding("t", "recall", "Take all back"),
        Binding("c", "clear", "Clear background"),
    ]

    def __init__(
        self,
        queue: QueueControl,
        session: SessionHandle,
        folder: Path,
        take_back: Callable[[RequestId | None], None],
    ) -> None:
        """Make the view.

        `folder` is for text that is not stored yet; `take_back` returns one prompt of `session`, or all, to
        their panels.
        """
        super().__init__()
        self._queue = queue
        self._session = session
        self._folder = folder
        self._take_back = take_back
        self._entries: Sequence[QueueEntry] = ()

    def on_mount(self) -> None:
        """Follow what happens in the open chapter; r reads what happened in others."""
        super().on_mount()
        self.run_worker(self._follow(), group="follow", exit_on_error=False)

    async def _follow(self) -> None:
        with self._session.listen() as listener:
            async for batch in listener.batches():
                if self.display and not all(isinstance(one, TextArrived) for one in batch):
                    self.post_message(self.ReloadWanted())

    async def reload(self) -> None:
        """Read the queue; raises StoryEngineError."""
        self._entries = await self._queue.entries()
        self.show()

    def show(self) -> None:
        """Show the rows."""
        room = max(20, self.size.width - OTHER_COLUMNS)
        columns = [
            (right("#"), 5),
            (Text(" Chapter"), 14),
            (Text(" What"), room // 2),
            (Text(" Model"), 14),
            (Text(" State"), room - room // 2),
        ]
        totals = totals_of(self._entries, is_paused=self._queue.is_paused)
        rows = (self._cells(number, entry) for number, entry in enumerate(self._entries, start=1))
        keys = [entry.request.id for entry in self._entries]
        self.fill(totals if self._entries or self._queue.is_paused else "", columns, rows, keys)

    def _cells(self, number: int, entry: QueueEntry) -> tuple[Text, ...]:
        is_open = entry.request.state.is_open
        return (
            right(f"{number:,}"),
            cut(f" {clean_line(entry.session_title)}"),
            cut(f" {purpose_of(entry.request, self._session.snapshot.session)}"),
            cut(f" {clean_line(entry.lane)}"),
            cut(f" {state_of(entry)}", "" if is_open else "bold"),
        )

    @property
    def _chosen(self) -> QueueEntry | None:
        row = self.table.cursor_row
        return self._entries[row] if 0 <= row < len(self._entries) else None

    @on(DataTable.RowHighlighted)
    def _update_keys(self) -> None:
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the request under the cursor."""
        request = None if self._chosen is None else self._chosen.request
        is_waiting = request is not None and request.state is RequestState.PENDING
        match action:
            case "pause":
                return not self._queue.is_paused
            case "resume":
                return self._queue.is_paused
            case "stop":
                is_running = self._chosen is not None and self._chosen.is_running
                return is_running or (request is not None and is_waiting and may_stop(request))
            case "retry":
                return request is not None and not request.state.is_open
            case "drop":
                return request is not None and not may_stop(request)
            case "move_up":
                return is_waiting
            case "edit" | "recall":
                return is_waiting and isinstance(request, ReplyRequest)
            case "clear":
                return any(waits_beside(one.request) for one in self._entries)
            case _:
                return True

    def _do(self, command: Awaitable[object]) -> None:
        # A worker of the app: Esc right after the key does not take back what was asked for.
        self.app.run_worker(self._perform(command), group="queue", exit_on_error=False)

    async def _perform(self, command: Awaitable[object]) -> None:
        try:
            await command
        except StoryEngineError as error:
            self.notify(str(error), severity="warning", markup=False)
        if self.is_attached:
            self.post_message(self.ReloadWanted())

    def action_pause(self) -> None:
        """Begin nothing new."""
        self._do(self._queue.pause())

    def action_resume(self) -> None:
        """Go on."""
        self._do(self._queue.resume())

    def action_clear(self) -> None:
        """Drop all background work that waits."""
        self._do(self._queue.clear_background())

    def action_stop(self) -> None:
        """Stop the request under the cursor."""
        if self._chosen is not None:
            self._do(self._queue.stop(self._chosen.request.id))

    def action_retry(self) -> None:
        """Try the request under the cursor again."""
        if self._chosen is not None:
            self._do(self._queue.retry(self._chosen.request.id))

    def action_drop(self) -> None:
        """Take the request under the cursor out of the queue; the text of a prompt is in its panel."""
        if self._chosen is None:
            return
        request = self._chosen.request
        is_here = request.session_id == self._session.id and not self._session.is_read_only
        has_text = isinstance(request, ReplyRequest) and not request.follows
        if is_here and has_text and request.state is RequestState.PENDING:
            # By the page, whose panels go before what is stored of them.
            self._take_back(request.id)
        else:
            self._do(self._queue.drop(request.id))

    def action_move_up(self) -> None:
        """Let the request under the cursor be taken earlier."""
        if self._chosen is not None:
            self._do(self._queue.move_up(self._chosen.request.id))

    def action_recall(self) -> None:
        """Take all waiting prompts of the chapter under the cursor back into their panels."""
        if self._chosen is None:
            return
        session_id = self._chosen.request.session_id
        if session_id == self._session.id and not self._session.is_read_only:
            self._take_back(None)
        else:
            self._do(self._queue.recall(session_id))

    def action_edit(self) -> None:
        """Edit the prompt under the cursor."""
        request = None if self._chosen is None else self._chosen.request
        if isinstance(request, ReplyRequest):
            limit = self._session.snapshot.session.limits.prompt
            kept = KeptText.of_prompt(request, self._folder)
            dialog = PromptModal(partial(self._queue.edit, request.id), limit, request.text, kept)
            self.app.push_screen(dialog, self._reload_after)

    def _reload_after(self, _: bool | None) -> None:
        self.post_message(self.ReloadWanted())
