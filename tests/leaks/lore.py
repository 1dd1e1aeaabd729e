"""Lorebooks whose texts carry canaries: some for a group alone, some set off by what only some heard."""

import json
import random
from dataclasses import replace
from typing import Any

from core.domain.session.profile import GENERAL, Profile
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.storage.session_store import SessionStore
from tests.leaks.canaries import Ledger, Slots

GROUPS = (GENERAL, "Guild", "Lamp")
REACH = 240
"""So many of the tokens to come can set off an entry."""


def random_profiles(draw: random.Random, cast: Slots) -> dict[Slot, Profile]:
    """Return who is in which group, and sees which others; some are made by hand, and have no profile."""
    return {
        Slot(slot): Profile(group=draw.choice(GROUPS), groups_visible=tuple(draw.sample(GROUPS, 1)))
        for slot in sorted(cast)
        if draw.random() < 0.7
    }


def seen_by(profiles: dict[Slot, Profile], cast: Slots, groups: tuple[str, ...]) -> Slots:
    """Return who sees one of these groups, by a rule of its own."""
    seen = {
        slot: {profiles[Slot(slot)].group, *profiles[Slot(slot)].groups_visible}
        if Slot(slot) in profiles
        else {GENERAL}
        for slot in cast
    }
    return frozenset(slot for slot in cast if seen[slot] & set(groups or (GENERAL,)))


async def attach_books(
    engine: Engine,
    session: SessionHandle,
    draw: random.Random,
    ledger: Ledger,
    profiles: dict[Slot, Profile],
) -> None:
    """Attach three lorebooks for random groups, in some chapters.

    Each has an entry that is always active, entries whose keys are tokens of what is yet to be played, and
    one whose key is in the constant entry of another book.
    """
    if draw.random() > 0.4:
        return
    labelled: list[tuple[tuple[str, ...], Slots, str]] = []
    for _ in range(3):
        groups = tuple(draw.sample(GROUPS, draw.randint(0, 2)))
        label = seen_by(profiles, ledger.cast, groups)
        token = ledger.new(label)
        ledger.constant_lore.add(token)
        labelled.append((groups, label, token))
    for number, (groups, label, token) in enumerate(labelled):
        entries: list[dict[str, Any]] = [
            {"constant": True, "sticky": 3, "content": f"@@recursive\nAlways {token}."}
        ]
        for _, other, key in labelled[:number] + labelled[number + 1 :]:
            entries.append(
                {"key": [key], "content": f"@@recursive\nAfter {ledger.set_off(key, label & other)}."}
            )
        first = ledger.count + 30
        for at in range(first, first + REACH, 8):
            entries.append({"key": [f"Q{at}z"], "content": f"Of {ledger.set_off(f'Q{at}z', label)}."})
        numbered: dict[str, dict[str, Any]] = {
            str(uid): {"uid": uid, "scanDepth": 100, "key": [], **entry} for uid, entry in enumerate(entries)
        }
        content = json.dumps({"entries": numbered}).encode()
        book = (await engine.library.lore.import_lore(content, f"{number}.json")).book
        copy = await engine.library.lore.copy_of(book)
        await session.edits.attach_lore(replace(copy, book=replace(copy.book, groups=groups)))


async def uses_are_those_stored(session: SessionHandle, store: SessionStore) -> bool:
    """Whether the window knows what replies say of active entries as it is stored, once it has read it."""
    known = session.snapshot.lore_uses
    return known is None or known == tuple(await store.lore_uses(session.id))
