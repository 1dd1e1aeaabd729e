"""Upgrades the schema at start, under a lock, or refuses with a StorageError (design 11)."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from core.domain.errors import StorageError
from db.errors import LOAD, guarded

HEAD: Final = "story_0036"
"""The newest revision; a test compares it with the migrations."""

_PREFIX: Final = "story_"
_LOCK_KEY: Final = 0x5E0_4154_10B5
# Not `to_regclass`: after a wait for another window's migration it would answer from a stale cache.
_IS_VERSIONED: Final = (
    "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'alembic_version'"
    " AND relnamespace = quote_ident(current_schema())::regnamespace)"
)
_TABLES_HERE: Final = (
    "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p')"
    " AND relnamespace = quote_ident(current_schema())::regnamespace"
)
_DEADLINE: Final = 600.0
_MIGRATIONS: Final = Path(__file__).resolve().parents[2] / "migrations"


async def upgrade(engine: AsyncEngine) -> None:
    """Upgrade the database to `HEAD`, if it is not there yet; raise StorageError when that fails."""
    async with guarded(LOAD), engine.connect() as connection:
        if await _revision(connection) == HEAD:
            return
    # A slow import that is needed only once per version: off the event loop, after the fast path.
    await asyncio.to_thread(import_module, "alembic.command")
    async with guarded(LOAD, seconds=_DEADLINE), engine.begin() as connection:
        await _wait_for_turn(connection)
        revision = await _revision(connection)
        if revision == HEAD:
            return
        await connection.run_sync(_refuse_unknown, revision)
        await connection.run_sync(_run_alembic)


async def _wait_for_turn(connection: AsyncConnection) -> None:
    """Acquire the migration lock for this transaction; another window may be migrating for minutes."""
    await connection.execute(
        text("SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '300s', true)")
    )
    await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})


async def _revision(connection: AsyncConnection) -> str | None:
    """Return the schema's revision, or None for a database without our schema."""
    exists = await connection.execute(text(_IS_VERSIONED))
    if not exists.scalar_one():
        return None
    found = await connection.execute(text("SELECT max(version_num) FROM alembic_version"))
    return cast("str | None", found.scalar_one())


async def is_current(engine: AsyncEngine) -> bool:
    """Whether the schema is that of this program."""
    async with engine.connect() as connection:
        return await _revision(connection) == HEAD


def _refuse_unknown(connection: Connection, revision: str | None) -> None:
    if revision is not None:
        refuse_revision(revision)
    elif connection.execute(text(_TABLES_HERE)).scalar_one():
        raise _foreign()
    elif (encoding := connection.execute(text("SHOW server_encoding")).scalar_one()) != "UTF8":
        # A chapter would begin there, and its first “ could never be stored.
        raise StorageError(
            LOAD,
            f"The database has the encoding {encoding}, in which not every text can be kept;"
            " nothing was changed.",
            "Make one with ENCODING 'UTF8' TEMPLATE template0, and name it in STORYENGINE_DATABASE_URL.",
            is_transient=False,
        )


async def is_ours(connection: AsyncConnection) -> bool:
    """Return True for our schema, False for an empty database; raise StorageError for any other."""
    revision = await _revision(connection)
    await connection.run_sync(_refuse_unknown, revision)
    return revision is not None


def refuse_revision(revision: str, *, backup: Path | None = None) -> None:
    """Raise StorageError unless this program knows the revision, of the database or of a backup."""
    if not revision.startswith(_PREFIX):
        raise _foreign()
    if revision not in known_revisions():
        otherwise = ", or name another database in STORYENGINE_DATABASE_URL" if backup is None else ""
        raise StorageError(
            LOAD,
            f"{backup or 'The database'} was made by a newer Story Engine; nothing was changed.",
            f"Upgrade this program{otherwise}.",
            is_transient=False,
        )


def _foreign() -> StorageError:
    return StorageError(
        LOAD,
        "The database holds tables of another program; nothing was changed.",
        "Name an empty database in STORYENGINE_DATABASE_URL.",
        is_transient=False,
    )


def known_revisions() -> tuple[str, ...]:
    """Return every revision that this program can upgrade, oldest first."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config())
    return tuple(script.revision for script in reversed(list(scripts.walk_revisions())))


def _run_alembic(connection: Connection) -> None:
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
