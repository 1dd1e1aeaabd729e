"""Save slots that two windows store at once."""

from dataclasses import replace
from typing import Any

import pytest

from core.domain.clock import utc_now
from core.domain.errors import ChangedElsewhereError
from core.domain.story.save_point import SavePoint
from core.engine.services.save_points.save_points import SavePoints
from db.store import PostgresStore
from tests.engine.windows import Wrapped, playable

pytestmark = pytest.mark.anyio


async def test_save_slots_that_two_windows_name_at_once_are_both_kept(store: PostgresStore) -> None:
    class Slow(Wrapped):
        """Save slots of which one is stored after another window has stored one."""

        async def put(self, point: SavePoint, **more: Any) -> None:
            if not await store.save_points.listed(point.session_id):
                await SavePoints(store, utc_now).keep(point.session_id, "Of the other window")
            await self._inner.put(point, **more)

    session_id = await playable(store)
    for slot in await store.save_points.listed(session_id):
        await store.save_points.delete(slot)
    slow = Wrapped(store, save_points=Slow(store.save_points))
    await SavePoints(slow, utc_now).keep(session_id, "Of this window")
    labels = [slot.label for slot in await store.save_points.listed(session_id)]
    assert labels == ["Of the other window", "Of this window"]


async def test_a_save_slot_that_another_window_replaces_before_the_deletion_is_not_said_to_be_deleted(
    store: PostgresStore,
) -> None:
    class Late(Wrapped):
        """Save slots of which one is deleted after another window has replaced it."""

        async def delete(self, point: SavePoint) -> None:
            newer = replace(point, taken_at=utc_now(), sha256="0" * 64)
            await store.save_points.put(newer, taken=[point])
            await self._inner.delete(point)

    session_id = await playable(store)
    slot = await SavePoints(store, utc_now).keep(session_id, "Mine")
    late = Wrapped(store, save_points=Late(store.save_points))
    with pytest.raises(ChangedElsewhereError):
        await SavePoints(late, utc_now).drop(session_id, slot.number)
    assert [one.sha256 for one in await store.save_points.listed(session_id) if one.is_named] == ["0" * 64]
