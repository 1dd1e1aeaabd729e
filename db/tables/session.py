"""The session, what the GM sets up for it, save points, unsent texts, secrets, prompt blocks, lorebooks."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, SmallInteger, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field

from core.domain.session.carry_over import MOST_LINES, CarryKind
from core.domain.session.language import Language
from core.domain.session.lore import LONGEST_COPY, LONGEST_SEED, MOST_BOOKS, MOST_ENTRIES
from core.domain.session.profile import LONGEST_MODEL, MOST_ALIASES, MOST_GROUPS, MOST_TAGS
from core.domain.session.prompt_block import (
    DEFAULT_VARIANT,
    GREATEST_ORDER,
    LEAST_ORDER,
    MOST_PROMPT_BLOCKS,
    MOST_VARIANTS,
)
from core.domain.session.session import MOST_HINT_PROMPTS
from core.domain.session.session_state import SessionState
from core.domain.story.secret import MOST_SECRETS
from db.tables import columns as column
from db.tables.columns import Row

_PROMPT_BLOCK = (
    f"strict $[*] ? (@.id >= 1 && @.id <= {MOST_PROMPT_BLOCKS}"
    f" && @.order >= {LEAST_ORDER} && @.order <= {GREATEST_ORDER}"
    ' && @.name != "" && @.text.type() == "string" && @.is_on.type() == "boolean"'
    ' && (@.place == "rules" || @.place == "material"))'
)
"""The JSON path of those entries of a list that are prompt blocks."""

_KINDS = " || ".join(f'@.kind == "{kind}"' for kind in CarryKind)
_CARRIED_LINE = (
    'strict $.lines[*] ? (@.text.type() == "string" && @.text != "" && @.chapter >= 1'
    ' && @.known_to.type() == "array" && @.is_pinned.type() == "boolean" && @.is_struck.type() == "boolean"'
    f" && ({_KINDS}))"
)
"""The JSON path of those lines from earlier chapters that are such lines."""
_PROFILE = (
    'strict $.* ? ((@.character_id == null || @.character_id like_regex "^[0-9a-f-]{36}$")'
    ' && @.short_description.type() == "string" && @.group.type() == "string" && @.group != ""'
    f' && @.aliases.type() == "array" && @.aliases.size() <= {MOST_ALIASES}'
    f' && @.groups_visible.type() == "array" && @.groups_visible.size() < {MOST_GROUPS}'
    ' && (!exists(@.keyvalue() ? (@.key == "model"))'
    f' || @.model like_regex "^.{{1,{LONGEST_MODEL}}}$")'
    ' && (!exists(@.keyvalue() ? (@.key == "tags"))'
    f' || (@.tags.type() == "array" && @.tags.size() <= {MOST_TAGS})))'
)
"""The JSON path of those profiles of slots that are such."""


class SessionRow(Row, table=True):
    """One chapter. `writer_*` identify the writer: a commit with an older epoch is refused.

    `script_run` numbers the sessions of one chapter script from 1, so that two created at once conflict.

    Two foreign keys are checked at commit: the last prompt is canon, and once tab 1 is locked, memory ends at
    the boundary (0 is the lock block).
    """

    __tablename__ = "session"
    __table_args__ = (
        column.one_of("state", SessionState),
        CheckConstraint("prompt_index >= 0", name="prompt_index"),
        CheckConstraint("boundary BETWEEN 0 AND prompt_index", name="boundary"),
        CheckConstraint(
            "cardinality(slots) BETWEEN 1 AND 7 AND slots <@ '{1,2,3,4,5,6,7}'::smallint[]", name="slots"
        ),
        CheckConstraint("next_slot BETWEEN 1 AND 7", name="next_slot"),
        CheckConstraint("chunk_size > 0", name="chunk_size"),
        CheckConstraint("target_words > 0", name="target_words"),
        CheckConstraint("(script_key = '') = (script_run IS NULL) AND script_run >= 1", name="script_run"),
        column.times("created_at", "updated_at", "archived_at", "writer_since"),
        # The only unique key across sessions; a server that shards by session needs it elsewhere.
        UniqueConstraint("script_key", "script_run"),
        CheckConstraint("canon_version >= 0", name="canon_version"),
        CheckConstraint(column.is_audience("present"), name="present"),
        CheckConstraint("jsonb_typeof(away) = 'object'", name="away"),
        CheckConstraint(column.is_audience("may_be_silent"), name="may_be_silent"),
        CheckConstraint(f"hint_after BETWEEN 0 AND {MOST_HINT_PROMPTS}", name="hint_after"),
        CheckConstraint(column.is_audience("may_add"), name="may_add"),
        column.one_of("language", Language),
        CheckConstraint("jsonb_typeof(private_pins) = 'object'", name="private_pins"),
        CheckConstraint(
            "branched_at >= 0 AND (branched_from IS NOT NULL OR branched_at = 0)", name="branched_at"
        ),
        column.links(["played_to"], "canon", ["prompt_index"], "fk_session_last_prompt", own_id="id"),
        column.links(["summarised_to"], "memory_canon", ["ends"], "fk_session_boundary", own_id="id"),
        # No index on updated_at: every commit changes it, and would pay more than the chapter list saves.
    )

    id: UUID = column.key()
    title: str = column.text()
    script_key: str = column.text()
    script_run: int | None = column.optional()
    state: str = column.text()
    is_ending: bool
    prompt_index: int
    boundary: int
    canon_version: int = Field(sa_column_kwargs={"server_default": text("0")})
    branched_from: UUID | None = column.optional()
    branched_at: int = Field(sa_column_kwargs={"server_default": text("0")})
    pinned: list[str] = column.array(Text, is_added=True)
    present: int = column.audience()
    away: dict[str, int] = Field(
        sa_type=cast(Any, JSONB()), sa_column_kwargs={"server_default": text("'{}'")}
    )
    may_be_silent: int = Field(sa_type=SmallInteger, sa_column_kwargs={"server_default": text("0")})
    hint_after: int = Field(sa_type=SmallInteger, sa_column_kwargs={"server_default": text("0")})
    adds_unasked: bool = Field(sa_column_kwargs={"server_default": text("false")})
    may_add: int = Field(sa_type=SmallInteger, sa_column_kwargs={"server_default": text("0")})
    keeps_bank: bool = Field(sa_column_kwargs={"server_default": text("false")})
    language: str = Field(sa_type=Text, sa_column_kwargs={"server_default": text("'english'")})
    private_pins: dict[str, int] = Field(
        sa_type=cast(Any, JSONB()), sa_column_kwargs={"server_default": text("'{}'")}
    )
    struck: list[str] = column.array(Text, is_added=True)
    slots: list[int] = column.array(SmallInteger)
    names: dict[str, str] = column.json()
    tab1_locked: bool
    next_slot: int = column.small()
    definition: str = column.text()
    target_words: int | None = column.optional()
    chunk_size: int
    limits: dict[str, int] = column.json()
    created_at: datetime = column.time()
    updated_at: datetime = column.time()
    archived_at: datetime | None = column.time(is_optional=True)
    writer_epoch: int = Field(sa_column_kwargs={"server_default": text("0")})
    writer_label: str = Field(sa_type=Text, sa_column_kwargs={"server_default": text("''")})
    writer_since: datetime | None = column.time(is_optional=True)
    played_to: int | None = column.generated("NULLIF(prompt_index, 0)")
    summarised_to: int | None = column.generated("CASE WHEN tab1_locked THEN boundary END")


class Tab1InputRow(Row, table=True):
    """The GM's texts on tab 1; a trigger refuses changes once the session is locked."""

    __tablename__ = "tab1_input"
    __table_args__ = (
        column.of_session(),
        CheckConstraint(
            "carried = '{}' OR CASE WHEN jsonb_typeof(carried -> 'lines') = 'array'"
            f" THEN jsonb_array_length(carried -> 'lines') BETWEEN 1 AND {MOST_LINES}"
            f" AND jsonb_array_length(jsonb_path_query_array(carried, '{_CARRIED_LINE}'))"
            " = jsonb_array_length(carried -> 'lines') ELSE false END",
            name="carried",
        ),
        CheckConstraint(
            "CASE WHEN jsonb_typeof(profiles) = 'object'"
            " THEN profiles - '{1,2,3,4,5,6,7}'::text[] = '{}'"
            f" AND jsonb_array_length(jsonb_path_query_array(profiles, '{_PROFILE}'))"
            " = jsonb_array_length(jsonb_path_query_array(profiles, 'strict $.*')) ELSE false END",
            name="profiles",
        ),
    )

    session_id: UUID = column.key()
    world: str = column.text()
    chapter: str = column.text()
    identities: dict[str, str] = column.json()
    profiles: dict[str, object] = Field(
        sa_type=cast(Any, JSONB()), sa_column_kwargs={"server_default": text("'{}'")}
    )
    carried: dict[str, object] = Field(
        sa_type=cast(Any, JSONB()), sa_column_kwargs={"server_default": text("'{}'")}
    )


