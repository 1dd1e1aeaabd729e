"""Backs up and restores a whole database with PostgreSQL's own programs (design 11).

A backup is written beside its target, read back, flushed, and only then renamed; a restore is one
transaction. Interrupted at any moment, either leaves everything as it was.
"""

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from psycopg import sql
from sqlalchemy import URL, text
from sqlalchemy.ext.asyncio import AsyncEngine

from core.domain.errors import ErrorCode, StorageError
from core.text.numbers import counted
from db.backups import client_programs
from db.bank.vectors import PIECES_NAME as PIECES
from db.bank.vectors import TABLE_NAME as VECTORS
from db.bank.vectors import are_there, make_tables
from db.connections import open_engine, parse_url
from db.errors import LOAD, SAVE, guarded
from db.schema.migrate import is_ours, refuse_revision, upgrade
from db.tables import METADATA

_SCHEMA: Final = "public"
_VERSION_TABLE: Final = "alembic_version"
_LAST_EPOCH: Final = "storyengine.last_epoch"
_FENCE: Final = (
    f"UPDATE {_SCHEMA}.session SET writer_epoch = 1 +"
    f" greatest(writer_epoch, nullif(current_setting('{_LAST_EPOCH}', true), '')::integer)"
)
"""Makes the restore a new writer of each chapter, after all that the database had."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
_NO_FLUSHES: Final = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)


async def backup(url: str, target: Path) -> None:
    """Write the whole database to `target`, readable by its owner only; never over an existing file.

    Raises StorageError. Chapters may be played meanwhile: the backup is a consistent snapshot.
    """
    parsed = parse_url(url)
    draft = _new_draft(target)
    # Vectors are made again from the texts, also where there is no pgvector to read them.
    without = [f"--exclude-table={_SCHEMA}.{table}" for table in (VECTORS, PIECES)]
    options = ["--format=custom", f"--schema={_SCHEMA}", *without, "--no-owner", "--no-privileges"]
    try:
        await client_programs.run(
            "pg_dump", parsed, [*options, "--lock-wait-timeout=30s", f"--file={draft}"], code=LOAD
        )
        await _contents(parsed, draft)
        # The list is at the beginning of the file; this reads all of it.
        whole: list[str | Path] = [f"--file={os.devnull}", draft]
        await client_programs.run("pg_restore", parsed, whole, code=LOAD, connects=False)
        _publish(draft, target)
    finally:
        draft.unlink(missing_ok=True)


async def check_backup(url: str, source: Path) -> None:
    """Raise StorageError where a backup is damaged, of another program or of a newer one."""
    refuse_revision(await _revision_in(parse_url(url), source))


async def restore(url: str, source: Path, *, replace: bool = False) -> None:
    """Replace the database by the content of `source`, then upgrade its schema.

    Raises StorageError, and changes nothing, when the backup is damaged or of a newer program, and when the
    database holds chapters and `replace` is not set. Windows that have a chapter open cannot write to it
    afterwards: a restore counts as a new writer.
    """
    parsed = parse_url(url)
    await check_backup(url, source)
    engine = open_engine(parsed)
    try:
        await _refuse_full(engine, replace=replace)
        async with guarded(LOAD), engine.connect() as connection:
            had_vectors = await are_there(connection)
        with tempfile.TemporaryDirectory(prefix="storyengine-restore-") as directory:
            script = Path(directory, "restore.sql")
            options = [f"--schema={_SCHEMA}", "--no-owner", "--no-privileges", f"--file={script}"]
            await client_programs.run("pg_restore", parsed, [*options, source], code=LOAD, connects=False)
            guard, clearing, fence = (f"--command={sql}" for sql in (_guard(replace), _clearing(), _FENCE))
            steps = [guard, clearing, f"--file={script}", fence]
            options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
            await client_programs.run("psql", parsed, [*options, *steps], code=SAVE)
        await upgrade(engine)
        if had_vectors:
            # A window that is open has seen their tables; the vectors are made again.
            async with guarded(SAVE), engine.begin() as connection:
                await make_tables(connection)
    finally:
        await engine.dispose()


async def _contents(url: URL, file: Path) -> str:
    """Return a backup's list of contents; raise StorageError when it is damaged or not of this program."""
    try:
        listed = await client_programs.run("pg_restore", url, ["--list", file], code=LOAD, connects=False)
    except StorageError as error:
        raise _refusal(
            f"{file} is not a backup that can be read; nothing was changed.", error.hint
        ) from error
    if any(f" TABLE DATA {_SCHEMA} {table} " not in listed for table in ("session", "event", _VERSION_TABLE)):
        raise _refusal(f"{file} is not a backup of Story Engine; nothing was changed.")
    return listed


