"""Backs up and restores a whole database with PostgreSQL's own programs (design 11).

A backup is written beside its target, read back, sealed, flushed, and only then renamed; a restore is one
transaction. Interrupted at any moment, either leaves everything as it was.
"""

import asyncio
import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, cast

from psycopg import sql
from sqlalchemy import URL, text
from sqlalchemy.ext.asyncio import AsyncEngine

from core.config.files.drafts import locked_draft, move_to_free_name
from core.domain.errors import ErrorCode, StorageError, StoryEngineError
from core.text.numbers import counted
from db.backups import client_programs
from db.backups.seal import is_damaged, seal
from db.bank.vectors import PIECES_NAME as PIECES
from db.bank.vectors import TABLE_NAME as VECTORS
from db.bank.vectors import are_there, make_tables
from db.connections import close_quietly, open_connection, open_engine, parse_url
from db.errors import LOAD, SAVE, guarded
from db.schema.migrate import is_ours, refuse_revision, upgrade
from db.tables import METADATA
from db.writes.commit_statement import BANK_CHANGED, CHANNELS

_VERSION_TABLE: Final = "alembic_version"
_LIBRARY: Final = ("cast_member", "lorebook", "book")
_LAST_EPOCH: Final = "storyengine.last_epoch"
_FENCE: Final = (
    "UPDATE {}.session SET writer_epoch = 1 +"
    f" greatest(writer_epoch, nullif(current_setting('{_LAST_EPOCH}', true), '')::integer)"
)
"""Makes the restore a new writer of each chapter, after all that the database had."""
_LATER_SETTING: Final = b"SET transaction_timeout"
"""The setting at the beginning of scripts of version 17 and newer, which servers of version 16 refuse."""
_BEGINNING: Final = 2_000
_NO_FLUSHES: Final = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)


async def backup(url: str, target: Path) -> None:
    """Write the whole database to `target`, readable by its owner only; never over an existing file.

    Raises StorageError. Chapters may be played meanwhile: the backup is a consistent snapshot.
    """
    parsed = parse_url(url)
    with _new_draft(target) as draft:
        schema = _quoted(await _schema_of(parsed))
        # Vectors are made again from the texts, also where there is no pgvector to read them.
        without = [f"--exclude-table={schema}.{table}" for table in (VECTORS, PIECES)]
        options = ["--format=custom", f"--schema={schema}", *without, "--no-owner", "--no-privileges"]
        await client_programs.run(
            "pg_dump", parsed, [*options, "--lock-wait-timeout=30s", f"--file={draft}"], code=LOAD
        )
        await _schema_in(parsed, draft)
        # The list is at the beginning of the file; this reads all of it.
        whole: list[str | Path] = [f"--file={os.devnull}", draft]
        await client_programs.run("pg_restore", parsed, whole, code=LOAD, connects=False)
        try:
            await asyncio.to_thread(seal, draft)
        except OSError as error:
            raise _not_written(target, error) from error
        _publish(draft, target)


async def check_backup(url: str, source: Path) -> str:
    """Return the schema that a backup is restored into.

    Raises StorageError where it is damaged, of another program, of a newer one, or of another schema.
    """
    parsed = parse_url(url)
    if not await asyncio.to_thread(os.path.exists, source):
        raise _refusal(f"No file {source} was found; nothing was changed.")
    revision = await _revision_in(parsed, source)
    try:
        has_changed = await asyncio.to_thread(is_damaged, source)
    except OSError as error:
        raise _unreadable(source, str(error.strerror)) from error
    if has_changed:
        raise _refusal(f"{source} is damaged: it is not as it was written; nothing was changed.")
    refuse_revision(revision, backup=source)
    found, home = await _schema_in(parsed, source), await _schema_of(parsed)
    if found != home:
        raise _refusal(
            f"{source} is of the schema {found}, and this database keeps chapters in {home};"
            " nothing was changed.",
            f"Restore it as a role whose search_path begins with {found}.",
        )
    return home


