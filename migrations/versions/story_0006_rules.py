"""Moves the rules of the log into the database: one trigger for each rule, named after it.

A rule about one row is in the WHEN of a trigger, so that it costs nothing while it holds. A rule that needs
another row is a function, run at commit for each new row, with one lookup by key: the cost of a commit does
not grow with the story. Existing rows are not checked. `docs/database-rules.md` lists rules that no trigger
can enforce.
"""

from alembic import op

revision: str = "story_0006"
down_revision: str | None = "story_0005"
branch_labels: str | None = None
depends_on: str | None = None

REFUSE = """
    CREATE FUNCTION storyengine_refuse() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%: % on % refused', TG_ARGV[0], TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
    END $$
"""

# Rows are deleted with their session only, and only if it is archived.
APPEND_ONLY = """
    CREATE OR REPLACE FUNCTION storyengine_append_only() RETURNS trigger
    LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM session WHERE id = OLD.session_id) THEN
            RETURN OLD;
        END IF;
        IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - TG_ARGV = to_jsonb(OLD) - TG_ARGV THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'SE002';
    END $$
"""

BLANK = "NEW.text !~ '[^[:space:]]'"
LOCKED_STATE = "NEW.tab1_locked = (NEW.state IN ('DRAFT_TAB1', 'LOCKING')) AND NEW.state <> 'RESETTING'"
UNREMEMBERED_END = "NEW.state IN ('ENDED', 'NARRATING') AND NEW.boundary <> NEW.prompt_index"
UNLOCKED_PROMPT = "NEW.prompt_index > 0 AND NOT NEW.tab1_locked"
NO_NEXT = "NEW.next_slot <> ALL (NEW.slots)"

# Name, table, event, condition, message.
REFUSED = (
    (
        "keep_prompt_index",
        "session",
        "UPDATE",
        "NEW.prompt_index < OLD.prompt_index",
        "no prompt is taken back",
    ),
    ("keep_boundary", "session", "UPDATE", "NEW.boundary < OLD.boundary", "no memory is taken back"),
    ("keep_epoch", "session", "UPDATE", "NEW.writer_epoch < OLD.writer_epoch", "no writer comes back"),
    (
        "keep_cast",
        "session",
        "UPDATE",
        "OLD.tab1_locked AND (NEW.slots, NEW.names) IS DISTINCT FROM (OLD.slots, OLD.names)",
        "the cast is locked",
    ),
    (
        "keep_limits",
        "session",
        "UPDATE",
        "OLD.tab1_locked AND (NEW.chunk_size, NEW.limits) IS DISTINCT FROM (OLD.chunk_size, OLD.limits)",
        "the limits are locked",
    ),
    (
        "keep_identity",
        "session",
        "UPDATE",
        "(NEW.id, NEW.created_at, NEW.script_key, NEW.script_run)"
        " IS DISTINCT FROM (OLD.id, OLD.created_at, OLD.script_key, OLD.script_run)",
        "a session stays the one it is",
    ),
    (
        "keep_ended",
        "session",
        "UPDATE",
        "OLD.state IN ('ENDED', 'NARRATING') AND NEW.state NOT IN ('ENDED', 'NARRATING', 'RESETTING')",
        "an ended chapter stays ended",
    ),
    (
        "state_fits_lock",
        "session",
        "UPDATE",
        f"(NEW.state, NEW.tab1_locked) IS DISTINCT FROM (OLD.state, OLD.tab1_locked) AND {LOCKED_STATE}",
        "state and lock disagree",
    ),
    ("new_state_fits_lock", "session", "INSERT", LOCKED_STATE, "state and lock disagree"),
    (
        "end_is_remembered",
        "session",
        "UPDATE",
        "(NEW.state, NEW.prompt_index, NEW.boundary)"
        " IS DISTINCT FROM (OLD.state, OLD.prompt_index, OLD.boundary)"
        f" AND {UNREMEMBERED_END}",
        "an ended chapter is in memory whole",
    ),
    ("new_end_is_remembered", "session", "INSERT", UNREMEMBERED_END, "an ended chapter is in memory whole"),
    (
        "prompt_needs_lock",
        "session",
        "UPDATE",
        f"NEW.prompt_index <> OLD.prompt_index AND {UNLOCKED_PROMPT}",
        "tab 1 is locked before the first prompt",
    ),
    (
        "new_prompt_needs_lock",
        "session",
        "INSERT",
        UNLOCKED_PROMPT,
        "tab 1 is locked before the first prompt",
    ),
    (
        "next_plays",
        "session",
        "UPDATE",
        f"(NEW.next_slot, NEW.slots) IS DISTINCT FROM (OLD.next_slot, OLD.slots) AND {NO_NEXT}",
        "the next character plays",
    ),
    ("new_next_plays", "session", "INSERT", NO_NEXT, "the next character plays"),
    ("text_is_not_blank", "event", "INSERT", BLANK, "an event has a text"),
    ("text_is_not_blank", "narrative_draft", "INSERT", BLANK, "a draft has a text"),
    (
        "prompt_is_not_blank",
        "llm_request",
        "INSERT",
        f"NEW.kind = 'reply' AND {BLANK}",
        "a prompt has a text",
    ),
    (
        "keep_request",
        "llm_request",
        "UPDATE",
        "(NEW.request_id, NEW.session_id, NEW.kind, NEW.slot, NEW.text, NEW.created_at)"
        " IS DISTINCT FROM (OLD.request_id, OLD.session_id, OLD.kind, OLD.slot, OLD.text, OLD.created_at)",
        "a request stays what was asked",
    ),
    (
        "keep_outcome",
        "llm_request",
        "UPDATE",
        "OLD.state IN ('done', 'cancelled') AND NEW.state <> OLD.state",
        "a settled request stays settled",
    ),
    (
        "hash_is_of_text",
        "llm_content",
        "INSERT",
        "NEW.hash <> encode(sha256(convert_to(NEW.text, 'UTF8')), 'hex')",
        "a content is stored under its own hash",
    ),
)

