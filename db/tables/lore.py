"""The lorebooks of a chapter. Their copies are contents of the session."""

from uuid import UUID

from sqlalchemy import CheckConstraint, Index, SmallInteger, Text
from sqlmodel import Field

from core.domain.session.lore import LONGEST_COPY, LONGEST_SEED, MOST_BOOKS, MOST_ENTRIES
from core.domain.session.profile import MOST_GROUPS
from db.tables import columns as column
from db.tables.columns import Row


class SessionLorebookRow(Row, table=True):
    """One lorebook of a chapter; `label` is the audience that may know it."""

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