async def restore(url: str, source: Path, *, replace: bool = False, mark: str = "") -> None:
    """Replace the database by the content of `source`, then upgrade its schema.

    Raises StorageError, and changes nothing, when the backup is damaged or of a newer program, when the
    database holds chapters or a library and `replace` is not set, and when a window has written since `mark`.
    Where the upgrade alone fails, the error says so.
    Windows that have a chapter open cannot write to it afterwards: a restore counts as a new writer.
    """
    parsed = parse_url(url)
    schema = await check_backup(url, source)
    engine = open_engine(parsed)
    try:
        await _refuse_full(engine, replace=replace)
        async with guarded(LOAD), engine.connect() as connection:
            had_vectors = await are_there(connection)
        # Without a name: a killed restore leaves none. Without a buffer: other programs use it too.
        with cast(IO[bytes], tempfile.TemporaryFile(buffering=0)) as script:
            options = [f"--schema={schema}", "--no-owner", "--no-privileges", "--file=-"]
            await client_programs.run(
                "pg_restore", parsed, [*options, source], code=LOAD, connects=False, output=script
            )
            await asyncio.to_thread(_leave_later_setting_out, script)
            guard, clearing = _guard(schema, replace, mark), _clearing(schema)
            fence = _FENCE.format(_quoted(schema))
            steps = [f"--command={guard}", f"--command={clearing}", "--file=-", f"--command={fence}"]
            options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
            await client_programs.run("psql", parsed, [*options, *steps], code=SAVE, given=script)
        await _upgrade(engine)
        if had_vectors:
            # A window that is open has seen their tables; the vectors are made again.
            async with guarded(SAVE), engine.begin() as connection:
                await make_tables(connection)
    finally:
        await engine.dispose()


async def _upgrade(engine: AsyncEngine) -> None:
    try:
        await upgrade(engine)
    except StorageError as error:
        said = "The backup is restored, but its tables could not be brought up to date; a start does so."
        raise _refusal(said, error.hint) from error


async def _schema_of(url: URL) -> str:
    """Return the schema that chapters are kept in: the first that the role's search_path finds."""
    async with guarded(LOAD):
        connection = await open_connection(url)
        try:
            row = await (await connection.execute("SELECT current_schema()")).fetchone()
        finally:
            await close_quietly(connection)
    return str((row and row[0]) or "public")


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()


async def _schema_in(url: URL, file: Path) -> str:
    """Return the schema in a backup; raise StorageError when it is damaged or not of this program."""
    try:
        listed = await client_programs.run("pg_restore", url, ["--list", file], code=LOAD, connects=False)
    except StorageError as error:
        raise _unreadable(file, error.hint) from error
    found = re.search(rf" TABLE DATA (.+) {_VERSION_TABLE} ", listed)
    if found is None or any(
        f" TABLE DATA {found[1]} {table} " not in listed for table in ("session", "event")
    ):
        raise _refusal(f"{file} is not a backup of Story Engine; nothing was changed.")
    return found[1]


async def _revision_in(url: URL, file: Path) -> str:
    """Return the schema's revision in a backup."""
    await _schema_in(url, file)
    options = ["--data-only", f"--table={_VERSION_TABLE}", "--file=-"]
    script = await client_programs.run("pg_restore", url, [*options, file], code=LOAD, connects=False)
    lines = iter(script.splitlines())
    for line in lines:
        if line.startswith("COPY "):
            return next(lines, "").strip()
    raise _refusal(f"{file} does not say which version it is of; nothing was changed.")


async def mark_of_content(url: str) -> str:
    """Return a mark of the content of the database, empty for none; raise StorageError."""
    engine = open_engine(parse_url(url))
    try:
        if not await _find_content(engine):
            return ""
        async with guarded(LOAD), engine.connect() as connection:
            return str((await connection.execute(text("SELECT pg_current_snapshot()"))).scalar_one())
    finally:
        await engine.dispose()


async def _find_content(engine: AsyncEngine) -> str:
    """Return the content that a restore would replace, in words; empty for none."""
    async with guarded(LOAD), engine.connect() as connection:
        if not await is_ours(connection):
            return ""
        if count := (await connection.execute(text("SELECT count(*) FROM session"))).scalar_one():
            return counted(count, "chapter")
        has_library = False
        for table in _LIBRARY:  # an older database has none
            if (await connection.execute(text(f"SELECT to_regclass('{table}')"))).scalar_one():
                rows = await connection.execute(text(f"SELECT EXISTS (SELECT FROM {table})"))
                has_library = has_library or rows.scalar_one()
        return "a library" if has_library else ""


async def _refuse_full(engine: AsyncEngine, *, replace: bool) -> None:
    """Raise StorageError unless the database may be overwritten."""
    if not replace and (content := await _find_content(engine)):
        raise _refusal(
            f"The database holds {content}; nothing was changed.",
            "Restore with --replace; what is there is backed up first.",
        )


