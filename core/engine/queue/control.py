"""The queue of all chapters of one database, as the GM sees and changes it (design 17)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from core.config.models.assignments import ModelAssignments
from core.domain.clock import Clock
from core.domain.errors import IllegalCommandError, SessionLockedError, StoryEngineError
from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import Request, SummaryRequest
from core.engine.decisions.commands import SETTLED
from core.engine.queue import queue_commands
from core.engine.queue.chapter import ChapterQueue
from core.engine.queue.entries import QueueEntry, entries_of
from core.engine.sync.notifications import QueuePaused, QueueResumed
from core.engine.sync.session_writer import AppliesChanges
from core.storage.changes import Changes
from core.storage.queue_store import QueuedRequest, QueueMessage, QueueSignal, QueueStore, parse_message
from core.storage.snapshot import Snapshot

log = logging.getLogger(__name__)


class QueueSwitch:
    """Keeps whether the queue is paused, and tells those who wait for a change.

    While it is, nothing new begins, in any window of this database (design 17).
    """

    def __init__(self, *, is_paused: bool = False) -> None:
        self._is_paused = is_paused
        self._messages = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_paused(self) -> bool:
        """Whether nothing new begins."""
        return self._is_paused

    def turn(self, *, is_paused: bool) -> None:
        """Adopt what the database says."""
        self._messages += 1
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            for listener in tuple(self._listeners):
                listener()

    async def learn(self, ask: Callable[[], Awaitable[bool]]) -> None:
        """Adopt the answer to `ask`, unless a message comes meanwhile: one of any newer change comes too."""
        before = self._messages
        is_paused = await ask()
        if self._messages == before:
            self.turn(is_paused=is_paused)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


_CLOSED: Final[Mapping[QueueSignal, Callable[[Snapshot, RequestId, datetime], Changes]]] = {
    QueueSignal.DROP: queue_commands.drop,
    QueueSignal.RETRY: queue_commands.retry_closed,
    QueueSignal.UP: queue_commands.move_up,
}
"""Commands on a request of a chapter that no window has open."""


@dataclass(eq=False)
class QueueControl:
    """Lists and changes the queue, in whatever window a chapter is open.

    Methods raise IllegalCommandError when a change is not possible, and StorageError.
    """

    _store: QueueStore
    _switch: QueueSwitch
    _choices: ModelAssignments
    _clock: Clock
    _closed: Callable[[SessionId, str], AppliesChanges]
    _wake: Callable[[str], None]
    _open: dict[SessionId, ChapterQueue] = field(default_factory=dict, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._store.subscribe(self.on_message)
        self._switch.on_change(self._tell_chapters)

    @property
    def is_paused(self) -> bool:
        """Whether the queue is paused, as far as this window was told; `entries` asks the database."""
        return self._switch.is_paused

    def add(self, chapter: ChapterQueue) -> None:
        """Count a chapter as open in this window; one that was open before is replaced."""
        self._open[chapter.id] = chapter

    def remove(self, chapter: ChapterQueue) -> None:
        """Forget a chapter that is closed, unless another one has replaced it."""
        if self._open.get(chapter.id) is chapter:
            del self._open[chapter.id]

    async def entries(self) -> Sequence[QueueEntry]:
        """Return every open, failed and dead request of all chapters, in the order of taking."""
        await self._switch.learn(self._store.is_paused)
        queued = await self._store.requests()
        return entries_of(queued, self._choices, self._clock(), is_paused=self.is_paused)

    async def pause(self) -> None:
        """Let nothing new begin in any window, also after a restart; running calls finish."""
        await self._set_paused(is_paused=True)

    async def resume(self) -> None:
        """Let requests begin again."""
        await self._set_paused(is_paused=False)

    async def stop(self, request_id: RequestId) -> bool:
        """Stop a call that runs or is about to: the request has failed then.

        False: another window was asked to.
        """
        return await self._do(QueueSignal.STOP, request_id)

    async def drop(self, request_id: RequestId) -> bool:
        """Give up a request that waits, has failed or is dead; the text of a prompt is in its composer.

        False: another window was asked to.
        """
        return await self._do(QueueSignal.DROP, request_id)

    async def retry(self, request_id: RequestId) -> bool:
        """Retry a request that has failed or is dead, or background work that waits for its next try.

        False: another window was asked to.
        """
        return await self._do(QueueSignal.RETRY, request_id)

    async def move_up(self, request_id: RequestId) -> bool:
        """Let a request go before the one before it in its chapter. False: another window was asked to."""
        return await self._do(QueueSignal.UP, request_id)

    async def edit(self, request_id: RequestId, text: str) -> None:
        """Replace the text of a prompt that waits; raise SessionLockedError if another window has it."""
        chapter = self._chapter_with(request_id)
        if chapter is not None:
            await chapter.edit(request_id, text)
            return
        found = await self._find(request_id)
        _refuse_interrupted(found)
        closed = self._closed(found.request.session_id, "edit the prompt there")
        await closed.apply(lambda snapshot: queue_commands.edit(snapshot, request_id, text, self._clock()))

    async def clear_background(self) -> int:
        """Give up all work beside the play that waits, and return how much it was."""
        queued = [one for one in await self._store.requests() if queue_commands.waits_beside(one.request)]
        elsewhere = False
        for session_id in {one.request.session_id for one in queued}:
            chapter = self._writing(session_id)
            if chapter is not None:
                await chapter.clear()
                continue
            try:
                await self._closed(session_id, "").apply(
                    lambda snapshot: queue_commands.clear_background(snapshot, self._clock())
                )
            except SessionLockedError:
                elsewhere = True
        if elsewhere:
            await self._store.send(QueueMessage(QueueSignal.CLEAR))
        return len(queued)

    async def recall(self, session_id: SessionId) -> tuple[str, ...]:
        """Take all waiting prompts of a chapter back into their composers; return their texts in order."""
        chapter = self._writing(session_id)
        if chapter is not None:
            return await chapter.recall()
        texts: list[tuple[str, ...]] = [()]

        def decide(snapshot: Snapshot) -> Changes:
            made, taken = queue_commands.recall(snapshot, self._clock())
            texts.append(tuple(request.text for request in taken))
            return made

        await self._closed(session_id, "take its prompts back there").apply(decide)
        return texts[-1]

    def on_message(self, payload: str) -> None:
        """Do what a message of any window says; ignore what is not ours."""
        message = parse_message(payload)
        match message:
            case None:
                return
            case QueueMessage(QueueSignal.PAUSED | QueueSignal.RESUMED):
                self._switch.turn(is_paused=message.signal is QueueSignal.PAUSED)
            case QueueMessage(QueueSignal.FREE):
                self._wake(message.account)
            case QueueMessage(QueueSignal.CLEAR):
                for chapter in self._open.values():
                    if chapter.is_writing:
                        self._in_task(chapter.clear())
            case QueueMessage(signal, request_id=request_id):
                chapter_with = self._chapter_with(request_id) if request_id else None
                if chapter_with is not None and request_id is not None:
                    self._in_task(chapter_with.do(signal, request_id))

    async def aclose(self) -> None:
        """Wait until what other windows asked for is done."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _set_paused(self, *, is_paused: bool) -> None:
        async def store() -> bool:
            await self._store.set_paused(is_paused=is_paused)
            return is_paused

        await self._switch.learn(store)

    async def _do(self, signal: QueueSignal, request_id: RequestId) -> bool:
        """Do it where the chapter is open, or in the database; False where another window was asked to."""
        chapter = self._chapter_with(request_id)
        if chapter is not None:
            await chapter.do(signal, request_id)
            return True
        found = await self._find(request_id)
        _refuse_interrupted(found)
        decide = _CLOSED.get(signal)
        if decide is not None and not found.is_open:
            try:
                await self._closed(found.request.session_id, "").apply(
                    lambda snapshot: decide(snapshot, request_id, self._clock())
                )
            except SessionLockedError:
                pass  # a window has opened it just now, and is told below
            else:
                return True
        elif not found.is_open:
            raise IllegalCommandError("No window has that chapter open; nothing runs in it.")
        _refuse_at_once(signal, found.request)
        await self._store.send(QueueMessage(signal, request_id))
        return False

    async def _find(self, request_id: RequestId) -> QueuedRequest:
        for one in await self._store.requests():
            if one.request.id == request_id:
                return one
        raise IllegalCommandError(SETTLED)

    def _chapter_with(self, request_id: RequestId) -> ChapterQueue | None:
        return next((one for one in self._open.values() if one.is_writing and one.has(request_id)), None)

    def _writing(self, session_id: SessionId) -> ChapterQueue | None:
        chapter = self._open.get(session_id)
        return chapter if chapter is not None and chapter.is_writing else None

    def _tell_chapters(self) -> None:
        for chapter in self._open.values():
            chapter.publish(QueuePaused() if self.is_paused else QueueResumed())

    def _in_task(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: Awaitable[object]) -> None:
    try:
        await work
    except StoryEngineError as error:
        # The window that asked for it cannot be told; its list shows that nothing changed.
        log.info("a request of another window to the queue was refused: %s", error)


def _refuse_interrupted(found: QueuedRequest) -> None:
    """Raise IllegalCommandError for a request that a model had when its program ended."""
    if found.request.is_processing and not found.is_open:
        raise IllegalCommandError(
            "The program ended while a model worked on that call; open the chapter, which settles it."
        )


def _refuse_at_once(signal: QueueSignal, request: Request) -> None:
    """Raise IllegalCommandError for a command that another window would refuse without a reply."""
    if signal is QueueSignal.STOP and not queue_commands.may_stop(request):
        raise IllegalCommandError(queue_commands.WITH_NO_MODEL)
    if signal is not QueueSignal.STOP and request.is_processing:
        raise IllegalCommandError(queue_commands.WITH_THE_MODEL)
    if signal is QueueSignal.DROP and isinstance(request, SummaryRequest):
        raise IllegalCommandError(queue_commands.PART_OF_THE_STORY)
    if signal is QueueSignal.RETRY and not (request.has_failed or request.spec.is_background):
        raise IllegalCommandError(queue_commands.NOT_FAILED)
