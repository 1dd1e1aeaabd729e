"""Queries of the torture's reader on a memory bank: plain SQL, and the rules of design 15."""

from typing import Any, LiteralString

import psycopg
from psycopg.rows import TupleRow

_UNPROVED: LiteralString = """
SELECT item_id FROM bank_item item, jsonb_to_recordset(item.evidence)
    AS proof(prompt_index int, take int, ordinal int, words text, start int, "end" int)
LEFT JOIN event ON event.session_id = %(id)s AND (event.prompt_index, event.take, event.ordinal)
    = (proof.prompt_index, proof.take, proof.ordinal)
WHERE item.session_id = %(id)s AND (
    event.text IS NULL OR event.audience & item.label <> item.label
    OR substr(event.text, proof.start + 1, proof."end" - proof.start) <> proof.words)
UNION ALL SELECT item_id FROM bank_item
WHERE session_id = %(id)s AND origin <> 'gm' AND (evidence = '[]' OR take IS NULL)
"""
_VERSIONS: LiteralString = """
SELECT item_id, array_agg(kept.version ORDER BY kept.version), item.version
FROM bank_revision kept LEFT JOIN bank_item item USING (session_id, item_id)
WHERE session_id = %(id)s GROUP BY item_id, item.version
"""
_OTHERWISE: LiteralString = """
SELECT item_id FROM bank_item item LEFT JOIN bank_revision kept USING (session_id, item_id, version)
WHERE session_id = %(id)s AND (kept.content ->> 'text', kept.content ->> 'name', kept.content -> 'evidence',
    (kept.content ->> 'label')::int, kept.content ->> 'validation')
    IS DISTINCT FROM (item.text, item.name, item.evidence, item.label::int, item.validation)
"""
_TWICE: LiteralString = """
SELECT name, text FROM bank_item WHERE session_id = %(id)s AND origin <> 'gm'
GROUP BY name, text, kind, about, label, prompt_index, take, evidence HAVING count(*) > 1
"""
_WORDS: LiteralString = """
WITH made AS (
    SELECT item_id, word FROM session JOIN bank_item item ON session_id = id,
        unnest(storyengine_words(item, ('pg_catalog.' || language)::regconfig)) word WHERE id = %(id)s
), kept AS (SELECT item_id, word FROM bank_word WHERE session_id = %(id)s)
(TABLE made EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE made)
"""
_EARLY: LiteralString = """
SELECT item_id FROM bank_item JOIN llm_request USING (session_id, request_id)
WHERE session_id = %(id)s AND state <> 'done'
"""


def check_bank(connection: psycopg.Connection[TupleRow], session_id: object) -> None:
    """Raise AssertionError where an item has no proof or a gap in its versions, or is there twice."""

    def rows(query: LiteralString) -> list[Any]:
        return connection.execute(query, {"id": session_id}).fetchall()

    assert rows(_UNPROVED) == [], "the words of each proof are in the log, where all of the label heard them"
    for item_id, versions, newest in rows(_VERSIONS):
        assert versions == list(range(1, (newest or 0) + 1)), f"the versions of {item_id} have gaps"
    assert rows(_OTHERWISE) == [], "an item is its newest version"
    assert rows(_TWICE) == [], "no item is stored twice"
    assert rows(_EARLY) == [], "items are stored together with the outcome of their request"
    assert rows(_WORDS) == [], "items have the words of their texts, in the language of the chapter"
