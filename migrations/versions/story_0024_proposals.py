"""Adds what is proposed for characters of the library; nothing is, for those that are there."""

from alembic import op

revision: str = "story_0024"
down_revision: str | None = "story_0023"
branch_labels: str | None = None
depends_on: str | None = None

_TIME = "BETWEEN '1900-01-01Z' AND '9999-01-01Z'"

TABLE = f"""
    CREATE TABLE cast_proposal (
        id UUID NOT NULL,
        character_id UUID NOT NULL,
        part TEXT NOT NULL,
        before JSONB NOT NULL,
        after JSONB NOT NULL,
        why TEXT NOT NULL,
        occasion TEXT NOT NULL,
        session_id UUID,
        request_id UUID,
        prompt_index INTEGER,
        state TEXT NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        settled_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT pk_cast_proposal PRIMARY KEY (id),
        CONSTRAINT fk_cast_proposal_cast_member FOREIGN KEY (character_id) REFERENCES cast_member (id)
            ON DELETE CASCADE,
        CONSTRAINT ck_cast_proposal_part CHECK (
            part IN ('short_description', 'identity', 'trait', 'topic')
        ),
        CONSTRAINT ck_cast_proposal_occasion CHECK (
            occasion IN ('gaps', 'chapter', 'exposure', 'fade', 'merge', 'neglect')
        ),
        CONSTRAINT ck_cast_proposal_state CHECK (state IN ('open', 'taken', 'dropped')),
        CONSTRAINT ck_cast_proposal_settled_at CHECK ((state = 'open') = (settled_at IS NULL)),
        CONSTRAINT ck_cast_proposal_before CHECK (
            jsonb_typeof(before) = 'array' AND jsonb_array_length(before) BETWEEN 0 AND 8
        ),
        CONSTRAINT ck_cast_proposal_after CHECK (
            jsonb_typeof(after) = 'array' AND jsonb_array_length(after) BETWEEN 1 AND 8
        ),
        CONSTRAINT ck_cast_proposal_why CHECK (char_length(why) <= 1000),
        CONSTRAINT ck_cast_proposal_prompt_index CHECK (prompt_index >= 1),
        CONSTRAINT ck_cast_proposal_times CHECK (created_at {_TIME} AND settled_at {_TIME})
    )
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute("CREATE INDEX ix_cast_proposal_of ON cast_proposal (character_id)")
