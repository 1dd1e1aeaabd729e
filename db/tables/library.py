"""The library: characters, lorebooks and books. It belongs to no session, so its keys begin with its own ids.

Names are found by their keys, which are case-folded; what is archived has none, so its name is free again.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlmodel import Field

from core.domain.proposal import LONGEST_WHY, MOST_RECORDS, Occasion, ProposalState, ProposedPart
from core.domain.session.profile import MOST_ALIASES, MOST_GROUPS
from core.library.characters.checks import MOST_TOPICS, MOST_TRAITS
from core.library.refusal import LARGEST_FILE
from db.tables import columns as column
from db.tables.columns import Row


def _of_character() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["character_id"], ["cast_member.id"], ondelete="CASCADE")


def _is_file() -> CheckConstraint:
    return CheckConstraint(
        f"octet_length(content) BETWEEN 1 AND {LARGEST_FILE} AND file_hash = encode(sha256(content), 'hex')",
        name="content",
    )


def _has_key_unless_archived() -> CheckConstraint:
    return CheckConstraint("(name_key IS NULL) = (archived_at IS NOT NULL)", name="name_key")


def _records(name: str, least: int) -> str:
    return f"jsonb_typeof({name}) = 'array' AND jsonb_array_length({name}) BETWEEN {least} AND {MOST_RECORDS}"


class CastMemberRow(Row, table=True):
    """One character. The `imported_*` are what was made from its card, all of them or none."""

    __tablename__ = "cast_member"
    __table_args__ = (
        CheckConstraint("name ~ '[^[:space:]]'", name="name"),
        CheckConstraint(f"cardinality(aliases) <= {MOST_ALIASES}", name="aliases"),
        CheckConstraint(
            f"group_name ~ '[^[:space:]]' AND cardinality(groups_visible) < {MOST_GROUPS}", name="groups"
        ),
        CheckConstraint("is_paused OR paused_until IS NULL", name="pause"),
        CheckConstraint(
            "num_nulls(imported_name, imported_identity, imported_rest, file_hash) IN (0, 4)", name="imported"
        ),
        CheckConstraint("version >= 1", name="version"),
        column.times("created_at", "updated_at", "archived_at", "paused_until"),
    )

    id: UUID = column.key()
    name: str = column.text()
    aliases: list[str] = column.array(Text)
    short_description: str = column.text()
    identity: str = column.text()
    model: str = column.text()
    group_name: str = column.text()
    groups_visible: list[str] = column.array(Text)
    is_static: bool
    is_paused: bool
    paused_until: datetime | None = column.time(is_optional=True)
    archived_at: datetime | None = column.time(is_optional=True)
    imported_name: str | None = Field(sa_type=Text, nullable=True)
    imported_identity: str | None = Field(sa_type=Text, nullable=True)
    imported_rest: str | None = Field(sa_type=Text, nullable=True)
    file_hash: str | None = Field(sa_type=Text, nullable=True)
    created_at: datetime = column.time()
    updated_at: datetime = column.time()
    version: int


class CastNameRow(Row, table=True):
    """A name or another name of a character that is not archived: each means one character."""

    __tablename__ = "cast_name"
    __table_args__ = (_of_character(), Index("ix_cast_name_of", "character_id"))

    key: str = Field(primary_key=True, sa_type=Text)
    character_id: UUID


class CastTraitRow(Row, table=True):
    """One trait of a character; `place` is its place in the list, from 1."""

    __tablename__ = "cast_trait"
    __table_args__ = (
        _of_character(),
        CheckConstraint(f"place BETWEEN 1 AND {MOST_TRAITS}", name="place"),
        CheckConstraint("name ~ '[^[:space:]]'", name="name"),
        CheckConstraint("strength BETWEEN 0 AND 1", name="strength"),
        CheckConstraint("sentiment BETWEEN -1 AND 1", name="sentiment"),
    )

    character_id: UUID = column.key()
    place: int = column.key()
    name: str = column.text()
    description: str = column.text()
    strength: float = Field(sa_type=Float)
    sentiment: float = Field(sa_type=Float)


class CastTopicRow(Row, table=True):
    """One topic of a character; `place` is its place in the list, from 1."""

    __tablename__ = "cast_topic"
    __table_args__ = (
        _of_character(),
        CheckConstraint(f"place BETWEEN 1 AND {MOST_TOPICS}", name="place"),
        CheckConstraint("name ~ '[^[:space:]]'", name="name"),
        CheckConstraint("sentiment BETWEEN -1 AND 1", name="sentiment"),
        CheckConstraint("exposure_now BETWEEN 0 AND 1 AND exposure_desired BETWEEN 0 AND 1", name="exposure"),
    )

    character_id: UUID = column.key()
    place: int = column.key()
    name: str = column.text()
    perspective: str = column.text()
    approach: str = column.text()
    personal_stake: str = column.text()
    sentiment: float = Field(sa_type=Float)
    exposure_now: float = Field(sa_type=Float)
    exposure_desired: float = Field(sa_type=Float)


class CastCardRow(Row, table=True):
    """The file that a character came from, byte for byte."""

    __tablename__ = "cast_card"
    __table_args__ = (_of_character(), _is_file())

    character_id: UUID = column.key()
    file_name: str = column.text()
    content: bytes = Field(sa_type=LargeBinary)
    file_hash: str = column.text()


class CastProposalRow(Row, table=True):
    """A change that is proposed for a character, and what the GM decided."""

    __tablename__ = "cast_proposal"
    __table_args__ = (
        _of_character(),
        column.one_of("part", ProposedPart),
        column.one_of("occasion", Occasion),
        column.one_of("state", ProposalState),
        CheckConstraint("(state = 'open') = (settled_at IS NULL)", name="settled_at"),
        CheckConstraint(_records("before", 0), name="before"),
        CheckConstraint(_records("after", 1), name="after"),
        CheckConstraint(f"char_length(why) <= {LONGEST_WHY}", name="why"),
        CheckConstraint("prompt_index >= 1", name="prompt_index"),
        column.times("created_at", "settled_at"),
        Index("ix_cast_proposal_of", "character_id"),
    )

    id: UUID = column.key()
    character_id: UUID
    part: str = column.text()
    before: list[object] = column.json()
    after: list[object] = column.json()
    why: str = column.text()
    occasion: str = column.text()
    session_id: UUID | None = column.optional()
    """No foreign key: the chapter may be purged, and the library is not sharded with it."""
    request_id: UUID | None = column.optional()
    prompt_index: int | None = column.optional()
    state: str = column.text()
    created_at: datetime = column.time()
    settled_at: datetime | None = column.time(is_optional=True)


class LorebookRow(Row, table=True):
    """A lorebook with its file, byte for byte."""

    __tablename__ = "lorebook"
    __table_args__ = (
        CheckConstraint("name ~ '[^[:space:]]'", name="name"),
        UniqueConstraint("name_key"),
        _has_key_unless_archived(),
        CheckConstraint(f"cardinality(groups) <= {MOST_GROUPS}", name="groups"),
        CheckConstraint("entry_count >= 0", name="entry_count"),
        _is_file(),
        CheckConstraint("version >= 1", name="version"),
        column.times("created_at", "updated_at", "archived_at"),
    )

    id: UUID = column.key()
    name: str = column.text()
    name_key: str | None = Field(sa_type=Text, nullable=True)
    groups: list[str] = column.array(Text)
    entry_count: int
    format: str = column.text()
    file_name: str = column.text()
    content: bytes = Field(sa_type=LargeBinary)
    file_hash: str = column.text()
    archived_at: datetime | None = column.time(is_optional=True)
    created_at: datetime = column.time()
    updated_at: datetime = column.time()
    version: int


class BookRow(Row, table=True):
    """A book; its chapters are in `book_chapter`."""

    __tablename__ = "book"
    __table_args__ = (
        CheckConstraint("title ~ '[^[:space:]]'", name="title"),
        UniqueConstraint("name_key"),
        _has_key_unless_archived(),
        CheckConstraint("version >= 1", name="version"),
        column.times("created_at", "updated_at", "archived_at"),
    )

    id: UUID = column.key()
    title: str = column.text()
    name_key: str | None = Field(sa_type=Text, nullable=True)
    author: str = column.text()
    description: str = column.text()
    archived_at: datetime | None = column.time(is_optional=True)
    created_at: datetime = column.time()
    updated_at: datetime = column.time()
    version: int


class BookChapterRow(Row, table=True):
    """A chapter that is in a book; a chapter is in one book only."""

    __tablename__ = "book_chapter"
    __table_args__ = (
        column.of_session(),
        ForeignKeyConstraint(["book_id"], ["book.id"], ondelete="CASCADE"),
        CheckConstraint("place >= 1", name="place"),
        Index("ix_book_chapter_book", "book_id", "place"),
    )

    session_id: UUID = column.key()
    book_id: UUID
    place: int
