"""Costs of calls that are not stored yet, as advisory locks that the other windows see.

The key of a lock is the server's process of the connection, and the day of the month before the amount in
hundredths of a cent; for calls that run the day is 0, since they may end on the next one. So a window that
ends in any way takes its amounts along, as it does the writer's lock.
"""

from datetime import date
from decimal import ROUND_CEILING, Decimal
from typing import Final, LiteralString

from db.connections import RawConnection

_UNITS: Final = 10_000
"""To a dollar."""
_BITS: Final = 26
"""Of the amount."""
_MOST: Final = (1 << _BITS) - 1
_TOLD: Final[LiteralString] = (
    "(SELECT pid, objid::bigint AS told FROM pg_locks"
    " WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = pid"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS windows"
)
_TAKE: Final[LiteralString] = (
    "SELECT pg_advisory_lock(pg_backend_pid(), %(now)s) WHERE NOT EXISTS"
    f" (SELECT FROM {_TOLD} WHERE pid = pg_backend_pid() AND told = %(now)s)"
)
_LEAVE: Final[LiteralString] = (
    f"SELECT pg_advisory_unlock(pid, told::int) FROM {_TOLD} WHERE pid = pg_backend_pid()"
    " AND told <> ALL(%(now)s::bigint[])"
)
_OTHERS: Final[LiteralString] = (
    f"SELECT coalesce(sum(told & %(most)s), 0) FROM {_TOLD}"
    " WHERE pid <> pg_backend_pid() AND told >> %(bits)s IN (0, %(day)s)"
)


async def tell_open_costs(
    connection: RawConnection, *, ended: Decimal, day: date, running: Decimal
) -> Decimal:
    """Hold amounts in place of those before; return what all other windows hold for this day.

    The server alone knows what is held: the call may be cancelled between a statement and its answer.
    """
    now = [key for key in (_key(running, 0), _key(ended, day.day)) if key]
    for key in now:  # the new ones first: at no time is there less than they have in common with those before
        await connection.execute(_TAKE, {"now": key})
    await connection.execute(_LEAVE, {"now": now})
    row = await (await connection.execute(_OTHERS, {"most": _MOST, "bits": _BITS, "day": day.day})).fetchone()
    assert row is not None
    return Decimal(row[0]) / _UNITS


def _key(amount: Decimal, day: int) -> int:
    """Return the second half of the key of a lock; 0 where there is nothing to hold."""
    units = min(int((amount * _UNITS).to_integral_value(ROUND_CEILING)), _MOST)
    return (day << _BITS) + units if units else 0