class SaveSlotRow(Row, table=True):
    """A save point: numbers 0 to 9 are a ring, 10 to 14 the GM's. `sha256` covers all of it."""

    __tablename__ = "save_slot"
    __table_args__ = (
        column.of_session(),
        column.one_of("state", SessionState),
        column.times("taken_at"),
        CheckConstraint("number BETWEEN 0 AND 14", name="number"),
        CheckConstraint("prompt_index >= 0", name="prompt_index"),
        CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'", name="sha256"),
    )

    session_id: UUID = column.key()
    number: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    label: str = column.text()
    taken_at: datetime = column.time()
    prompt_index: int
    state: str = column.text()
    document: dict[str, object] = column.json()
    sha256: str = column.text()


class UnsentTextRow(Row, table=True):
    """The unsent text in a slot's composer; may be empty."""

    __tablename__ = "unsent_text"
    __table_args__ = (column.of_session(), CheckConstraint("slot BETWEEN 1 AND 7", name="slot"))

    session_id: UUID = column.key()
    slot: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    text: str = column.text()


class SecretRow(Row, table=True):
    """One secret of a chapter; a trigger keeps it once the chapter is locked."""

    __tablename__ = "secret"
    __table_args__ = (
        column.of_session(),
        CheckConstraint(f"number BETWEEN 1 AND {MOST_SECRETS}", name="number"),
        CheckConstraint("text ~ '[^[:space:]]'", name="text"),
        CheckConstraint(column.is_audience("known_by", "reveal_to"), name="audiences"),
        CheckConstraint(f"cardinality(groups) <= {MOST_GROUPS}", name="groups"),
        CheckConstraint("(reveal_at IS NULL) = (reveal_to IS NULL) AND reveal_at >= 1", name="reveal"),
    )

    session_id: UUID = column.key()
    number: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    text: str = column.text()
    known_by: int = column.small()
    groups: list[str] = column.array(Text, is_added=True)
    reveal_at: int | None = column.optional()
    reveal_to: int | None = column.small(is_optional=True)