async def _revision_in(url: URL, file: Path) -> str:
    """Return the schema's revision in a backup."""
    await _contents(url, file)
    options = ["--data-only", f"--table={_VERSION_TABLE}", "--file=-"]
    script = await client_programs.run("pg_restore", url, [*options, file], code=LOAD, connects=False)
    lines = iter(script.splitlines())
    for line in lines:
        if line.startswith("COPY "):
            return next(lines, "").strip()
    raise _refusal(f"{file} does not say which version it is of; nothing was changed.")


async def holds_chapters(url: str) -> bool:
    """Return whether a restore would replace chapters; raise StorageError."""
    engine = open_engine(parse_url(url))
    try:
        return await _count(engine) > 0
    finally:
        await engine.dispose()


async def _count(engine: AsyncEngine) -> int:
    """Return the number of chapters."""
    async with guarded(LOAD), engine.connect() as connection:
        if not await is_ours(connection):
            return 0
        return int((await connection.execute(text("SELECT count(*) FROM session"))).scalar_one())


async def _refuse_full(engine: AsyncEngine, *, replace: bool) -> None:
    """Raise StorageError unless the database may be overwritten."""
    count = await _count(engine)
    if count and not replace:
        raise _refusal(
            f"The database holds {counted(count, 'chapter')}; nothing was changed.",
            "Restore with --replace; what is there is backed up first.",
        )


def _guard(replace: bool) -> str:
    """Return what begins a restore: other windows may have begun a chapter or opened one since the look."""
    refusal = "RAISE EXCEPTION 'another window has begun a chapter meanwhile'"
    return f"""
        DO $$ BEGIN
        IF to_regclass('{_SCHEMA}.session') IS NOT NULL THEN
            LOCK TABLE {_SCHEMA}.session;
            IF NOT {replace} AND EXISTS (SELECT FROM {_SCHEMA}.session) THEN {refusal}; END IF;
            PERFORM set_config('{_LAST_EPOCH}', max(writer_epoch)::text, true) FROM {_SCHEMA}.session;
        END IF; END $$
    """


def _clearing() -> str:
    tables: Iterable[str] = (*METADATA.tables, VECTORS, PIECES, _VERSION_TABLE)
    drop = sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(
        sql.SQL(", ").join(sql.Identifier(_SCHEMA, table) for table in tables)
    )
    functions = (
        "DO $$ DECLARE found regprocedure; BEGIN FOR found IN SELECT oid FROM pg_proc"
        f" WHERE pronamespace = '{_SCHEMA}'::regnamespace AND proname LIKE 'storyengine\\_%'"
        " LOOP EXECUTE 'DROP FUNCTION ' || found || ' CASCADE'; END LOOP; END $$"
    )
    return f"{drop.as_string()}; {functions}"


def _new_draft(target: Path) -> Path:
    """Return a new empty file beside the target, readable by its owner only."""
    if target.exists():
        raise _exists_already(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise _refusal(f"Nothing can be written to {target.parent}.", str(error.strerror)) from error
    os.close(handle)
    return Path(name)


def _publish(draft: Path, target: Path) -> None:
    """Flush a finished file and rename it, never over another file."""
    try:
        _flush(draft)
        _name(draft, target)
        _flush(target.parent)
    except FileExistsError as error:
        raise _exists_already(target) from error
    except OSError as error:
        raise _refusal(f"{target} could not be written.", str(error.strerror)) from error


def _name(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links, such as FAT: the name was free at the beginning.
        os.rename(draft, target)


def _exists_already(target: Path) -> StorageError:
    return _refusal(f"There is a file {target} already; nothing was written.", "Choose another name.")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # A share of the network may not flush directories; the file is flushed, and has its name.
        if error.errno not in _NO_FLUSHES or not path.is_dir():
            raise
    finally:
        os.close(handle)


def _refusal(message: str, hint: str = "") -> StorageError:
    return StorageError(ErrorCode.STORAGE_SAVE_FAILED, message, hint, is_transient=False)
