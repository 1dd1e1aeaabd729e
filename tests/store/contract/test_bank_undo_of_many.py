"""Undo in a bank of many items: the history of the last ones is read, and the result is that of all."""

from collections.abc import Awaitable, Callable, Sequence
from random import Random

import pytest

from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.engine.services.bank import service
from core.engine.services.bank.service import Bank
from core.storage.session_store import SessionStore
from tests.core.values.bank import fact
from tests.store.contract.test_bank_changes import bank_of

pytestmark = pytest.mark.anyio
STEPS = 30
Change = Callable[[Bank, Sequence[Item]], Awaitable[object]]
CHANGES: dict[str, Change] = {
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
        monkeypatch.setattr(service, "MOST_LAST", chance.randint(1, 3))
        monkeypatch.setattr(service, "MANY", 2)  # some changes are made in a thread
        found = await outcome(few, change, places)
        monkeypatch.setattr(service, "MOST_LAST", 200)
        monkeypatch.setattr(service, "MANY", 500)
        assert found == await outcome(all_, change, places), (change, places)
        done += change in ("undo", "redo") and len(found) > 1
    assert done > 3


async def test_undo_of_the_last_change_reads_the_history_of_few_items(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_LAST", 2)
    bank, _ = await bank_of(store, *map(fact, range(1, 7)))
    await bank.confirm(await bank.items())
    await bank.pin((await bank.items())[:1])
    asked: list[int | None] = []
    history = store.bank.history

    async def noted(session_id: object, item_ids: Sequence[object] | None = None) -> Sequence[Item]:
        asked.append(None if item_ids is None else len(item_ids))
        return await history(session_id, item_ids)  # type: ignore[arg-type]

    monkeypatch.setattr(store.bank, "history", noted)
    assert [item.is_pinned for item in await bank.undo()] == [False]
    assert asked == [2]
    assert len(await bank.undo()) == 6
    assert asked == [2, 2, 6]