class PromptBlocksRow(Row, table=True):
    """The prompt blocks of a chapter and its variants, as one document; a chapter without any has no row."""

    __tablename__ = "prompt_blocks"
    __table_args__ = (
        column.of_session(),
        CheckConstraint(f"cardinality(variants) <= {MOST_VARIANTS}", name="variants"),
        CheckConstraint(f"variant = '{DEFAULT_VARIANT}' OR variant = ANY (variants)", name="variant"),
        CheckConstraint("length(blocks::text) <= 200000", name="length"),
        CheckConstraint(
            "CASE WHEN jsonb_typeof(blocks) = 'array'"
            f" THEN jsonb_array_length(blocks) <= {MOST_PROMPT_BLOCKS}"
            f" AND jsonb_array_length(jsonb_path_query_array(blocks, '{_PROMPT_BLOCK}'))"
            " = jsonb_array_length(blocks) ELSE false END",
            name="blocks",
        ),
    )

    session_id: UUID = column.key()
    variant: str = column.text()
    variants: list[str] = column.array(Text)
    blocks: list[dict[str, object]] = column.json()


class SessionLorebookRow(Row, table=True):
    """One lorebook of a chapter, its copy a content of it; `label` is the audience that may know it."""

    __tablename__ = "session_lorebook"
    __table_args__ = (
        column.of_session(),
        column.links(["copy_hash"], "llm_content", ["hash"], "fk_session_lorebook_copy"),
        Index("ix_session_lorebook_copy", "session_id", "copy_hash"),
        CheckConstraint(f"number BETWEEN 1 AND {MOST_BOOKS}", name="number"),
        CheckConstraint("name ~ '[^[:space:]]'", name="name"),
        CheckConstraint(f"cardinality(groups) <= {MOST_GROUPS}", name="groups"),
        CheckConstraint("owner BETWEEN 1 AND 7", name="owner"),
        CheckConstraint(column.is_audience("label"), name="label"),
        CheckConstraint(f"entry_count BETWEEN 0 AND {MOST_ENTRIES}", name="entry_count"),
        CheckConstraint(f"copy_length BETWEEN 1 AND {LONGEST_COPY}", name="copy_length"),
        CheckConstraint("file_hash ~ '^[0-9a-f]{64}$' AND copy_hash ~ '^[0-9a-f]{64}$'", name="hashes"),
        CheckConstraint(f"seed ~ '^[0-9A-Za-z]{{1,{LONGEST_SEED}}}$'", name="seed"),
    )

    session_id: UUID = column.key()
    number: int = Field(primary_key=True, sa_type=SmallInteger, sa_column_kwargs={"autoincrement": False})
    name: str = column.text()
    groups: list[str] = column.array(Text)
    owner: int | None = column.small(is_optional=True)
    label: int = column.small()
    entry_count: int
    file_hash: str = column.text()
    copy_hash: str = column.text()
    copy_length: int
    seed: str = column.text()
