"""Adds whether models are sent an event, as the GM says; of events that are there nothing is said."""

from alembic import op

revision: str = "story_0026"
down_revision: str | None = "story_0025"
branch_labels: str | None = None
depends_on: str | None = None

TABLE = """
    CREATE TABLE event_status (
        session_id UUID NOT NULL,
        prompt_index INTEGER NOT NULL,
        take SMALLINT NOT NULL,
        ordinal SMALLINT NOT NULL,
        status TEXT NOT NULL,
        CONSTRAINT pk_event_status PRIMARY KEY (session_id, prompt_index, take, ordinal),
        CONSTRAINT fk_event_status_session FOREIGN KEY (session_id) REFERENCES session (id)
            ON DELETE CASCADE,
        CONSTRAINT fk_event_status_event FOREIGN KEY (session_id, prompt_index, take, ordinal)
            REFERENCES event (session_id, prompt_index, take, ordinal) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT ck_event_status_status CHECK (status IN ('default', 'always', 'never'))
    )
"""


def upgrade() -> None:
    op.execute(TABLE)
