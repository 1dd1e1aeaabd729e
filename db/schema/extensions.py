"""Whether the database has pgvector, or can have it; a look, which makes nothing (design 15)."""

from typing import Final, NamedTuple

from db.connections import close_quietly, open_connection, parse_url
from db.embedded.machine.access import ROLE
from db.errors import LOAD, guarded

_LOOK: Final = """
    SELECT e.default_version, coalesce(e.installed_version, ''),
        r.rolname = %s OR r.rolsuper OR (v.trusted AND has_database_privilege(current_database(), 'CREATE'))
    FROM pg_available_extensions e
    JOIN pg_available_extension_versions v ON v.name = e.name AND v.version = e.default_version
    JOIN pg_roles r ON r.rolname = current_user
    WHERE e.name = 'vector'
"""


class VectorExtension(NamedTuple):
    """Versions of pgvector on a server."""

    offered: str = ""
    """The version that it has; empty without one."""
    installed: str = ""
    """The version that the database has; empty without one."""
    can_be_made: bool = False
    """Whether the program can put it into the database; in the private server the administrator does so."""


async def find_vector_extension(url: str) -> VectorExtension:
    """Return what the server and the database at `url` have of pgvector; raise StorageError."""
    async with guarded(LOAD):
        connection = await open_connection(parse_url(url))
        try:
            row = await (await connection.execute(_LOOK, (ROLE,))).fetchone()
        finally:
            await close_quietly(connection)
    return VectorExtension() if row is None else VectorExtension(*row)
