"""Items of the memory bank for tests."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from core.domain.audience import EVERYONE, Audience
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
