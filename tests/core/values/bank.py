"""Items of the memory bank for tests."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import (
    Attribute,
    Details,
    EventDetails,
    FactDetails,
    Performance,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    Relationship,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.ids import ItemId, SessionId

NOW = datetime(2026, 11, 1, 18, tzinfo=UTC)
SESSION = SessionId(UUID(int=1))


def fact(
    number: int = 1,
    *,
    session_id: SessionId = SESSION,
    prompt_index: int = 3,
    take: int = 1,
    label: Audience = EVERYONE,
    name: str = "The brass key",
    text: str = "Kara hid the brass key.",
) -> Item:
    """Return a fact with its proof in the reply to a prompt."""
    words = "Kara hid the brass key"
    proof = Evidence(prompt_index=prompt_index, take=take, ordinal=1, words=words, start=0, end=len(words))
    return Item(
        id=ItemId(UUID(int=number)),
        session_id=session_id,
        name=name,
        text=text,
        label=label,
        prompt_index=prompt_index,
        take=take,
        evidence=(proof,),
        created_at=NOW,
        updated_at=NOW,
    )


def walked(number: int, session_id: SessionId, name: str = "The walk") -> Item:
    """Return a fact with its proof in the third reply that `tests.store.chapters` plays."""
    proof = Evidence(prompt_index=3, ordinal=1, words="walk on", start=2, end=9)
    return replace(fact(number, session_id=session_id, name=name), evidence=(proof,))


WHOLE: tuple[Details, ...] = (
    EventDetails(participants=("Kara",), outcome="Hidden.", duration_ms=5_400_000, sequence_number=1),
    FactDetails(
        attributes=(Attribute(name="metal", value="brass"),),
        relationships=(Relationship(relation="key of", target="the mill"),),
    ),
    PersonDetails(
        relationship="her cousin",
        attributes=(Attribute(name="age", value="sixty 灰"),),
        relationships=(Relationship(relation="brother of", target="Kara"),),
        exposure_current=0.36,
        exposure_desired=0.0,
    ),
    PlaceDetails(attributes=(Attribute(name="steps", value="ninety"),)),
    ThreadDetails(stakes="the post", exposure_current=0.2, exposure_desired=1.0),
    TraitDetails(
        strength=0.75,
        steps=("Bait the hook.", "Wait."),
        prerequisites=("A boat",),
        outcomes=("Fish",),
        performance=Performance(
            execution_count=3, success_rate=0.5, last_execution=3, average_duration_ms=60_000
        ),
    ),
    QuoteDetails(speaker="Kara", data_item_ids=(ItemId(UUID(int=21)), ItemId(UUID(int=22)))),
)
"""Details of each kind that can have more than name and text, with every field that it can have."""


def whole_items(session_id: SessionId) -> tuple[Item, ...]:
    """Return an item with each of `WHOLE`; their ids are counted from 21."""
    return tuple(
        replace(walked(number, session_id), details=details) for number, details in enumerate(WHOLE, start=21)
    )
