"""Makes words of scripts that have no spaces between words, by which the memory bank finds their items.

A run of Chinese or Japanese was one word, and so was one of Thai, Lao, Burmese or Khmer. Now it is each two
characters beside each other, or each three where words are spelled. Items stay as they are written.
"""

from alembic import op

revision: str = "story_0034"
down_revision: str | None = "story_0033"
branch_labels: str | None = None
depends_on: str | None = None

SPELLED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
CJK = r"\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# A database in another encoding than UTF-8 has no such expressions.
SPREAD = f"""
    CREATE FUNCTION storyengine_spread(written text) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN getdatabaseencoding() = 'UTF8' THEN
            CASE WHEN written ~ '[{SPELLED}{CJK}]' THEN concat_ws(' ',
                regexp_replace(written, '[{SPELLED}{CJK}]+', ' ', 'g'),
                (
                    SELECT string_agg(substr(run[1], place, length), ' ')
                    FROM regexp_matches(written, '[{SPELLED}]+|[{CJK}]+', 'g') AS run
                    CROSS JOIN LATERAL (
                        SELECT CASE WHEN run[1] ~ '^[{CJK}]' THEN 2 ELSE 3 END AS length
                    ) AS piece
                    CROSS JOIN LATERAL
                        generate_series(1, greatest(1, char_length(run[1]) - length + 1)) AS place
                )
            ) ELSE written END
        ELSE written END
    $$
"""
WORDS = """
    CREATE OR REPLACE FUNCTION storyengine_words(item bank_item, config regconfig) RETURNS text[]
    LANGUAGE sql STABLE AS $$
        SELECT tsvector_to_array(
            to_tsvector(config, concat_ws(' ', told, detailed))
            || to_tsvector(
                'pg_catalog.simple', regexp_replace(told, '\\m[^[:upper:][:space:]]\\S*', '', 'g')
            )
        )
        FROM storyengine_spread(storyengine_composed(concat_ws(' ', item.name, item.text))) AS told
        CROSS JOIN LATERAL (
            SELECT storyengine_spread(storyengine_composed(string_agg(one #>> '{}', ' '))) AS detailed
            FROM jsonb_path_query(
                jsonb_build_array(item.details, jsonb_path_query_array(item.evidence, '$[*].words')),
                'strict $.** ? (@.type() == "string")'
            ) AS one
        ) AS of_json
    $$
"""
_ITEMS = f"""
    bank_item AS item
    JOIN session ON session.id = item.session_id
    CROSS JOIN concat_ws(' ', item.name, item.text, item.details::text, item.evidence::text) AS told
    CROSS JOIN unnest(storyengine_words(item, ('pg_catalog.' || session.language)::regconfig)) AS made
    WHERE CASE WHEN getdatabaseencoding() = 'UTF8' THEN told ~ '[{SPELLED}{CJK}]' ELSE false END
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
    for statement in (DELETE, SPREAD, WORDS, "DROP FUNCTION storyengine_composed(jsonb)", INSERT):
        op.execute(statement)
