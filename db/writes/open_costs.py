"""Costs of calls that are not stored yet, as an advisory lock that the other windows see.

The key of the lock is the server's process of the connection, and the amount in hundredths of a cent. So a
window that ends in any way takes its amount along, as it does the writer's lock.
"""

from decimal import ROUND_CEILING, Decimal
from typing import Final, LiteralString

from db.connections import Connection

_UNITS: Final = 10_000
"""To a dollar."""
_MOST: Final = 2**31 - 1
_TAKE: Final[LiteralString] = "SELECT pg_advisory_lock(pg_backend_pid(), %s)"
_LEAVE: Final[LiteralString] = "SELECT pg_advisory_unlock(pg_backend_pid(), %s)"
_OTHERS: Final[LiteralString] = (
    "SELECT coalesce(sum(objid::bigint), 0) FROM pg_locks"
    " WHERE locktype = 'advisory' AND granted AND objsubid = 2"
    " AND classid::bigint = pid AND pid <> pg_backend_pid()"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class OpenCosts:
    """The amount that one connection holds; a new connection holds none."""

    def __init__(self) -> None:
        self._held: tuple[int, int] = (0, 0)
        """The server's process, and the units."""

    async def tell(self, connection: Connection, amount: Decimal) -> Decimal:
        """Hold an amount in place of the one before; return the amounts of all other windows together."""
        process = connection.info.backend_pid
        units = min(int((amount * _UNITS).to_integral_value(ROUND_CEILING)), _MOST)
        held = self._held[1] if self._held[0] == process else 0
        if units != held:
            if units:  # the new one first: at no time is there less than both amounts have in common
                await connection.execute(_TAKE, (units,))
            self._held = (process, units)
            if held:
                await connection.execute(_LEAVE, (held,))
        row = await (await connection.execute(_OTHERS)).fetchone()
        assert row is not None
        return Decimal(row[0]) / _UNITS
