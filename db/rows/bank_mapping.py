"""The rows of the memory bank and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache, lru_cache
from json import loads
from typing import Any, Final
from uuid import UUID

from core.domain.bank.details import DETAILS_OF, Details, ItemKind, without_unset
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, ItemAccess, Replacement
from core.domain.ids import SessionId
from core.domain.session.cast import Character
from core.domain.session.language import Language
from core.domain.session.profile import NO_PROFILE
from core.domain.slot import Slot
from core.storage.bank_store import EarlierChapter
from db.rows.chapter_mapping import to_profiles, to_statuses
from db.rows.row_mapping import RowMapping, Values, with_slots

_ITEMS: Final = RowMapping(Item, columns={"id": "item_id"}, beside=["details", "evidence"])
ACCESSES: Final = RowMapping(ItemAccess)
REPLACEMENTS: Final = RowMapping(Replacement)
_IDS: Final = ("session_id", "item_id", "supersedes", "merged_into", "request_id")
_TIMES: Final = ("created_at", "updated_at")


def item_values(item: Item) -> Values:
    """Return the row of an item."""
    details = without_unset(asdict(item.details))
    kind = details.pop("kind")
    if proved := details.get("data_item_ids"):
        # As numbers: the texts of details are words by which an item is found.
        details["data_item_ids"] = [one.int for one in proved]
    evidence = [asdict(one) for one in item.evidence]
    return {**_ITEMS.values(item), "kind": kind.value, "details": details, "evidence": evidence}


def revision_values(values: Values) -> Values:
    """Return the row of the version of an item whose row is `values`."""
    key = {name: values[name] for name in ("session_id", "item_id", "version", "updated_at")}
    return {**key, "content": values}


def to_item(row: Mapping[str, Any]) -> Item:
    """Return the item of a row."""
    return _item_of(row, _to_details(row["kind"], row["details"]), row["evidence"])


def to_version(content: str, details: str) -> Item:
    """Return a version of an item, of the JSON of its row without its details, and of these."""
    row = loads(content)
    row |= {name: UUID(row[name]) for name in _IDS if row[name] is not None}
    row |= {name: datetime.fromisoformat(row[name]) for name in _TIMES}
    return _item_of(row, _details_of(row["kind"], details), row["evidence"])


def to_items(columns: Mapping[str, Sequence[Any]]) -> list[Item]:
    """Return the items of rows of `bank_item` that are read by their columns, and whose JSON is text.

    Reading the JSON of two hundred items would take the driver as long as all that recall does else.
    """
    details = list(map(_details_of, columns["kind"], columns["details"]))
    every = loads(f"[{','.join(columns['evidence'])}]")
    return _ITEMS.records(columns, details=details, evidence=[_proofs(one) for one in every])


def _item_of(row: Mapping[str, Any], details: Details, evidence: Iterable[Mapping[str, Any]]) -> Item:
    return _ITEMS.record_of_json(row, details=details, evidence=_proofs(evidence))


def _proofs(evidence: Iterable[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    return tuple([Evidence(**one) for one in evidence])


@lru_cache(maxsize=256)
def _details_of(kind: str, text: str) -> Details:
    """Return the details that a text of JSON has; many items have the same, such as none."""
    return _to_details(kind, loads(text))


def _to_details(kind: str, values: Mapping[str, Any]) -> Details:
    """Return the details of a row; what an older row does not have is unset."""
    proved = values.get("data_item_ids")
    ids = {} if proved is None else {"data_item_ids": [UUID(int=int(one)) for one in proved]}
    made: Details = _reader(kind).validate_python({**values, **ids, "kind": kind})
    return made


@cache
def _reader(kind: str) -> Any:
    """Return what reads the details of a kind. pydantic is loaded by the first chapter that has a bank."""
    from pydantic import TypeAdapter

    return TypeAdapter(DETAILS_OF[ItemKind(kind)])


def to_earlier_chapter(row: Mapping[str, Any]) -> EarlierChapter:
    """Return a chapter of a book from the columns that the later ones need of it."""
    names, profiles = with_slots(row["names"]), to_profiles(row["profiles"])
    return EarlierChapter(
        session_id=SessionId(row["id"]),
        number=row["number"],
        prompt_index=row["prompt_index"],
        language=Language(row["language"]),
        cast=tuple(
            Character(slot=slot, given_name=names.get(slot, ""), profile=profiles.get(slot, NO_PROFILE))
            for slot in map(Slot, row["slots"])
        ),
        statuses=to_statuses(row["statuses"]),
    )
