"""Shared columns, keys and checks for the declarations of tables."""

from collections.abc import Iterable
from typing import Any, ClassVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlmodel import Field, SQLModel

from core.domain.session.limits import EARLIEST_TIME, LATEST_TIME

SMALL = sa.SmallInteger
BIG = sa.BigInteger
_NAMES = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
}


class Row(SQLModel):
    """Base of all tables, with metadata separate from any other SQLModel program's."""

    # No validator is built: rows come from statements on tables, and are never validated by pydantic.
    model_config = {"defer_build": True}
    metadata: ClassVar[sa.MetaData] = sa.MetaData(naming_convention=_NAMES)


def table_of(row: type[Row]) -> sa.Table:
    """Return the table of a row class; statements are built on tables only."""
    return cast(sa.Table, vars(row)["__table__"])


def one_of(column: str, values: Iterable[str]) -> sa.CheckConstraint:
    """Return the check that a column holds one of an enumeration's values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


def of_session() -> sa.ForeignKeyConstraint:
    """Return the foreign key to the session, through which a purge deletes every row below it."""
    return sa.ForeignKeyConstraint(["session_id"], ["session.id"], ondelete="CASCADE")


def links(
    columns: list[str], target: str, target_columns: list[str], name: str, *, own_id: str = "session_id"
) -> sa.ForeignKeyConstraint:
    """Return a foreign key within one session, checked at commit: purge and import need no order."""
    return sa.ForeignKeyConstraint(
        [own_id, *columns],
        [f"{target}.{column}" for column in ("session_id", *target_columns)],
        name=name,
        deferrable=True,
        initially="DEFERRED",
        use_alter=own_id == "id",
    )


def key() -> Any:
    """Return a part of the primary key."""
    return Field(primary_key=True)


def text() -> Any:
    """Return an unlimited text; `core` checks the session's limits."""
    return Field(sa_type=sa.Text)


def small(*, is_optional: bool = False) -> Any:
    """Return a small integer: a slot, an ordinal, an agent."""
    return Field(sa_type=sa.SmallInteger, nullable=is_optional)


def optional() -> Any:
    """Return a nullable column of its annotation's type."""
    return Field(nullable=True)


def dollars() -> Any:
    """Return a nullable amount of US dollars, exact to its last digit."""
    return Field(sa_type=cast(Any, sa.Numeric()), nullable=True)


def time(*, is_optional: bool = False) -> Any:
    """Return a time with time zone."""
    return Field(sa_type=cast(Any, sa.DateTime(timezone=True)), nullable=is_optional)


def times(*columns: str) -> sa.CheckConstraint:
    """Return the check that times can be read and shown; one out of range would fail every list."""
    each = [f"{column} BETWEEN '{EARLIEST_TIME:%F}Z' AND '{LATEST_TIME:%F}Z'" for column in columns]
    return sa.CheckConstraint(" AND ".join(each), name="times")


def json() -> Any:
    """Return a JSONB value."""
    return Field(sa_type=cast(Any, JSONB()))


def audience() -> Any:
    """Return an audience: a bit for each slot, everyone unless said."""
    return Field(sa_column=sa.Column(sa.SmallInteger, nullable=False, server_default=sa.text("127")))


def is_audience(*columns: str) -> str:
    """Return the condition that columns are audiences, or NULL."""
    return " AND ".join(f"{column} BETWEEN 0 AND 127" for column in columns)


def array(of: Any, *, is_added: bool = False) -> Any:
    """Return an array; one that `is_added` to rows that were there is empty in them."""
    default = {"server_default": sa.text("'{}'")} if is_added else {}
    return Field(sa_type=cast(Any, ARRAY(of)), sa_column_kwargs=default)


def parsed(name: str) -> Any:
    """Return the JSONB that the database parses from the column `name`."""
    return Field(
        default=None,
        sa_column=sa.Column(JSONB, sa.Computed(f"{name}::jsonb", persisted=True), nullable=False),
    )


def generated(expression: str, kind: Any = sa.Integer) -> Any:
    """Return an integer that the database computes for use in a foreign key."""
    return Field(default=None, sa_column=sa.Column(kind, sa.Computed(expression, persisted=True)))
