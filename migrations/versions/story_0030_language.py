"""Adds the language of a story, in which the words of its memory bank are made, and an index of names.

Chapters that were made before are English, as their words are.
"""

from alembic import op

revision: str = "story_0030"
down_revision: str | None = "story_0029"
branch_labels: str | None = None
depends_on: str | None = None

LANGUAGES = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german"),
    *("greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian"),
    *("portuguese", "romanian", "russian", "serbian", "simple", "spanish", "swedish", "tamil", "turkish"),
    "yiddish",
)
COLUMN = (
    "ALTER TABLE session ADD COLUMN language TEXT NOT NULL DEFAULT 'english' CONSTRAINT ck_session_language"
    f" CHECK (language IN ({', '.join(repr(one) for one in LANGUAGES)}))"
)

FUNCTIONS = (
    """
    CREATE FUNCTION storyengine_words(item bank_item, config regconfig) RETURNS text[]
    LANGUAGE sql STABLE AS $$
        SELECT tsvector_to_array(
            to_tsvector(config, concat_ws(' ', item.name, item.text))
            || to_tsvector(
                'pg_catalog.simple',
                regexp_replace(concat_ws(' ', item.name, item.text), '\\m[^[:upper:][:space:]]\\S*', '', 'g')
            )
            || jsonb_to_tsvector(config, item.details, '["string"]')
            || jsonb_to_tsvector(config, jsonb_path_query_array(item.evidence, '$[*].words'), '["string"]')
        )
    $$
    """,
    # The lock has a change of the language wait, which then makes the words of this item again.
    """
    CREATE OR REPLACE FUNCTION storyengine_index_words() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        config regconfig;
    BEGIN
        SELECT ('pg_catalog.' || language)::regconfig INTO config FROM session WHERE id = NEW.session_id
            FOR SHARE;
        IF TG_OP = 'UPDATE' THEN
            DELETE FROM bank_word WHERE session_id = OLD.session_id AND item_id = OLD.item_id
                AND word = ANY (storyengine_words(OLD, config));
        END IF;
        INSERT INTO bank_word (session_id, word, item_id)
            SELECT NEW.session_id, word, NEW.item_id FROM unnest(storyengine_words(NEW, config)) AS word
            ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION storyengine_change_language() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        config CONSTANT regconfig := 'pg_catalog.' || NEW.language;
    BEGIN
        DELETE FROM bank_word WHERE session_id = NEW.id;
        INSERT INTO bank_word (session_id, word, item_id)
            SELECT item.session_id, word, item.item_id
            FROM bank_item AS item, unnest(storyengine_words(item, config)) AS word
            WHERE item.session_id = NEW.id;
        RETURN NULL;
    END $$
    """,
    "DROP FUNCTION storyengine_words(bank_item)",
)
TRIGGER = (
    "CREATE TRIGGER change_language AFTER UPDATE OF language ON session FOR EACH ROW"
    " WHEN (NEW.language <> OLD.language) EXECUTE FUNCTION storyengine_change_language()"
)
NAMES = "CREATE INDEX ix_bank_item_named ON bank_item (session_id) WHERE kind IN ('person', 'place')"


def upgrade() -> None:
    for statement in (COLUMN, *FUNCTIONS, TRIGGER, NAMES):
        op.execute(statement)
