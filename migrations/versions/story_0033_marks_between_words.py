"""Takes typographic marks for spaces between the words of the memory bank: “Kara” is found as Kara.

In a database with the character type C, as the private server makes it, every character beyond ASCII is a
letter for the text parser: “, ’, … or 。 became a part of the word beside it. Items stay as they are written.
"""

from alembic import op

revision: str = "story_0033"
down_revision: str | None = "story_0032"
branch_labels: str | None = None
depends_on: str | None = None

MARKS = (
    r"\u00a0\u00a1\u00ab\u00bb\u00bf\u055a-\u055f\u0589\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2000-\u200a\u2010-\u2029\u202f-\u205f\u3000-\u3003\u3008-\u3020\u3030\u30fb"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
"""Spaces and punctuation of all scripts, as ranges of a regular expression of the server."""
# A database in another encoding than UTF-8 has no such expressions.
COMPOSED = f"""
    CREATE OR REPLACE FUNCTION storyengine_composed(written text) RETURNS text LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN getdatabaseencoding() = 'UTF8'
            THEN regexp_replace(normalize(written, NFC), '[{MARKS}]', ' ', 'g') ELSE written END
    $$
"""
_ITEMS = f"""
    bank_item AS item
    JOIN session ON session.id = item.session_id
    CROSS JOIN concat_ws(' ', item.name, item.text, item.details::text, item.evidence::text) AS told
    CROSS JOIN unnest(storyengine_words(item, ('pg_catalog.' || session.language)::regconfig)) AS made
    WHERE CASE WHEN getdatabaseencoding() = 'UTF8' THEN told ~ '[{MARKS}]' ELSE false END
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
    for statement in (DELETE, COMPOSED, INSERT):
        op.execute(statement)