# Name, table, condition, what must exist at commit, message.
REQUIRED = (
    (
        "prompt_has_reply",
        "event",
        "NEW.ordinal = 0",
        "SELECT FROM event WHERE session_id = NEW.session_id AND prompt_index = NEW.prompt_index"
        " AND ordinal = 1 AND role = 'agent'",
        "a prompt is stored with its reply",
    ),
    (
        "reply_follows",
        "event",
        "NEW.ordinal > 1",
        "SELECT FROM event WHERE session_id = NEW.session_id AND prompt_index = NEW.prompt_index"
        " AND ordinal = NEW.ordinal - 1",
        "replies to a prompt leave no gap",
    ),
    (
        "prompt_is_counted",
        "event",
        "NEW.ordinal = 0",
        "SELECT FROM session WHERE id = NEW.session_id AND prompt_index >= NEW.prompt_index",
        "a prompt is counted",
    ),
    (
        "speaker_plays",
        "event",
        "NEW.role = 'agent'",
        "SELECT FROM session WHERE id = NEW.session_id AND NEW.slot = ANY (slots)",
        "who replies plays in the chapter",
    ),
    (
        "asked_plays",
        "llm_request",
        "NEW.kind = 'reply'",
        "SELECT FROM session WHERE id = NEW.session_id AND NEW.slot = ANY (slots)",
        "who is asked plays in the chapter",
    ),
    (
        "delta_is_within_boundary",
        "memory_block",
        "NEW.type = 'turn_delta'",
        "SELECT FROM session WHERE id = NEW.session_id AND boundary >= NEW.to_prompt",
        "the boundary moves with the memory",
    ),
    (
        "version_follows",
        "narrative_draft",
        "NEW.version > 1",
        "SELECT FROM narrative_draft WHERE session_id = NEW.session_id AND version = NEW.version - 1",
        "versions leave no gap",
    ),
    (
        "draft_is_of_prompts",
        "narrative_draft",
        "true",
        "SELECT FROM session WHERE id = NEW.session_id AND prompt_index >= NEW.source_prompt_index",
        "a draft is made of prompts that were played",
    ),
    (
        "session_has_tab1",
        "session",
        "true",
        "SELECT FROM tab1_input WHERE session_id = NEW.id",
        "a session has its tab 1",
    ),
)

KEEP_TAB1 = (
    "DROP TRIGGER guard ON tab1_input",
    "CREATE TRIGGER guard BEFORE UPDATE ON tab1_input FOR EACH ROW EXECUTE FUNCTION storyengine_guard_tab1()",
)
DELETED_WITH_SESSION = ("tab1_input", "llm_request")
NEVER_EMPTIED = ("session", "tab1_input", "unsent_text", "save_slot", "llm_request")


def upgrade() -> None:
    for statement in (REFUSE, APPEND_ONLY, *KEEP_TAB1):
        op.execute(statement)
    for name, table, event, when, said in REFUSED:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})"
            f" EXECUTE FUNCTION storyengine_refuse('{said}')"
        )
    for rule in REQUIRED:
        _require(*rule)
    for table in DELETED_WITH_SESSION:
        op.execute(
            f"CREATE TRIGGER append_only BEFORE DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION storyengine_append_only()"
        )
    for table in NEVER_EMPTIED:
        op.execute(
            f"CREATE TRIGGER keep_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
            " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')"
        )


def _require(name: str, table: str, when: str, wanted: str, said: str) -> None:
    """Add a function for the rule and a trigger that runs it at commit."""
    op.execute(
        f"""
        CREATE FUNCTION storyengine_{name}() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS ({wanted}) THEN
                RAISE EXCEPTION '{said}: % on % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SE004';
            END IF;
            RETURN NULL;
        END $$
        """
    )
    op.execute(
        f"CREATE CONSTRAINT TRIGGER {name} AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED"
        f" FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION storyengine_{name}()"
    )
