"""The queue of one chapter that is open in this window, as the GM changes it (design 17)."""

from collections.abc import Awaitable, Callable

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import ReplyRequest
from core.engine.decisions.commands import find_request
from core.engine.queue import queue_commands
from core.engine.sync.notifications import Notification, PromptReturned
from core.engine.sync.session_writer import SessionWriter
from core.storage.changes import Changes
from core.storage.queue_store import QueueSignal
from core.storage.snapshot import Snapshot


class ChapterQueue:
    """Changes the queue of an open chapter; raises IllegalCommandError when a change is not possible."""

    def __init__(
        self,
        writer: SessionWriter,
        stop: Callable[[RequestId], Awaitable[None]],
        retry: Callable[[RequestId], Awaitable[object]],
        put_back: Callable[[RequestId], object],
    ) -> None:
        self._writer = writer
        self._stop, self._retry, self._put_back = stop, retry, put_back

    @property
    def id(self) -> SessionId:
        """The chapter."""
        return self._writer.snapshot.session.id

    @property
    def is_writing(self) -> bool:
        """Whether this window writes in the chapter."""
        return self._writer.lease is not None

    def has(self, request_id: RequestId) -> bool:
        """Whether a request is open, failed or dead in this chapter."""
        return any(one.id == request_id for one in self._writer.snapshot.requests)

    def publish(self, notification: Notification) -> None:
        """Tell the listeners of the chapter."""
        self._writer.listeners.publish(notification)

    async def do(self, signal: QueueSignal, request_id: RequestId) -> None:
        """Do what a message says with a request: stop it, drop it, retry it, move it up, or put it back."""
        match signal:
            case QueueSignal.STOP:
                if not queue_commands.may_stop(find_request(self._writer.snapshot, request_id)):
                    raise IllegalCommandError(queue_commands.WITH_NO_MODEL)
                await self._stop(request_id)
            case QueueSignal.RETRY:
                await self._retry(request_id)
            case QueueSignal.DROP:
                await self._drop(request_id)
            case QueueSignal.UP:
                await self._writer.apply(
                    lambda snapshot: queue_commands.move_up(snapshot, request_id, self._writer.clock())
                )
            case QueueSignal.BACK:
                self._put_back(request_id)
            case _:
                raise ValueError(f"{signal} is not said of a request")

    async def _drop(self, request_id: RequestId) -> None:
        request = find_request(self._writer.snapshot, request_id)
        await self._writer.apply(
            lambda snapshot: queue_commands.drop(snapshot, request_id, self._writer.clock())
        )
        if isinstance(request, ReplyRequest) and not request.has_failed:
            self.publish(PromptReturned(request))

    async def edit(self, request_id: RequestId, text: str) -> None:
        """Replace the text of a prompt that waits."""
        await self._writer.apply(
            lambda snapshot: queue_commands.edit(snapshot, request_id, text, self._writer.clock())
        )

    async def recall(self) -> tuple[str, ...]:
        """Take all waiting prompts back into their composers, and return their texts in order."""
        taken: list[tuple[ReplyRequest, ...]] = []

        def decide(snapshot: Snapshot) -> Changes:
            made, prompts = queue_commands.recall(snapshot, self._writer.clock())
            taken.append(prompts)
            return made

        await self._writer.apply(decide)
        for prompt in reversed(taken[-1]):  # each is put before what is in its panel
            self.publish(PromptReturned(prompt))
        return tuple(prompt.text for prompt in taken[-1])

    async def clear(self) -> int:
        """Give up the work beside the play that waits, and return how much it was."""
        if not queue_commands.clear_background(self._writer.snapshot, self._writer.clock()).requests:
            return 0
        made = await self._writer.apply(
            lambda snapshot: queue_commands.clear_background(snapshot, self._writer.clock())
        )
        return len(made.requests)