def _guard(schema: str, replace: bool, mark: str) -> str:
    """Return what begins a restore: other windows may have begun a chapter or opened one since the look.

    With a mark it looks in each table for rows that were written later: the backup may not have them.
    Windows that follow a chapter are told to read it again, or that it is gone.
    """
    # Rows have the last half of the number of their transaction.
    transaction = "greatest(pg_current_xact_id()::text::bigint - age(xmin), 3)::text::xid8"
    written = f"NOT pg_visible_in_snapshot({transaction}, '{mark}')" if mark else "true"
    home = _quoted(schema)
    said = "another window has written meanwhile; close it and try again"
    looked_at: Iterable[str] = METADATA.tables if mark else ()
    if not replace:
        said = "another window has begun a chapter or a library meanwhile"
        looked_at = ("session", *_LIBRARY)
    return f"""
        DO $$ DECLARE found name; is_later boolean; BEGIN
        IF current_setting('transaction_timeout', true) IS NOT NULL THEN
            PERFORM set_config('transaction_timeout', '0', false);
        END IF;
        IF to_regclass({_text(f"{home}.session")}) IS NOT NULL THEN
            LOCK TABLE {home}.session;
            PERFORM set_config('{_LAST_EPOCH}', max(writer_epoch)::text, true) FROM {home}.session;
            PERFORM pg_notify('{CHANNELS}' || replace(id::text, '-', ''), '{BANK_CHANGED}')
                FROM {home}.session;
            FOR found IN SELECT relname FROM pg_class WHERE relname = ANY ('{{{",".join(looked_at)}}}')
                AND relnamespace = {_text(home)}::regnamespace
            LOOP
                EXECUTE format('LOCK TABLE %I.%I', {_text(schema)}, found);
                EXECUTE format($look$SELECT EXISTS (SELECT FROM %I.%I WHERE {written})$look$,
                    {_text(schema)}, found)
                    INTO is_later;
                IF is_later THEN RAISE EXCEPTION '{said}'; END IF;
            END LOOP;
        END IF; END $$
    """


def _leave_later_setting_out(script: IO[bytes]) -> None:
    """Make a comment of the line of a script that older servers refuse; the guard sets it for the others.

    Leaves the script at its beginning.
    """
    flags = fcntl.fcntl(script, fcntl.F_GETFL)
    fcntl.fcntl(script, fcntl.F_SETFL, flags & ~os.O_APPEND)  # `pg_restore` has set it
    script.seek(0)
    place = script.read(_BEGINNING).find(_LATER_SETTING)
    if place >= 0:
        script.seek(place)
        script.write(b"--")
    script.seek(0)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _clearing(schema: str) -> str:
    tables: Iterable[str] = (*METADATA.tables, VECTORS, PIECES, _VERSION_TABLE)
    drop = sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(
        sql.SQL(", ").join(sql.Identifier(schema, table) for table in tables)
    )
    functions = (
        "DO $$ DECLARE found regprocedure; BEGIN FOR found IN SELECT oid FROM pg_proc"
        f" WHERE pronamespace = {_text(_quoted(schema))}::regnamespace AND proname LIKE 'storyengine\\_%'"
        " LOOP EXECUTE 'DROP FUNCTION ' || found || ' CASCADE'; END LOOP; END $$"
    )
    return f"{drop.as_string()}; {functions}"


@contextmanager
def _new_draft(target: Path) -> Iterator[Path]:
    """Yield a new empty file beside the target, readable by its owner only, and remove it at the end."""
    if target.exists():
        raise _exists_already(target)
    with ExitStack() as at_end:
        try:
            draft = at_end.enter_context(locked_draft(target.parent, f".{target.name}.", ".part"))
        except OSError as error:
            raise _refusal(f"Nothing can be written to {target.parent}.", str(error.strerror)) from error
        yield draft[1]


def _publish(draft: Path, target: Path) -> None:
    """Flush a finished file and rename it, never over another file."""
    try:
        _flush(draft)
        move_to_free_name(draft, target)
        _flush(target.parent)
    except FileExistsError as error:
        raise _exists_already(target) from error
    except OSError as error:
        raise _not_written(target, error) from error


def _not_written(target: Path, error: OSError) -> StorageError:
    return _refusal(f"{target} could not be written.", str(error.strerror))


def _unreadable(file: Path, hint: str) -> StorageError:
    return _refusal(f"{file} is not a backup that can be read; nothing was changed.", hint)


def _exists_already(target: Path) -> StoryEngineError:
    message = f"There is a file {target} already; nothing was written."
    return StoryEngineError(ErrorCode.ILLEGAL_COMMAND, message, "Choose another name.")


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
