"""Helpers of the tests of the memory bank on the screen: a chapter with items of every kind."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import (
    Aspect,
    Details,
    EventDetails,
    FactDetails,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    ThreadCategory,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence, find_words
from core.domain.bank.item import Item, Validation
from core.domain.ids import ItemId, SessionId
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Script, ScriptMatch
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from tests.core.values.bank import NOW
from tests.tui.engine_app import make_active
from tests.tui.rooms.chapter_page import MEMORY, NARRATIVE, PROSE

SAID = "I hid the brass key [/x] under the stair. Tell Tobias that nobody crosses the bar before dawn."
SCRIPT = Script(
    reply=(
        *MEMORY,
        Entry(match=NARRATIVE, text=PROSE),
        Entry(match=ScriptMatch(schema="text"), text=SAID),
    )
)
MIRA = Audience.of((Slot.RED,))


def item(
    number: int,
    name: str,
    text: str,
    details: Details,
    *,
    prompt: int = 1,
    words: str = "the brass key",
    label: Audience = EVERYONE,
    about: Slot | None = None,
) -> Item:
    """Return an item with its proof in the reply to a prompt, as it is drawn from play."""
    place = find_words(SAID, words)
    assert place is not None
    proof = Evidence(prompt_index=prompt, ordinal=1, words=SAID[slice(*place)], start=place[0], end=place[1])
    return Item(
        id=ItemId(UUID(int=number)),
        session_id=SessionId(UUID(int=0)),
        name=name,
        text=text,
        details=details,
        about=about,
        label=label,
        prompt_index=prompt,
        evidence=(proof,),
        created_at=NOW,
        updated_at=NOW,
    )


ITEMS = (
    item(
        1,
        "Tobias [/x]",
        "Rows the pilot boat, and owes Mira his life.",
        PersonDetails(relationship="her cousin"),
    ),
    item(2, "The inspector", "Comes with the next tide.", PersonDetails(), label=MIRA),
    item(3, "The stair", "Ninety steps, the seventh is loose.", PlaceDetails(), prompt=2),
    item(
        4,
        "Who hid the key?",
        "Jonas has not been told.",
        ThreadDetails(category=ThreadCategory.CONFLICT, stakes="the post"),
        label=MIRA,
    ),
    item(5, "The brass key", "It is under the stair.", FactDetails(), prompt=2),
    item(
        6,
        "The lamp goes out",
        "For eleven minutes nobody saw a light.",
        EventDetails(participants=("Mira",), outcome="A ship strikes the reef."),
    ),
    item(7, "Mira", "Counts under her breath.", TraitDetails(strength=0.75), about=Slot.RED),
    item(8, "Mira", "Has the log book.", StateDetails(aspect=Aspect.POSSESSION), about=Slot.RED),
    item(9, "Mira", "A burn on the left hand.", StateDetails(aspect=Aspect.WOUND), prompt=2, about=Slot.RED),
    item(
        10,
        "Mira",
        "nobody crosses the bar before dawn",
        QuoteDetails(speaker="Mira"),
        words="nobody crosses the bar before dawn",
        about=Slot.RED,
    ),
)


async def keep(engine: Engine, session_id: SessionId, items: Sequence[Item] = ITEMS) -> SessionId:
    """Let a chapter that is not open keep a bank with these items."""

    def decide(snapshot: Snapshot) -> Changes:
        return Changes(
            session_id=session_id,
            session=replace(snapshot.session, keeps_bank=True),
            items=tuple(replace(one, session_id=session_id) for one in items),
        )

    await engine.closed(session_id).apply(decide)
    return session_id


async def make_banked(engine: Engine) -> SessionId:
    """Store a chapter of three prompts that keeps a bank."""
    return await keep(engine, await make_active(engine, 3))


async def make_sorted(engine: Engine) -> SessionId:
    """Store the same, after the GM has confirmed, pinned and closed some of it."""
    session_id = await make_banked(engine)
    bank = engine.closed(session_id).bank
    items = {one.id.int: one for one in await bank.items()}
    await bank.confirm([items[5], items[10]])
    await bank.pin([items[1]])
    await bank.mark_seen([items[3], items[6]])
    return session_id


def by_number(items: Sequence[Item], number: int) -> Item:
    """Return the item with a number of `ITEMS`."""
    return next(one for one in items if one.id.int == number)


def is_confirmed(one: Item) -> bool:
    """Whether the GM said that it is true."""
    return one.validation is Validation.CONFIRMED
