"""Parameters of the statements of recall: arrays as rows, values read once, and keys as they are stored."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.dialects.postgresql import ARRAY


def rows_of(name: str, *columns: tuple[str, str, Any]) -> Any:
    """Return rows whose columns are arrays among the parameters."""
    arrays = [given(parameter, ARRAY(kind)) for _, parameter, kind in columns]
    named = [sa.column(own, kind) for own, _, kind in columns]
    return func.unnest(*arrays).table_valued(*named, name=name).render_derived()


def array_of(values: Iterable[object]) -> str:
    """Return values as an array in text: the driver would take several times as long to make it."""
    return f"{{{','.join(['NULL' if one is None else _quoted(str(one)) for one in values])}}}"


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def key_of(item: Any) -> ColumnElement[bytes]:
    """Return the ids of an item as they are stored: as values of the program they would take longer."""
    key = func.uuid_send(item.session_id).concat(func.uuid_send(item.item_id))
    return sa.type_coerce(key, sa.LargeBinary).label("key")


def time_of(item: Any) -> ColumnElement[bytes]:
    """Return the time of the version of an item as it is stored."""
    return func.timestamptz_send(item.updated_at, type_=sa.LargeBinary)


def given(parameter: str, kind: Any) -> Any:
    """Return a parameter as a value that the server reads once, and plans nothing by.

    So it plans the statement once for all: planning would take a third of its time. And a parameter of a
    prepared statement is read again for every row, which takes long for a vector.
    """
    return select(sa.cast(sa.bindparam(parameter, type_=kind), kind)).scalar_subquery()
