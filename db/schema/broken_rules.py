"""Counts the rows that break a rule of their table, which only a damaged database has (design 4).

The rules come from `db.tables` and not from the catalog of the server, so that a rule that was dropped there
is checked too. Rules that are triggers are not among them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    ColumnElement,
    ForeignKeyConstraint,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)

from db.tables import METADATA, SESSION

_KEY: Final = "session_id"


@cache  # Made once: there is a query for each table, and each chapter of a library asks all of them.
def queries_of_rules(*, of_session: bool) -> tuple[tuple[str, list[str], Select[Any]], ...]:
    """Return for each table its name, the names of rules, and the query for how many rows break each.

    With a session, which is the parameter `session_id`, all rules of its rows. Without one, all rules of the
    tables that belong to no session, and of the tables of sessions only the reference to the session.
    """
    return tuple(_queries(of_session=of_session))


def _queries(*, of_session: bool) -> Iterator[tuple[str, list[str], Select[Any]]]:
    for table in METADATA.sorted_tables:
        is_below = table is SESSION or next(iter(table.primary_key)).name == _KEY
        rules = dict(_rules_of(table))
        if not of_session and is_below:
            rules = {name: broken for name, broken in rules.items() if name == f"fk_{table.name}_session"}
        if not rules or (of_session and not is_below):
            continue
        counts: list[Any] = [func.count().filter(broken) for broken in rules.values()]
        query = select(*counts).select_from(table)
        if of_session:
            query = query.where((table.c.id if table is SESSION else table.c[_KEY]) == bindparam(_KEY))
        yield table.name, list(rules), query


def _rules_of(table: Table) -> Iterator[tuple[str, ColumnElement[bool]]]:
    """Yield the names of rules, each with the condition of a row that breaks it."""
    for rule in sorted(table.constraints, key=lambda rule: str(rule.name)):
        if isinstance(rule, CheckConstraint):
            yield str(rule.name), literal_column(f"NOT ({rule.sqltext})", Boolean)
        elif isinstance(rule, ForeignKeyConstraint):
            yield str(rule.name), _is_dangling(rule)


def _is_dangling(rule: ForeignKeyConstraint) -> ColumnElement[bool]:
    """Return the condition of a row that refers, by all of its columns, to a row that is missing."""
    target = rule.referred_table.alias("target")
    refers = [element.parent.is_not(None) for element in rule.elements]
    is_it = [target.c[element.column.name] == element.parent for element in rule.elements]
    return and_(*refers, ~exists(select(1).select_from(target).where(*is_it)))
