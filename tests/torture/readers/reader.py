"""An independent reader of the database: plain SQL, none of our store, and the rules of design 4 to 6.

It is asked after every kill, before anything is repaired, and remembers what it has seen: what was stored
once must be there, unchanged, at every later look.
"""

import hashlib
from collections import Counter
from collections.abc import Collection
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from tests.torture.readers.reader_of_bank import check_bank
from tests.torture.readers.reader_of_replies import check_missing, check_replies

Connection = psycopg.Connection[TupleRow]

_OPEN = ("pending", "processing")
_FINISHED = ("ENDED", "NARRATING")
_LONG_PART = 40_000
"""Characters of prompts and replies that may be summarised before their chunk is full."""
_BESIDE = (
    *("assist", "afterthought", "heartbeat", "gaps", "ceremony", "condense"),
    *("extraction", "embedding"),
)
"""Kinds that run beside the play."""
_GOOD: LiteralString = """
SELECT request_id::text, kind FROM llm_artifact answer
JOIN llm_request USING (session_id, request_id)
WHERE session_id = %(id)s AND answer.error_code IS NULL AND NOT (kind = 'reply' AND EXISTS (
    SELECT FROM llm_artifact again WHERE again.session_id = answer.session_id
    AND (again.request_id, again.attempt) = (answer.request_id, answer.attempt)
    AND again.call > answer.call AND again.error_code IS NULL
))
"""
"""Answers to requests, without replies that only repeated something and were asked for once more at once."""
_MORE_ANSWERS = (
    *("summary", "narrative", "afterthought", "heartbeat", "ceremony", "condense"),
    *("extraction", "embedding"),
)
"""Kinds of which a request has more answers than one, or none and is done all the same."""
_STATE_OF = {"LOCKING": "lock", "SUMMARIZING": "summary", "NARRATING": "narrative"}
_KEPT: dict[str, LiteralString] = {
    "event": "SELECT session_id, event_id, md5(to_jsonb(event)::text) FROM event",
    "memory block": "SELECT session_id, block_id, md5(to_jsonb(memory_block)::text) FROM memory_block",
    "condensed memory": (
        "SELECT session_id, condensed_id, md5(to_jsonb(condensed_memory)::text) FROM condensed_memory"
    ),
    "version of an item": (
        "SELECT session_id, (item_id, version)::text, md5(to_jsonb(bank_revision)::text) FROM bank_revision"
    ),
    "draft": "SELECT session_id, draft_id, md5(to_jsonb(narrative_draft)::text) FROM narrative_draft",
    "artifact": "SELECT session_id, artifact_id, md5(to_jsonb(llm_artifact)::text) FROM llm_artifact",
}
_TEXTS: LiteralString = """
SELECT text FROM event WHERE role <> 'agent' OR metadata->>'origin' = 'corrected'
UNION ALL SELECT content->>'text' FROM bank_revision
UNION ALL SELECT text FROM secret
UNION ALL SELECT text FROM llm_request WHERE state IN ('pending', 'processing', 'failed')
UNION ALL SELECT text FROM unsent_text
UNION ALL SELECT world FROM tab1_input UNION ALL SELECT chapter FROM tab1_input
UNION ALL SELECT payload->>'correction' FROM memory_block WHERE type = 'canon_correction'
UNION ALL SELECT jsonb_path_query(blocks, '$[*].text') #>> '{}' FROM prompt_blocks
UNION ALL SELECT title FROM session UNION ALL SELECT definition FROM session
"""

