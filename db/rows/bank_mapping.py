"""The rows of the memory bank and the domain, both ways. Pure: no connection, no clock."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import cache, lru_cache
from json import loads
from typing import Any, Final
from uuid import UUID

from core.domain.audience import Audience
from core.domain.bank.details import DETAILS_OF, Details, ItemKind, without_unset
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, Replacement, Validation
from core.domain.ids import ItemId, SessionId
from core.domain.session.cast import Character
from core.domain.session.language import Language
from core.domain.session.profile import NO_PROFILE
from core.domain.slot import Slot
from core.storage.bank_store import EarlierChapter
from db.rows.chapter_mapping import to_profiles, to_statuses
from db.rows.mapping import Values, to_slots

_PLAIN: Final = (
    *("session_id", "version", "name", "text", "importance", "confidence", "sentiment", "decay_rate"),
    *("is_pinned", "is_by_gm", "prompt_index", "take", "supersedes", "merged_into", "undoes"),
    *("expires_at", "request_id", "created_at", "updated_at"),
)
_MADE: Final = ("item_id", "kind", "details", "about", "label", "validation", "origin", "evidence")
"""Columns of which the item has values of another kind, or another name."""
_IDS: Final = ("session_id", "item_id", "supersedes", "merged_into", "request_id")
_TIMES: Final = ("created_at", "updated_at")
# Looked up in a table: to call an enumeration takes several times as long.
_VALIDATIONS: Final = {one.value: one for one in Validation}
_ORIGINS: Final = {one.value: one for one in ItemOrigin}


def item_values(item: Item) -> Values:
    """Return the row of an item."""
    details = without_unset(asdict(item.details))
    kind = details.pop("kind")
    if proved := details.get("data_item_ids"):
        # As numbers: the texts of details are words by which an item is found.
        details["data_item_ids"] = [one.int for one in proved]
    return {
        "item_id": item.id,
        "kind": kind.value,
        "details": details,
        "about": item.about,
        "label": item.label.mask,
        "validation": item.validation.value,
        "origin": item.origin.value,
        "evidence": [asdict(one) for one in item.evidence],
        **{name: getattr(item, name) for name in _PLAIN},
    }


def revision_values(values: Values) -> Values:
    """Return the row of the version of an item whose row is `values`."""
    key = {name: values[name] for name in ("session_id", "item_id", "version", "updated_at")}
    return {**key, "content": values}


def to_item(row: Mapping[str, Any]) -> Item:
    """Return the item of a row."""
    values = {name: row[name] for name in (*_PLAIN, *_MADE)}
    values["details"] = _to_details(values.pop("kind"), row["details"])
    return _item_of(values)


def to_version(content: str, details: str) -> Item:
    """Return a version of an item, of the JSON of its row without its details, and of these."""
    row = loads(content)
    values = {name: row[name] for name in (*_PLAIN, *_MADE) if name != "details"}
    for name in _IDS:
        if row[name] is not None:
            values[name] = UUID(row[name])
    for name in _TIMES:
        values[name] = datetime.fromisoformat(row[name])
    values["details"] = _details_of(values.pop("kind"), details)
    return _item_of(values)


def to_item_of_texts(row: dict[str, Any]) -> Item:
    """Return the item of a row of `bank_item` whose JSON is text; the row is used up.

    Reading the JSON of two hundred items would take the driver as long as all that recall does else.
    """
    row["details"] = _details_of(row.pop("kind"), row["details"])
    row["evidence"] = loads(row["evidence"])
    return _item_of(row)


def _item_of(values: dict[str, Any]) -> Item:
    """Return the item of its columns, whose details are made; `values` are used up."""
    values["id"] = values.pop("item_id")
    if values["about"] is not None:
        values["about"] = Slot(values["about"])
    values["label"] = Audience.of_mask(values["label"])
    values["validation"] = _VALIDATIONS[values["validation"]]
    values["origin"] = _ORIGINS[values["origin"]]
    values["evidence"] = tuple([Evidence(**one) for one in values["evidence"]])
    return Item(**values)


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


def access_values(session_id: SessionId, access: ItemAccess) -> Values:
    """Return the row of how often a chapter recalled an item."""
    return {"session_id": session_id, **asdict(access)}


def to_access(row: Any) -> ItemAccess:
    """Return how often a chapter recalled an item."""
    return ItemAccess(
        item_id=ItemId(row.item_id), access_count=row.access_count, last_accessed=row.last_accessed
    )


@cache
def _reader(kind: str) -> Any:
    """Return what reads the details of a kind. pydantic is loaded by the first chapter that has a bank."""
    from pydantic import TypeAdapter

    return TypeAdapter(DETAILS_OF[ItemKind(kind)])


def to_earlier_chapter(row: Mapping[str, Any]) -> EarlierChapter:
    """Return a chapter of a book from the columns that the later ones need of it."""
    names, profiles = to_slots(row["names"]), to_profiles(row["profiles"])
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


def to_replacement(row: Mapping[str, Any]) -> Replacement:
    """Return what an item of a later chapter replaces."""
    return Replacement(
        item_id=ItemId(row["item_id"]),
        session_id=SessionId(row["session_id"]),
        replaced_in=SessionId(row["replaced_in"]),
        label=Audience.of_mask(row["label"]),
    )
