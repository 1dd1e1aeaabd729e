"""Lets the windows of one database share a paused queue, and the places of an account.

`queue_state` has one row at most, written by the first pause. `lane_call` has a row for each call that runs,
or waits, at an account that takes only so many calls at a time. A row counts while its writer holds the lock
of its session and the request is with a model: a window that ends in any way frees its places.
"""

from alembic import op

revision: str = "story_0017"
down_revision: str | None = "story_0016"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    """
    CREATE TABLE queue_state (
        id SMALLINT NOT NULL,
        is_paused BOOLEAN NOT NULL,
        CONSTRAINT pk_queue_state PRIMARY KEY (id),
        CONSTRAINT ck_queue_state_one CHECK (id = 1)
    )
    """,
    """
    CREATE TABLE lane_call (
        session_id UUID NOT NULL,
        request_id UUID NOT NULL,
        account TEXT NOT NULL,
        level SMALLINT NOT NULL,
        is_story BOOLEAN NOT NULL,
        is_running BOOLEAN NOT NULL,
        is_put_back BOOLEAN NOT NULL,
        writer_epoch INTEGER NOT NULL,
        writer_lock BIGINT NOT NULL,
        waiting_since TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_lane_call PRIMARY KEY (session_id, request_id),
        CONSTRAINT fk_lane_call_session FOREIGN KEY (session_id) REFERENCES session (id) ON DELETE CASCADE,
        CONSTRAINT ck_lane_call_level CHECK (level BETWEEN 0 AND 2)
    )
    """,
    """
    CREATE FUNCTION storyengine_is_live(
        its_session UUID, its_request UUID, its_epoch INTEGER, its_lock BIGINT
    ) RETURNS BOOLEAN LANGUAGE sql STABLE AS $$
        SELECT EXISTS (
            SELECT FROM session WHERE id = its_session AND writer_epoch = its_epoch
        ) AND EXISTS (
            SELECT FROM llm_request
            WHERE session_id = its_session AND request_id = its_request AND state = 'processing'
        ) AND EXISTS (
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 1
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND classid::bigint = its_lock >> 32 & 4294967295
                AND objid::bigint = its_lock & 4294967295
        )
    $$
    """,
    # The next place goes by level, then to the call that has waited longest, in whatever window it is.
    """
    CREATE FUNCTION storyengine_take_place(
        its_session UUID, its_request UUID, its_epoch INTEGER, its_lock BIGINT,
        its_account TEXT, its_level INTEGER, story BOOLEAN, most INTEGER
    ) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
    DECLARE
        mine lane_call;
        before_it INTEGER;
        leaving INTEGER;
        gone lane_call;
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('storyengine lane ' || its_account, 0));
        DELETE FROM lane_call WHERE account = its_account
            AND NOT storyengine_is_live(session_id, request_id, writer_epoch, writer_lock);
        INSERT INTO lane_call VALUES (
            its_session, its_request, its_account, its_level, story, false, false, its_epoch, its_lock,
            clock_timestamp()
        ) ON CONFLICT (session_id, request_id) DO NOTHING;
        SELECT * INTO mine FROM lane_call WHERE session_id = its_session AND request_id = its_request;
        IF mine.is_running THEN
            RETURN true;
        END IF;
        SELECT count(*), count(*) FILTER (WHERE is_put_back) INTO before_it, leaving FROM lane_call
        WHERE account = its_account AND (is_running OR
            (level, waiting_since, request_id) < (mine.level, mine.waiting_since, mine.request_id));
        IF before_it < most THEN
            UPDATE lane_call SET is_running = true
            WHERE session_id = its_session AND request_id = its_request;
            RETURN true;
        END IF;
        IF story THEN
            FOR gone IN
                SELECT * FROM lane_call
                WHERE account = its_account AND is_running AND NOT is_story AND NOT is_put_back
                ORDER BY level DESC, waiting_since DESC
                LIMIT greatest(0, before_it + 1 - most - leaving)
            LOOP
                UPDATE lane_call SET is_put_back = true
                WHERE session_id = gone.session_id AND request_id = gone.request_id;
                PERFORM pg_notify('storyengine_queue', 'back:' || gone.request_id);
            END LOOP;
        END IF;
        RETURN false;
    END
    $$
    """,
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
