"""Makes the words of the memory bank of composed text (NFC): “é” is found as one character and as two.

Items stay as they are written. Words of items that have accents as characters of their own are made again.
"""

from alembic import op

revision: str = "story_0031"
down_revision: str | None = "story_0030"
branch_labels: str | None = None
depends_on: str | None = None

# Unicode can be composed in a database of UTF-8 alone; one in another encoding has its own single form.
COMPOSED = """
    CREATE FUNCTION storyengine_composed(written text) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN getdatabaseencoding() = 'UTF8' THEN normalize(written, NFC) ELSE written END
    $$
"""
# In its text JSON has a new line as a letter behind a backslash, which an accent after it must not reach.
COMPOSED_JSON = r"""
    CREATE OR REPLACE FUNCTION storyengine_composed(written jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN storyengine_composed(written::text) = written::text THEN written
            ELSE storyengine_composed(
                regexp_replace(written::text, '(?<!\\)((\\\\)*)\\([bfnrt]|u[0-9a-f]{4})', '\1 ', 'g')
            )::jsonb END
    $$
"""
WORDS = """
    CREATE OR REPLACE FUNCTION storyengine_words(item bank_item, config regconfig) RETURNS text[]
    LANGUAGE sql STABLE AS $$
        SELECT tsvector_to_array(
            to_tsvector(config, told)
            || to_tsvector(
                'pg_catalog.simple', regexp_replace(told, '\\m[^[:upper:][:space:]]\\S*', '', 'g')
            )
            || jsonb_to_tsvector(config, storyengine_composed(item.details), '["string"]')
            || jsonb_to_tsvector(
                config,
                storyengine_composed(jsonb_path_query_array(item.evidence, '$[*].words')),
                '["string"]'
            )
        )
        FROM storyengine_composed(concat_ws(' ', item.name, item.text)) AS told
    $$
"""
_ITEMS = """
    bank_item AS item
    JOIN session ON session.id = item.session_id
    CROSS JOIN concat_ws(' ', item.name, item.text, item.details::text, item.evidence::text) AS told
    CROSS JOIN unnest(storyengine_words(item, ('pg_catalog.' || session.language)::regconfig)) AS made
    WHERE told <> storyengine_composed(told)
"""
DELETE = f"""
    DELETE FROM bank_word USING (SELECT item.session_id, item.item_id, made FROM {_ITEMS}) AS old
    WHERE bank_word.session_id = old.session_id AND bank_word.item_id = old.item_id
        AND bank_word.word = old.made
"""
INSERT = f"""
    INSERT INTO bank_word (session_id, word, item_id)
    SELECT item.session_id, made, item.item_id FROM {_ITEMS}
    ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    for statement in (COMPOSED, COMPOSED_JSON, DELETE, WORDS, INSERT):
        op.execute(statement)