_PARTIAL: LiteralString = (
    "SELECT metadata->>'request_id' FROM event WHERE session_id = %(id)s AND metadata->>'origin' = 'partial'"
)
"""Requests whose answer broke off, and was kept as far as it came."""
_LOG: LiteralString = """
SELECT prompt_index, take, ordinal, role, slot, text, metadata->>'request_id', metadata ? 'unasked_after',
    metadata->>'origin' FROM event WHERE session_id = %(id)s ORDER BY 1, 2, 3
"""
_CALLED: LiteralString = """
SELECT request_id::text, kind, state, slot, then_slots, follows, continues, to_prompt, text
FROM llm_request WHERE session_id = %(id)s
"""
_HEARD: LiteralString = """
SELECT DISTINCT event.prompt_index + CASE role WHEN 'system' THEN 1 ELSE 0 END, audience
FROM canon JOIN event USING (session_id, prompt_index, take) WHERE session_id = %(id)s
"""
"""With which prompt something is summarised, and who heard it."""
_LABELS: LiteralString = """
SELECT block.from_prompt, block.to_prompt, block.audience
FROM memory_canon JOIN memory_block block USING (session_id, block_id)
WHERE session_id = %(id)s AND type = 'turn_delta' ORDER BY 2, block.ordinal
"""
_MADE: LiteralString = (
    "SELECT block_id FROM memory_block WHERE session_id = %(id)s AND type = 'turn_delta' AND NOT is_by_gm"
)
_UNMADE: LiteralString = """
SELECT from_prompt, to_prompt FROM llm_request made
WHERE session_id = %(id)s AND kind = 'summary' AND state = 'done' AND NOT EXISTS (
    SELECT FROM llm_artifact JOIN llm_request earlier USING (session_id, request_id)
    WHERE session_id = made.session_id AND earlier.kind = 'summary' AND llm_artifact.error_code IS NULL
    AND (earlier.from_prompt, earlier.to_prompt) = (made.from_prompt, made.to_prompt)
)
"""
_DEAF: LiteralString = """
SELECT reply.event_id FROM event reply JOIN event asked USING (session_id, prompt_index, take)
WHERE session_id = %(id)s AND reply.role = 'agent' AND asked.role = 'user'
    AND (reply.audience <> asked.audience OR (reply.audience >> (reply.slot - 1)) & 1 = 0)
"""
_UNTOLD: LiteralString = """
SELECT told.number FROM (
    SELECT (metadata->>'secret')::int AS number, min(event.text) AS text, count(*) - count(DISTINCT audience)
        AS twice
    FROM canon JOIN event USING (session_id, prompt_index, take)
    WHERE session_id = %(id)s AND role = 'system' AND metadata ? 'secret' GROUP BY 1
) told LEFT JOIN secret ON secret.session_id = %(id)s AND secret.number = told.number
WHERE secret.text IS DISTINCT FROM told.text OR twice > 0
"""


