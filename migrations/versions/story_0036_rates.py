"""Lets the windows of one database share a rate: how many calls may begin in a minute.

`lane_minute` has a row for each account, or agent, whose rate the GM has set, with the times at which calls
of the last minute began. A time counts for a minute, whatever became of its window.
"""

from alembic import op

revision: str = "story_0036"
down_revision: str | None = "story_0035"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    """
    CREATE TABLE lane_minute (
        name TEXT NOT NULL,
        begun_at TIMESTAMP WITH TIME ZONE[] NOT NULL,
        CONSTRAINT pk_lane_minute PRIMARY KEY (name)
    )
    """,
    # Times that are still to come are of a clock that was put back since.
    """
    CREATE FUNCTION storyengine_begin_call(its_name TEXT, most INTEGER)
    RETURNS DOUBLE PRECISION LANGUAGE plpgsql AS $$
    DECLARE
        begun TIMESTAMP WITH TIME ZONE[];
        this_moment TIMESTAMP WITH TIME ZONE;
    BEGIN
        INSERT INTO lane_minute VALUES (its_name, '{}') ON CONFLICT (name) DO NOTHING;
        SELECT begun_at INTO begun FROM lane_minute WHERE name = its_name FOR UPDATE;
        this_moment := clock_timestamp();
        begun := ARRAY(
            SELECT one FROM unnest(begun) AS one
            WHERE one > this_moment - interval '1 minute' AND one <= this_moment ORDER BY one
        );
        IF cardinality(begun) >= most THEN
            RETURN extract(epoch FROM
                begun[cardinality(begun) - most + 1] + interval '1 minute' - this_moment);
        END IF;
        UPDATE lane_minute SET begun_at = begun || this_moment WHERE name = its_name;
        RETURN 0;
    END
    $$
    """,
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
