"""Undo in a bank of many items: few versions are read, and the result is the same."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from random import Random

import pytest

from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId, SessionId
from core.engine.services.bank import bank, undo
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.undo import NOTHING_TO_REDO, VersionKey, Versions
from core.storage.session_store import SessionStore
from tests.core.values.bank import fact
from tests.store.contract.test_bank_changes import bank_of

pytestmark = pytest.mark.anyio
STEPS = 30
BankChange = Callable[[Bank, Sequence[Item]], Awaitable[object]]
CHANGES: dict[str, BankChange] = {
    "confirm": lambda bank, items: bank.confirm(items),
    "release": lambda bank, items: bank.pin(items, is_on=False),
    "pin": lambda bank, items: bank.pin(items),
    "reject": lambda bank, items: bank.reject(items),
    "look at": lambda bank, items: bank.mark_seen(items),
    "undo": lambda bank, items: bank.undo(),
    "redo": lambda bank, items: bank.redo(),
}


async def outcome(bank: Bank, change: str, places: Sequence[int]) -> tuple[object, ...]:
    """Return what the items are after a change, or why it is refused."""
    items = await bank.items(with_all=True)
    try:
        await CHANGES[change](bank, [items[place] for place in places])
    except IllegalCommandError as error:
        return (str(error),)
    return tuple(
        (item.version, item.validation, item.is_pinned, item.undoes)
        for item in await bank.items(with_all=True)
    )


@pytest.mark.parametrize("seed", range(3))
async def test_undo_and_redo_are_the_same_however_many_items_were_changed(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = Random(seed)
    few, all_ = [(await bank_of(store, *map(fact, range(1, 7))))[0] for _ in range(2)]
    done = 0
    for _ in range(STEPS):
        change = chance.choices(list(CHANGES), [2, 1, 2, 2, 1, 4, 3])[0]
        places = chance.sample(range(6), chance.randint(1, 4))
        monkeypatch.setattr(undo, "MOST_LAST", chance.randint(1, 3))
        monkeypatch.setattr(bank, "MANY", 2)  # some changes are made in a thread
        found = await outcome(few, change, places)
        monkeypatch.setattr(undo, "MOST_LAST", 200)
        monkeypatch.setattr(bank, "MANY", 500)
        assert found == await outcome(all_, change, places), (change, places)
        done += change in ("undo", "redo") and len(found) > 1
    assert done > 3


async def test_undo_and_redo_of_a_change_read_one_version_of_each_of_its_items(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "MOST_LAST", 2)
    bank, _ = await bank_of(store, *map(fact, range(1, 7)))
    for _ in range(3):
        await bank.pin(await bank.items())
        await bank.pin(await bank.items(), is_on=False)
    await bank.confirm(await bank.items())
    await bank.pin((await bank.items())[:1])
    asked: list[int] = []
    versions = store.bank.versions

    async def noted(session_id: SessionId, keys: Sequence[VersionKey]) -> Versions:
        asked.append(len(keys))
        return await versions(session_id, keys)

    async def never(session_id: SessionId, item_ids: Collection[ItemId] | None = None) -> Sequence[Item]:
        raise AssertionError("a history was read")

    monkeypatch.setattr(store.bank, "versions", noted)
    monkeypatch.setattr(store.bank, "history", never)
    assert [item.is_pinned for item in await bank.undo()] == [False]
    assert sum(asked) <= 6
    asked.clear()
    # The one that was pinned is as it was before its last two versions.
    assert len(await bank.undo()) == 6
    assert sum(asked) <= 6 + 1
    for again in (bank.redo, bank.undo, bank.redo):
        asked.clear()
        assert len(await again()) == 6
        assert sum(asked) <= 3 * 6


async def test_nothing_is_redone_once_something_was_changed_also_where_the_list_was_looked_at_since(
    store: SessionStore,
) -> None:
    bank, _ = await bank_of(store, fact(1), fact(2))
    one, other = await bank.items()
    await bank.confirm([one])
    await bank.undo()
    await bank.pin([other])
    await bank.mark_seen(await bank.items())
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_REDO):
        await bank.redo()
