"""Access rules of the private server: accounts and their roles.

The program's role owns the database and is not a superuser: it cannot disable triggers for a connection, read
a file or start a program. The role that initdb creates cannot be demoted, so it remains as the administrator.
Directories of earlier versions have only that one; their database is handed over before the server starts.
`pg_hba.conf` shows which of the two a directory has, so it is written after the hand-over.
"""

import os
from pathlib import Path

from db.embedded.machine.run_as import RunAs

ADMINISTRATOR = DATABASE = "storyengine"
ROLE = "storyengine_app"
_RULE = f"local all {ROLE},{ADMINISTRATOR} peer map=owner\n"

CREATE = f"CREATE ROLE {ROLE} LOGIN\nCREATE DATABASE {DATABASE} OWNER {ROLE}\n"
"""Two statements for single-user mode, in which each line is a statement."""

_HAND_OVER = f"""
DO $$ DECLARE found record; BEGIN
IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN CREATE ROLE {ROLE} LOGIN; END IF;
ALTER DATABASE {DATABASE} OWNER TO {ROLE};
FOR found IN
SELECT 'SCHEMA' AS kind, nspname::text AS name FROM pg_namespace
WHERE nspname = 'public' AND nspowner = current_user::regrole
UNION ALL
SELECT 'TABLE', oid::regclass::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
AND relowner = current_user::regrole
UNION ALL
SELECT 'ROUTINE', oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole
AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid
AND deptype = 'e')
LOOP EXECUTE format('ALTER %s %s OWNER TO {ROLE}', found.kind, found.name); END LOOP;
END $$
"""
HAND_OVER = " ".join(_HAND_OVER.split()) + "\n"
"""Makes the program's role the owner of the database and its objects, except an extension's functions."""


def role_of(data: Path) -> str:
    """Return the role that the program connects as: the administrator until the database is handed over."""
    return ROLE if _text_of(data / "pg_hba.conf") == _RULE else ADMINISTRATOR


def write_access(run_as: RunAs, data: Path) -> None:
    """Let one system account in, over the socket, as one of two roles; refuse everything else."""
    name = run_as.client.replace('"', '""')
    names = "".join(f'owner "{name}" {role}\n' for role in (ROLE, ADMINISTRATOR))
    _replace(run_as, data / "pg_ident.conf", names)
    _replace(run_as, data / "pg_hba.conf", _RULE)


def _replace(run_as: RunAs, path: Path, text: str) -> None:
    if _text_of(path) == text:
        return
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text)
    run_as.give(draft)
    os.replace(draft, path)


def _text_of(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
