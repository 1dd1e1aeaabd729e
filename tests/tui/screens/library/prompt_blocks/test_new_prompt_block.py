"""A new prompt block, which is stored with its first edit."""

import asyncio

import pytest

from core.domain.session.prompt_block import PromptBlock
from core.storage.changes import Changes
from core.storage.session_store import Lease
from storyengine_tui.screens.library.prompt_blocks.block_screen import BlockScreen
from tests.tui.engine_app import Desktop, in_front, until
from tests.tui.screens.library.prompt_blocks.test_prompt_blocks_screen import (
    BLOCKS,
    list_shown,
    make_blocks,
    session_of,
    text_of_new_block,
)

pytestmark = pytest.mark.anyio


async def test_a_new_block_is_stored_once_by_escape_that_comes_twice_on_a_slow_store(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        screen = await list_shown(pilot)
        session = session_of(app)
        has_begun, may_end = asyncio.Event(), asyncio.Event()
        plain = session._store.commit

        async def slow(changes: Changes, lease: Lease) -> None:
            has_begun.set()
            await may_end.wait()
            await plain(changes, lease)

        monkeypatch.setattr(session._store, "commit", slow)
        editor = await text_of_new_block(pilot)
        await pilot.press("x", "escape")
        await has_begun.wait()
        [first] = [one for one in editor.workers if one.group == "close"]
        await pilot.press("escape")
        await until(pilot, lambda: first.is_finished)
        may_end.set()
        await until(pilot, lambda: app.screen is screen)
        made = PromptBlock(id=6, name="New block", text="x")
        assert session.snapshot.prompt_blocks == BLOCKS.with_block(made)


async def test_what_is_typed_first_is_the_name_of_a_new_block(desktop: Desktop) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        screen = await list_shown(pilot)
        await pilot.press("n")
        await in_front(pilot, BlockScreen)
        await pilot.press(*"Rain", "shift+tab", *"It rains.", "escape")
        await until(pilot, lambda: app.screen is screen)
        made = PromptBlock(id=6, name="Rain", text="It rains.")
        assert session_of(app).snapshot.prompt_blocks == BLOCKS.with_block(made)
