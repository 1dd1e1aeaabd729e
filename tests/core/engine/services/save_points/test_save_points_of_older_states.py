"""Save points of a state that the chapter has left behind by the time they are made."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.domain.clock import utc_now
from core.domain.errors import StorageError
from core.domain.story.event import Event
from core.engine.services.save_points.save_points import SavePoints
from tests.core.rooms.takes_model import CHUNK, play, room

pytestmark = pytest.mark.anyio


async def test_a_state_before_the_newest_save_point_has_a_save_point_that_can_be_restored() -> None:
    scene = room()
    async with scene.opened() as session:
        await play(session, *map(str, range(CHUNK - 1)))
        older = session.snapshot
        await play(session, "At the boundary", "And after it")
        points = SavePoints(scene.store, utc_now)
        await points.keep(session.id, "Mine")
        assert await points.create(session.id, "late", state=older) is not None
        assert await points.damages(session.id) == []


async def test_a_state_whose_last_prompt_was_undone_meanwhile_has_no_save_point() -> None:
    scene = room()
    async with scene.opened() as session:
        await play(session, *map(str, range(CHUNK)))
        older = session.snapshot
        await session.takes.undo()
        points = SavePoints(scene.store, utc_now)
        with pytest.raises(StorageError, match="changes faster"):
            await points.create(session.id, "late", state=older)
        assert "late" not in [slot.label for slot in await points.listed(session.id)]
        assert await points.damages(session.id) == []


async def test_no_save_point_is_made_of_two_states_when_its_last_prompt_is_undone_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = room()
    async with scene.opened() as session:
        await play(session, *map(str, range(CHUNK)))
        read = scene.store.canon

        async def read_before_undo(*arguments: Any, **options: Any) -> Sequence[Event]:
            events = await read(*arguments, **options)
            monkeypatch.undo()
            await session.takes.undo()
            return events

        monkeypatch.setattr(scene.store, "canon", read_before_undo)
        points = SavePoints(scene.store, utc_now)
        with pytest.raises(StorageError, match="changes faster"):
            await points.keep(session.id, "Mine")
        assert await points.damages(session.id) == []
