"""Lets several characters answer one prompt, and a character add something unasked.

What was asked before called one character, and no character adds anything until the GM says so.
"""

from alembic import op

revision: str = "story_0016"
down_revision: str | None = "story_0015"
branch_labels: str | None = None
depends_on: str | None = None

STEPS = (
    """
    ALTER TABLE session
        ADD COLUMN adds_unasked BOOLEAN NOT NULL DEFAULT false,
        ADD COLUMN may_add SMALLINT NOT NULL DEFAULT 0
            CONSTRAINT ck_session_may_add CHECK (may_add BETWEEN 0 AND 127)
    """,
    """
    ALTER TABLE llm_request
        ADD COLUMN then_slots SMALLINT[] NOT NULL DEFAULT '{}',
        ADD COLUMN follows BOOLEAN NOT NULL DEFAULT false
    """,
    """
    ALTER TABLE llm_request
        ADD CONSTRAINT ck_llm_request_called CHECK (
            then_slots <@ '{1,2,3,4,5,6,7}'::smallint[] AND slot <> ALL (then_slots)
            AND (kind = 'reply' OR cardinality(then_slots) = 0)
        ),
        ADD CONSTRAINT ck_llm_request_follows CHECK (
            NOT follows OR kind = 'reply' AND NOT continues AND COALESCE(from_prompt = to_prompt, false)
        )
    """,
    "DROP TRIGGER keep_request ON llm_request",
    "CREATE TRIGGER keep_request BEFORE UPDATE ON llm_request FOR EACH ROW WHEN ("
    "(NEW.request_id, NEW.session_id, NEW.kind, NEW.slot, NEW.text, NEW.model, NEW.continues, NEW.audience,"
    " NEW.then_slots, NEW.follows, NEW.created_at)"
    " IS DISTINCT FROM (OLD.request_id, OLD.session_id, OLD.kind, OLD.slot, OLD.text, OLD.model,"
    " OLD.continues, OLD.audience, OLD.then_slots, OLD.follows, OLD.created_at))"
    " EXECUTE FUNCTION storyengine_refuse('a request stays what was asked')",
)

# Rules that are checked at commit. Name, condition, what must exist, message. A session that no window has
# opened is being created, with all of its story.
REQUIRED = (
    (
        "reply_was_called",
        "NEW.role = 'agent' AND NEW.ordinal > 1",
        """
        SELECT FROM session WHERE id = NEW.session_id AND writer_epoch = 0
        UNION ALL
        SELECT FROM llm_request WHERE session_id = NEW.session_id AND slot = NEW.slot AND request_id =
            CASE WHEN NEW.metadata ->> 'request_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                THEN (NEW.metadata ->> 'request_id')::uuid END
        UNION ALL
        SELECT FROM event WHERE session_id = NEW.session_id AND prompt_index = NEW.prompt_index
            AND take < NEW.take AND role = 'agent' AND slot = NEW.slot
        """,
        "a further reply is of a character that was called",
    ),
    (
        "reply_is_not_in_memory",
        "NEW.role = 'agent' AND NEW.ordinal > 1",
        "SELECT FROM session WHERE id = NEW.session_id AND (boundary < NEW.prompt_index OR writer_epoch = 0"
        " OR boundary = NEW.prompt_index AND NEW.metadata ? 'unasked_after')",
        "a further reply comes before its prompt is in memory",
    ),
)

# What replaces the function of a rule of story_0006.
ASKED_PLAYS = (
    "SELECT FROM session WHERE id = NEW.session_id AND NEW.slot = ANY (slots) AND NEW.then_slots <@ slots"
)


def upgrade() -> None:
    for step in STEPS:
        op.execute(step)
    for name, when, wanted, said in REQUIRED:
        _define(name, wanted, said)
        op.execute(
            f"CREATE CONSTRAINT TRIGGER {name} AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED"
            f" FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION storyengine_{name}()"
        )
    _define("asked_plays", ASKED_PLAYS, "who is asked plays in the chapter")


def _define(name: str, wanted: str, said: str) -> None:
    op.execute(
        f"""
        CREATE OR REPLACE FUNCTION storyengine_{name}() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS ({wanted}) THEN
                RAISE EXCEPTION '{said}: % on % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
            END IF;
            RETURN NULL;
        END $$
        """
    )