class Reader:
    """Looks at one database again and again."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Any, Any], str] = {}
        self.looks = 0
        self.rows = 0
        """Rows that were found again unchanged, over all looks."""

    def check(self, url: str, texts: Collection[str] = (), *, only: UUID | None = None) -> int:
        """Raise AssertionError when a rule is broken; return how many characters of `texts` are gone.

        `only` names the session to hold against the rules in a database that other tests share: one that
        was restored from a save slot has no requests of its own.
        """
        with psycopg.connect(url, connect_timeout=30) as connection:
            if not _is_made(connection):
                return sum(map(len, texts))
            for (session_id,) in connection.execute("SELECT id FROM session ORDER BY id").fetchall():
                if only in (None, session_id):
                    check_session(connection, session_id)
            _check_contents(connection)
            _check_scripts(connection)
            self._check_kept(connection)
            stored = "\n".join(text for (text,) in connection.execute(_TEXTS).fetchall())
        self.looks += 1
        return sum(len(text) for text in set(texts) if text not in stored)

    def _check_kept(self, connection: Connection) -> None:
        """Check that appended rows are there, and unchanged."""
        now = {
            (table, session_id, row_id): digest
            for table, query in _KEPT.items()
            for session_id, row_id, digest in connection.execute(query).fetchall()
        }
        gone = {key: digest for key, digest in self._seen.items() if now.get(key) != digest}
        assert not gone, f"stored once, and gone or changed: {list(gone)[:3]}"
        self.rows += len(self._seen)
        self._seen = now


def _is_made(connection: Connection) -> bool:
    [made] = connection.execute("SELECT to_regclass('public.session') IS NOT NULL").fetchone() or (False,)
    return bool(made)


def check_session(connection: Connection, session_id: object, *, may_be_late: bool = False) -> None:
    """Hold one session against the rules; every transaction left it whole, so any instant must do.

    `may_be_late` says that another window took the session while a call was under way: the answer to it is
    kept on record, though the prompt was given back and asked again.
    """

    def rows(query: LiteralString) -> list[TupleRow]:
        return connection.execute(query, {"id": session_id}).fetchall()

    [(state, prompt_index, boundary, is_locked, is_ending, chunk)] = rows(
        "SELECT state, prompt_index, boundary, tab1_locked, is_ending, chunk_size"
        " FROM session WHERE id = %(id)s"
    )
    called = rows(_CALLED)
    log = rows(_LOG)
    check_replies(log, called)
    events = rows(
        "SELECT prompt_index, ordinal, role, slot, text FROM canon"
        " JOIN event USING (session_id, prompt_index, take) WHERE session_id = %(id)s"
        " AND prompt_index <= (SELECT prompt_index FROM session WHERE id = %(id)s) ORDER BY 1, 2"
    )
    places = [(index, ordinal) for index in range(1, prompt_index + 1) for ordinal in (0, 1)]
    told = [event[:2] for event in events if event[0] and event[1] < 2]
    assert told == places, "the pointer counts prompts that have their reply"
    assert [event[:2] for event in events] == _without_gaps(events), "lines follow what they belong to"
    blocks = rows(
        "SELECT type, block.from_prompt, block.to_prompt FROM memory_canon"
        " JOIN memory_block block USING (session_id, block_id)"
        " WHERE session_id = %(id)s AND block.ordinal = 0 ORDER BY 2"
    )
    _check_memory(blocks, state, prompt_index, boundary, is_locked)
    _check_chunks([(first, last) for _, first, last in blocks[1:]], events, state, chunk)
    corrections = rows(
        "SELECT to_prompt, ordinal FROM memory_canon WHERE session_id = %(id)s AND ordinal > 0 ORDER BY 1, 2"
    )
    _check_corrections(corrections, {end for _, _, end in blocks})
    _check_requests(Counter((kind, request_state) for _, kind, request_state, *_ in called), state)
    check_missing(called, [event for event in events if event[0] == prompt_index], prompt_index, boundary)
    _check_audiences(rows(_HEARD), rows(_LABELS))
    assert rows(_DEAF) == [], "the character that speaks hears itself, and all that hear the prompt"
    assert rows(_UNTOLD) == [], "a reveal is the text of a secret, told once to those that it is told to"
    good = rows(_GOOD)
    answers = sum(kind == "summary" for _, kind in good)
    assert may_be_late or answers <= len(rows(_MADE)), "every delta that was paid for is stored, once"
    answered = Counter(request_id for request_id, kind in good if kind not in _MORE_ANSWERS)
    done = {request_id: kind for request_id, kind, held, *_ in called if held == "done"}
    assert rows(_UNMADE) == [], (
        "a summary that is done has an answer on record, its own or that of an earlier one"
    )
    made = {request_id for request_id, kind in done.items() if kind not in _MORE_ANSWERS}
    made -= {request_id for (request_id,) in rows(_PARTIAL)}
    assert made <= set(answered), "a request is done when an answer to it is on record"
    assert may_be_late or set(answered) == made, "an answer is on record exactly when its request is done"
    assert may_be_late or all(count == 1 for count in answered.values()), "no answer was stored twice"
    decided = Counter(request_id for request_id, kind in good if kind == "afterthought")
    added = {request_id for *_, request_id, is_afterthought, _ in log if is_afterthought}
    assert all(decided[request_id] >= 2 for request_id in added), "it decided, and then it said it"
    calls = rows(
        "SELECT call.attempt <= asked.attempts, call.request_id, call.attempt, call.call"
        " FROM llm_artifact call JOIN llm_request asked USING (session_id, request_id)"
        " WHERE session_id = %(id)s"
    )
    assert all(is_counted for is_counted, *_ in calls), "a call is on record of a try that its request counts"
    assert len(calls) == len(set(calls)), "each call is on record once"
    versions = rows("SELECT version FROM narrative_draft WHERE session_id = %(id)s ORDER BY 1")
    assert [version for (version,) in versions] == list(range(1, len(versions) + 1))
    assert not versions or state in ("ENDED", "NARRATING", "RESETTING")
    assert not is_ending or state in ("SUMMARIZING", "ACTIVE")
    check_bank(connection, session_id)


def _without_gaps(events: list[TupleRow]) -> list[tuple[int, int]]:
    """Return the places of events as they must be: at each prompt from 0 on, and before the first from 0."""
    counts = Counter(index for index, *_ in events)
    return [(index, ordinal) for index in sorted(counts) for ordinal in range(counts[index])]


def _check_audiences(heard: list[TupleRow], labels: list[TupleRow]) -> None:
    """A chunk in memory has one delta for each audience that heard something of it, and no other."""
    for first, last in {(first, last) for first, last, _ in labels}:
        wanted = {audience for index, audience in heard if first <= index <= last}
        found = [audience for *place, audience in labels if place == [first, last]]
        assert sorted(found) == sorted(wanted), f"{first} to {last} was heard by {wanted}, and is for {found}"
        widest = max(found, key=int.bit_count)
        assert found[0].bit_count() == widest.bit_count(), "the chain of memory is of those who heard most"


def _check_corrections(corrections: list[TupleRow], ends: set[int]) -> None:
    assert {place for place, _ in corrections} <= ends, "a correction stands behind a lock or a delta"
    for place, count in Counter(place for place, _ in corrections).items():
        numbers = [ordinal for at, ordinal in corrections if at == place]
        assert numbers == list(range(1, count + 1)), "the corrections at one place are numbered without a gap"


def _check_memory(
    blocks: list[TupleRow], state: str, prompt_index: int, boundary: int, is_locked: bool
) -> None:
    assert is_locked == (state not in ("DRAFT_TAB1", "LOCKING")) or state == "RESETTING"
    assert is_locked == bool(blocks), "locked together with its memory, or not at all"
    assert not blocks or blocks[0] == ("world_chapter_lock", 0, 0)
    deltas = [(first, last) for _, first, last in blocks[1:]]
    assert [first for first, _ in deltas] == [1, *(last + 1 for _, last in deltas)][: len(deltas)]
    assert boundary == (deltas[-1][1] if deltas else 0) <= prompt_index
    if state in _FINISHED:
        assert boundary == prompt_index, "an ended chapter is in memory whole"


def _check_chunks(deltas: list[tuple[int, int]], events: list[TupleRow], state: str, chunk: int) -> None:
    """Each summary is of a whole chunk; shorter are the last of an ended chapter and parts of a long one."""
    for first, last in deltas:
        assert (first - 1) // chunk == (last - 1) // chunk, "a summary is of one chunk"
        if last % chunk and not (state in _FINISHED and (first, last) == deltas[-1]):
            length = sum(len(text) for index, *_, text in events if first <= index <= last)
            assert length >= _LONG_PART, "a chunk of short texts was summarised before it was full"


def _check_requests(held: Counter[tuple[str, str]], state: str) -> None:
    working = [kind for kind, of in held.elements() if of == "processing"]
    beside = sum(kind in _BESIDE for kind in working)
    assert beside <= 1, "one request beside the play at a time"
    assert len(working) - beside <= 1, "one request of the play at a time"
    for where, kind in _STATE_OF.items():
        is_open = sum(held[kind, of] for of in _OPEN)
        assert is_open == (state == where), f"{state} with {is_open} open requests for a {kind}"
    assert not any(held["test", of] for of in (*_OPEN, "failed")), "a test call is stored with its outcome"


def _check_scripts(connection: Connection) -> None:
    """A script that is played again goes on in its session; the torture never asks for another."""
    twice = connection.execute(
        "SELECT script_key FROM session WHERE script_key <> '' AND archived_at IS NULL"
        " GROUP BY 1 HAVING count(*) > 1"
    ).fetchall()
    assert not twice, "a script has two open sessions"


def _check_contents(connection: Connection) -> None:
    """Texts are what their hashes say, and every artifact finds its own."""
    for digest, text in connection.execute("SELECT hash, text FROM llm_content").fetchall():
        assert hashlib.sha256(text.encode()).hexdigest() == digest
    missing = connection.execute(
        "SELECT count(*) FROM llm_artifact LEFT JOIN llm_content"
        " ON llm_content.session_id = llm_artifact.session_id AND hash = input_ref WHERE hash IS NULL"
    ).fetchone()
    assert missing == (0,)


def digest_of(url: str) -> str:
    """Return a hash of everything that the database holds, but for who writes."""
    hasher = hashlib.sha256()
    with psycopg.connect(url, connect_timeout=30) as connection:
        tables = connection.execute(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        for (table,) in tables:
            found = connection.execute(
                psycopg.sql.SQL(
                    "SELECT md5(coalesce(string_agg(row, '|' ORDER BY row), '')) FROM"
                    " (SELECT (to_jsonb(t) - '{{writer_epoch,writer_label,writer_since}}'::text[])::text"
                    " AS row FROM {} AS t) AS rows"
                ).format(psycopg.sql.Identifier(table))
            ).fetchone()
            hasher.update(f"{table} {found}".encode())
    return hasher.hexdigest()
