"""The queue of one database: what is in it, whether it is paused, and the places of accounts (design 17)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Integer, Select, Text, Uuid, cast, delete, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from core.domain.ids import SessionId
from core.domain.requests.request import Request
from core.domain.requests.request_kinds import Level
from core.domain.session.session import title_from
from core.domain.session.session_state import SessionState
from core.storage.queue_store import QueuedRequest, QueueMessage, QueueSignal, parse_message
from db.reads.chapter_lists import beginning
from db.rows import mapping
from db.tables import LANE_CALL, LLM_REQUEST, QUEUE_STATE, SESSION, TAB1_INPUT
from db.tables.request import KEPT_STATES
from db.transactions import Transactions
from db.writes.change_listener import CHANNEL
from db.writes.writer_lock import held_locks, lock_key

log = logging.getLogger(__name__)

_UNSIGNED: Final = 0xFFFF_FFFF_FFFF_FFFF
_MOST_LISTED: Final = 20_000
"""Requests in one list."""


def _ignore(_: str) -> None:
    """Ignore a message: no engine has subscribed."""


@dataclass(eq=False)
class PostgresQueue:
    """`QueueStore` on PostgreSQL; `epochs` are those of the locks that are held here."""

    _database: Transactions
    _epochs: Callable[[], Mapping[SessionId, int]]
    _listener: Callable[[str], None] = field(default_factory=lambda: _ignore, init=False)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with each message between windows."""
        self._listener = listener

    def on_message(self, payload: str) -> None:
        """Pass on a message that the connection of a lock received."""
        self._listener(payload)

    def on_message_as_reader(self, payload: str) -> None:
        """Pass on a message of a pause; what else windows tell each other is for those that write."""
        message = parse_message(payload)
        if message is not None and message.signal in (QueueSignal.PAUSED, QueueSignal.RESUMED):
            self._listener(payload)

    def on_pause_state(self, *, is_paused: bool) -> None:
        """Pass on the state that was read when a lock was acquired, or listening began."""
        self._listener(QueueMessage(QueueSignal.PAUSED if is_paused else QueueSignal.RESUMED).payload)

    async def is_paused(self) -> bool:
        """Whether the queue is paused."""

        async def work(connection: AsyncConnection) -> bool:
            return bool((await connection.execute(select(QUEUE_STATE.c.is_paused))).scalar_one_or_none())

        return await self._database.read(work)

    async def set_paused(self, *, is_paused: bool) -> None:
        """Pause or resume the queue, and tell all windows."""
        statement = insert(QUEUE_STATE).values(id=1, is_paused=is_paused)
        replaced = {"is_paused": statement.excluded.is_paused}

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=replaced))
            await connection.execute(
                _notification(QueueMessage(QueueSignal.PAUSED if is_paused else QueueSignal.RESUMED))
            )

        await self._database.change(work)

    async def requests(self) -> Sequence[QueuedRequest]:
        """Return every request that is open, failed or dead; see `QueueStore.requests`."""

        async def work(connection: AsyncConnection) -> list[QueuedRequest]:
            held = await held_locks(connection)
            found = (_queued(row, held) for row in await connection.execute(_listed()))
            return [one for one in found if one is not None]

        return await self._database.read(work)

    async def send(self, message: QueueMessage) -> None:
        """Send a message to all windows."""
        await self._database.change(lambda connection: connection.execute(_notification(message)))

    async def take_place(self, account: str, most: int, request: Request) -> bool:
        """Take a place of an account; see `core.storage.queue_store.SharedPlaces.take_place`."""
        epoch = self._epochs().get(request.session_id)
        if epoch is None:  # a test call, or a lock that is lost: it counts in this window alone
            return True
        taken = func.storyengine_take_place(
            cast(literal(request.session_id, Uuid), Uuid),
            cast(literal(request.id, Uuid), Uuid),
            cast(literal(epoch), Integer),
            cast(literal(lock_key(request.session_id), BigInteger), BigInteger),
            cast(literal(account), Text),
            cast(literal(tuple(Level).index(request.level)), Integer),
            cast(literal(not request.spec.is_background), Boolean),
            cast(literal(most), Integer),
        )
        # In one round trip, because a prompt waits for it.
        [(is_taken,)] = await self._database.at_once(select(taken))
        return bool(is_taken)

    async def leave_place(self, account: str, request: Request) -> None:
        """Leave the place, or stop waiting; other windows are told."""
        its = (LANE_CALL.c.session_id == request.session_id) & (LANE_CALL.c.request_id == request.id)
        left = delete(LANE_CALL).where(its).cte("left_place")
        await self._database.at_once(
            _notification(QueueMessage(QueueSignal.FREE, account=account)).add_cte(left)
        )

    async def begin_call(self, name: str, most: int) -> float:
        """Count a call of this minute; see `core.storage.queue_store.SharedRates.begin_call`."""
        begun = func.storyengine_begin_call(cast(literal(name), Text), cast(literal(most), Integer))
        [(seconds,)] = await self._database.at_once(select(begun))
        return float(seconds)


def _notification(message: QueueMessage) -> Select[Any]:
    return select(func.pg_notify(CHANNEL, message.payload))


def _listed() -> Select[Any]:
    """Return the query for the requests in the queue, with the titles of their chapters."""
    return (
        select(
            LLM_REQUEST,
            SESSION.c.title.label("session_title"),
            SESSION.c.state.label("session_state"),
            beginning(TAB1_INPUT.c.chapter),
            beginning(TAB1_INPUT.c.world),
            TAB1_INPUT.c.profiles[cast(LLM_REQUEST.c.slot, Text)]["model"].astext.label("brought"),
        )
        .join(SESSION, SESSION.c.id == LLM_REQUEST.c.session_id)
        .outerjoin(TAB1_INPUT, TAB1_INPUT.c.session_id == SESSION.c.id)
        .where(LLM_REQUEST.c.state.in_(KEPT_STATES), SESSION.c.archived_at.is_(None))
        .order_by(LLM_REQUEST.c.priority, LLM_REQUEST.c.request_id)
        .limit(_MOST_LISTED)
    )


def _queued(row: Any, held: set[int]) -> QueuedRequest | None:
    """Return the request of a row; None for one that this program cannot read."""
    try:
        return QueuedRequest(
            request=mapping.to_request(row),
            session_title=title_from(row.session_title, row.chapter or "", row.world or ""),
            session_state=SessionState(row.session_state),
            is_open=lock_key(SessionId(row.session_id)) & _UNSIGNED in held,
            model=row.brought or "",
        )
    except ValueError:
        log.warning("request %s cannot be read; it is left out of the list", row.request_id)
        return None
