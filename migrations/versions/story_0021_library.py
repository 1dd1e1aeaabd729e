"""Adds the library: characters, lorebooks and books, and what a chapter takes over from the one before it.

Chapters that were made before are in no book and take over nothing.
"""

from alembic import op

revision: str = "story_0021"
down_revision: str | None = "story_0020"
branch_labels: str | None = None
depends_on: str | None = None

_TIME = "BETWEEN '1900-01-01Z' AND '9999-01-01Z'"
_FILE = "octet_length(content) BETWEEN 1 AND 67108864 AND file_hash = encode(sha256(content), 'hex')"

TABLES = (
    f"""
    CREATE TABLE cast_member (
        id UUID NOT NULL,
        name TEXT NOT NULL,
        aliases TEXT[] NOT NULL,
        short_description TEXT NOT NULL,
        identity TEXT NOT NULL,
        model TEXT NOT NULL,
        group_name TEXT NOT NULL,
        groups_visible TEXT[] NOT NULL,
        is_static BOOLEAN NOT NULL,
        is_paused BOOLEAN NOT NULL,
        paused_until TIMESTAMP WITH TIME ZONE,
        archived_at TIMESTAMP WITH TIME ZONE,
        imported_name TEXT,
        imported_identity TEXT,
        imported_rest TEXT,
        file_hash TEXT,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        version INTEGER NOT NULL,
        CONSTRAINT pk_cast_member PRIMARY KEY (id),
        CONSTRAINT ck_cast_member_name CHECK (name ~ '[^[:space:]]'),
        CONSTRAINT ck_cast_member_aliases CHECK (cardinality(aliases) <= 20),
        CONSTRAINT ck_cast_member_groups CHECK (
            group_name ~ '[^[:space:]]' AND cardinality(groups_visible) < 20
        ),
        CONSTRAINT ck_cast_member_pause CHECK (is_paused OR paused_until IS NULL),
        CONSTRAINT ck_cast_member_imported CHECK (
            num_nulls(imported_name, imported_identity, imported_rest, file_hash) IN (0, 4)
        ),
        CONSTRAINT ck_cast_member_version CHECK (version >= 1),
        CONSTRAINT ck_cast_member_times CHECK (
            created_at {_TIME} AND updated_at {_TIME} AND archived_at {_TIME} AND paused_until {_TIME}
        )
    )
    """,
    """
    CREATE TABLE cast_name (
        key TEXT NOT NULL,
        character_id UUID NOT NULL,
        CONSTRAINT pk_cast_name PRIMARY KEY (key),
        CONSTRAINT fk_cast_name_cast_member FOREIGN KEY (character_id) REFERENCES cast_member (id)
            ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_cast_name_of ON cast_name (character_id)",
    """
    CREATE TABLE cast_trait (
        character_id UUID NOT NULL,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        strength FLOAT NOT NULL,
        sentiment FLOAT NOT NULL,
        CONSTRAINT pk_cast_trait PRIMARY KEY (character_id, place),
        CONSTRAINT fk_cast_trait_cast_member FOREIGN KEY (character_id) REFERENCES cast_member (id)
            ON DELETE CASCADE,
        CONSTRAINT ck_cast_trait_place CHECK (place BETWEEN 1 AND 50),
        CONSTRAINT ck_cast_trait_name CHECK (name ~ '[^[:space:]]'),
        CONSTRAINT ck_cast_trait_strength CHECK (strength BETWEEN 0 AND 1),
        CONSTRAINT ck_cast_trait_sentiment CHECK (sentiment BETWEEN -1 AND 1)
    )
    """,
    """
    CREATE TABLE cast_topic (
        character_id UUID NOT NULL,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        perspective TEXT NOT NULL,
        approach TEXT NOT NULL,
        personal_stake TEXT NOT NULL,
        sentiment FLOAT NOT NULL,
        exposure_now FLOAT NOT NULL,
        exposure_desired FLOAT NOT NULL,
        CONSTRAINT pk_cast_topic PRIMARY KEY (character_id, place),
        CONSTRAINT fk_cast_topic_cast_member FOREIGN KEY (character_id) REFERENCES cast_member (id)
            ON DELETE CASCADE,
        CONSTRAINT ck_cast_topic_place CHECK (place BETWEEN 1 AND 50),
        CONSTRAINT ck_cast_topic_name CHECK (name ~ '[^[:space:]]'),
        CONSTRAINT ck_cast_topic_sentiment CHECK (sentiment BETWEEN -1 AND 1),
        CONSTRAINT ck_cast_topic_exposure CHECK (
            exposure_now BETWEEN 0 AND 1 AND exposure_desired BETWEEN 0 AND 1
        )
    )
    """,
    f"""
    CREATE TABLE cast_card (
        character_id UUID NOT NULL,
        file_name TEXT NOT NULL,
        content BYTEA NOT NULL,
        file_hash TEXT NOT NULL,
        CONSTRAINT pk_cast_card PRIMARY KEY (character_id),
        CONSTRAINT fk_cast_card_cast_member FOREIGN KEY (character_id) REFERENCES cast_member (id)
            ON DELETE CASCADE,
        CONSTRAINT ck_cast_card_content CHECK ({_FILE})
    )
    """,
    f"""
    CREATE TABLE lorebook (
        id UUID NOT NULL,
        name TEXT NOT NULL,
        name_key TEXT,
        groups TEXT[] NOT NULL,
        entry_count INTEGER NOT NULL,
        format TEXT NOT NULL,
        file_name TEXT NOT NULL,
        content BYTEA NOT NULL,
        file_hash TEXT NOT NULL,
        archived_at TIMESTAMP WITH TIME ZONE,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        version INTEGER NOT NULL,
        CONSTRAINT pk_lorebook PRIMARY KEY (id),
        CONSTRAINT uq_lorebook_name_key UNIQUE (name_key),
        CONSTRAINT ck_lorebook_name CHECK (name ~ '[^[:space:]]'),
        CONSTRAINT ck_lorebook_name_key CHECK ((name_key IS NULL) = (archived_at IS NOT NULL)),
        CONSTRAINT ck_lorebook_groups CHECK (cardinality(groups) <= 20),
        CONSTRAINT ck_lorebook_entry_count CHECK (entry_count >= 0),
        CONSTRAINT ck_lorebook_content CHECK ({_FILE}),
        CONSTRAINT ck_lorebook_version CHECK (version >= 1),
        CONSTRAINT ck_lorebook_times CHECK (
            created_at {_TIME} AND updated_at {_TIME} AND archived_at {_TIME}
        )
    )
    """,
    f"""
    CREATE TABLE book (
        id UUID NOT NULL,
        title TEXT NOT NULL,
        name_key TEXT,
        author TEXT NOT NULL,
        description TEXT NOT NULL,
        archived_at TIMESTAMP WITH TIME ZONE,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        version INTEGER NOT NULL,
        CONSTRAINT pk_book PRIMARY KEY (id),
        CONSTRAINT uq_book_name_key UNIQUE (name_key),
        CONSTRAINT ck_book_title CHECK (title ~ '[^[:space:]]'),
        CONSTRAINT ck_book_name_key CHECK ((name_key IS NULL) = (archived_at IS NOT NULL)),
        CONSTRAINT ck_book_version CHECK (version >= 1),
        CONSTRAINT ck_book_times CHECK (created_at {_TIME} AND updated_at {_TIME} AND archived_at {_TIME})
    )
    """,
    """
    CREATE TABLE book_chapter (
        session_id UUID NOT NULL,
        book_id UUID NOT NULL,
        place INTEGER NOT NULL,
        CONSTRAINT pk_book_chapter PRIMARY KEY (session_id),
        CONSTRAINT fk_book_chapter_session FOREIGN KEY (session_id) REFERENCES session (id)
            ON DELETE CASCADE,
        CONSTRAINT fk_book_chapter_book FOREIGN KEY (book_id) REFERENCES book (id) ON DELETE CASCADE,
        CONSTRAINT ck_book_chapter_place CHECK (place >= 1)
    )
    """,
    "CREATE INDEX ix_book_chapter_book ON book_chapter (book_id, place)",
)

_LINE = (
    'strict $.lines[*] ? (@.text.type() == "string" && @.text != "" && @.chapter >= 1'
    ' && @.known_to.type() == "array" && @.is_pinned.type() == "boolean" && @.is_struck.type() == "boolean"'
    ' && (@.kind == "canon" || @.kind == "thread" || @.kind == "place" || @.kind == "relation"'
    ' || @.kind == "knowledge"))'
)
CARRIED = f"""
    ALTER TABLE tab1_input
        ADD COLUMN carried JSONB NOT NULL DEFAULT '{{}}',
        ADD CONSTRAINT ck_tab1_input_carried CHECK (
            carried = '{{}}' OR CASE WHEN jsonb_typeof(carried -> 'lines') = 'array'
            THEN jsonb_array_length(carried -> 'lines') BETWEEN 1 AND 500
            AND jsonb_array_length(jsonb_path_query_array(carried, '{_LINE}'))
            = jsonb_array_length(carried -> 'lines') ELSE false END
        )
"""

ARCHIVED_FIRST = ("cast_member", "lorebook", "book")


def upgrade() -> None:
    for statement in (*TABLES, CARRIED):
        op.execute(statement)
    for table in ARCHIVED_FIRST:
        op.execute(
            f"CREATE TRIGGER keep_unless_archived BEFORE DELETE ON {table} FOR EACH ROW"
            " WHEN (OLD.archived_at IS NULL)"
            " EXECUTE FUNCTION storyengine_refuse('only what is archived is deleted')"
        )
        op.execute(
            f"CREATE TRIGGER keep_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
            " EXECUTE FUNCTION storyengine_refuse('tables are never emptied')"
        )
