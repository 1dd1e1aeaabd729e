"""Gives times bounds: one before 1900 or after 9998 cannot be read back by the program.

Such times could be imported; each is set to the nearest bound. The chapter can be continued; a save point
whose hash covers an event with such a time is refused as changed.
"""

from alembic import op

revision: str = "story_0004"
down_revision: str | None = "story_0003"
branch_labels: str | None = None
depends_on: str | None = None

FIRST, LAST = "'1900-01-01Z'", "'9999-01-01Z'"
TIMES = {
    "session": ("created_at", "updated_at", "archived_at", "writer_since"),
    "save_slot": ("taken_at",),
    "event": ("created_at",),
    "memory_block": ("created_at",),
    "narrative_draft": ("created_at",),
    "llm_request": ("created_at", "updated_at", "retry_after"),
    "llm_artifact": ("created_at",),
}
APPEND_ONLY = ("event", "memory_block", "narrative_draft", "llm_artifact")


def upgrade() -> None:
    op.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for table, columns in TIMES.items():
        if table in APPEND_ONLY:
            op.execute(f"ALTER TABLE {table} DISABLE TRIGGER append_only")
        for column in columns:
            op.execute(
                f"UPDATE {table} SET {column} = least(greatest({column}, {FIRST}), {LAST})"
                f" WHERE {column} NOT BETWEEN {FIRST} AND {LAST}"
            )
        if table in APPEND_ONLY:
            op.execute(f"ALTER TABLE {table} ENABLE TRIGGER append_only")
        checks = " AND ".join(f"{column} BETWEEN {FIRST} AND {LAST}" for column in columns)
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_times CHECK ({checks})")
    op.execute("SET CONSTRAINTS ALL DEFERRED")
