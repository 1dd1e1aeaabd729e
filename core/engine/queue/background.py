"""Runs the work beside the play of one open session (design 17)."""

from collections.abc import Callable, Iterable
from datetime import datetime

from core.domain.clock import Clock
from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.requests.request import BackgroundRequest
from core.engine.changes.moves import given_up, with_all_tries
from core.engine.decisions.commands import find_request
from core.engine.queue.queue_commands import queued_again, vectors_due
from core.engine.queue.worker import MAX_SLEEP_SECONDS, Worker
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


class BackgroundWorker(Worker):
    """Runs the requests beside the play; what is stopped waits for its turn again."""

    name = "background worker"
    _may_spend_more = False
    """Whether the GM has agreed to go on beyond a ceiling since work was refused at one."""

    def wake(self) -> None:
        """Check for pending requests again; the first one starts the task."""
        snapshot = self._writer.snapshot
        if self.is_running:
            super().wake()
        elif (snapshot.background or _refused(snapshot)) and not self._is_closing:
            self.start()

    def spend_more(self) -> None:
        """Take up what a ceiling refused: the GM has agreed to go on beyond it."""
        self._may_spend_more = True
        self.wake()

    async def add(
        self, request: BackgroundRequest, unless: Callable[[Snapshot], object] = lambda _: False
    ) -> None:
        """Queue work beside the play, if `unless` finds no reason against it at that moment."""
        await self._writer.apply(
            lambda snapshot: Changes(
                session_id=snapshot.session.id, requests=() if unless(snapshot) else (request,)
            )
        )

    async def make_vectors(self, *, of_texts: bool = False) -> None:
        """Ask for the vectors that items lack, after some were stored or changed; or texts too."""
        await self._writer.apply(
            lambda snapshot: Changes(
                session_id=snapshot.session.id,
                requests=vectors_due(snapshot, self._writer.clock(), of_texts=of_texts),
            )
        )

    async def stop(self, request_id: RequestId) -> None:
        """Stop work that a model has: it has failed then, and can be retried; give up work that waits."""
        if not self._stop(request_id):
            await self._writer.apply(lambda snapshot: give_up(snapshot, request_id, self._writer.clock()))

    async def retry(self, request_id: RequestId) -> None:
        """Queue work again at once that has failed, or waits for its next try."""
        await self._writer.apply(lambda snapshot: try_again(snapshot, request_id, self._writer.clock()))

    def put_back(self, request_id: RequestId) -> None:
        """Stop work that a model has, which waits for its turn again: a call of the play needs its place."""
        self._stop(request_id, is_put_back=True)

    def _next(self, snapshot: Snapshot) -> BackgroundRequest | None:
        return next_background(snapshot, self._writer.clock())

    def _stop_for_close(self) -> None:
        self._stop(is_put_back=True)

    async def _work(self) -> float:
        snapshot, now = self._writer.snapshot, self._writer.clock()
        is_asked, self._may_spend_more = self._may_spend_more, False
        if refused_before(snapshot, now, is_asked=is_asked).requests:
            await self._writer.apply_patiently(
                lambda snapshot: refused_before(snapshot, now, is_asked=is_asked)
            )
            return 0.0
        request = next_background(snapshot, now)
        if request is not None:
            await self._perform(request.id)
            return 0.0
        due = [one.retry_after for one in _runnable(snapshot) if one.retry_after is not None]
        return (min(due) - now).total_seconds() if due else MAX_SLEEP_SECONDS


def next_background(snapshot: Snapshot, now: datetime) -> BackgroundRequest | None:
    """Return the most urgent request beside the play that may run now; the oldest among equals."""
    ready = (one for one in _runnable(snapshot) if _is_ready(one, now))
    return min(ready, key=lambda request: request.order, default=None)


def _runnable(snapshot: Snapshot) -> list[BackgroundRequest]:
    held_up = {one.kind for one in snapshot.requests if one.holds_up}
    return [
        one
        for one in snapshot.background
        if snapshot.session.state in one.spec.runs_in and (one.kind not in held_up or one.is_processing)
    ]


def _is_ready(request: BackgroundRequest, now: datetime) -> bool:
    """Whether its wait is over; a time that was stored in the future means nothing."""
    return request.retry_after is None or request.retry_after <= now or request.updated_at > now


def give_up(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Give up work beside the play that no model has."""
    request = find_background(snapshot, request_id)
    if request.is_processing:
        raise IllegalCommandError("A model works on it; stop it first.")
    return Changes(session_id=snapshot.session.id, requests=(given_up(request, now),))


def try_again(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Queue work beside the play again at once, with all of its tries."""
    request = find_background(snapshot, request_id)
    if request.is_processing:
        raise IllegalCommandError("A model works on it already.")
    return queued_again(snapshot, request, now)


def another_round(snapshot: Snapshot, clock: Clock) -> Changes | None:
    """Queue work again that had used up its tries, or was refused at a ceiling; None without any.

    For when a chapter is opened: each opening is one round more, whatever it costs below the ceilings.
    """
    dead = [one for one in snapshot.failed(BackgroundRequest) if one.has_another_round]
    again = [*dead, *_refused(snapshot)]
    return _queued(snapshot, again, clock()) if again else None


def refused_before(snapshot: Snapshot, now: datetime, *, is_asked: bool = False) -> Changes:
    """Queue work again that a ceiling refused on an earlier day; of any day where the GM `is_asked`."""
    today = now.astimezone().date()
    refused = _refused(snapshot)
    return _queued(
        snapshot, [one for one in refused if is_asked or one.updated_at.astimezone().date() != today], now
    )


def _refused(snapshot: Snapshot) -> list[BackgroundRequest]:
    return [one for one in snapshot.failed(BackgroundRequest) if one.waits_for_money]


def _queued(snapshot: Snapshot, requests: Iterable[BackgroundRequest], now: datetime) -> Changes:
    again = tuple(with_all_tries(one, now) for one in requests)
    return Changes(session_id=snapshot.session.id, requests=again)


def find_background(snapshot: Snapshot, request_id: RequestId) -> BackgroundRequest:
    """Return work beside the play; raise IllegalCommandError for any other request."""
    request = find_request(snapshot, request_id)
    if not isinstance(request, BackgroundRequest):
        raise IllegalCommandError("That call belongs to the play of its chapter; change it there.")
    return request
