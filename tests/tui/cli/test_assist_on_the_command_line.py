"""`storyengine cast assist`: which chapter records the call."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import SessionLockedError
from core.engine.engine import Engine
from storyengine_tui.cli.commands.library import proposals
from tests.tui.engine_app import Desktop, make_active

pytestmark = pytest.mark.anyio

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Mirabel", "description": "A keeper."},
}


async def test_assist_in_a_chapter_that_another_window_writes_names_the_option_for_another_one(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def engine(_: object) -> AsyncIterator[Engine]:
        async with desktop.engine("command") as running:
            yield running

    async def unlocked() -> None:
        return None

    monkeypatch.setattr(proposals, "running_engine", engine)
    monkeypatch.setattr(proposals, "unlocked", unlocked)
    async with desktop.engine("window") as other:
        await other.library.characters.import_card(json.dumps(CARD).encode(), "mirabel.json")
        session = await other.open(await make_active(other))
        with pytest.raises(SessionLockedError) as refused:
            await proposals.assist("Mirabel")
        await session.aclose()
    assert "“The relief boat is late.”, which would record the call, is open" in refused.value.message
    assert "--in" in refused.value.hint
