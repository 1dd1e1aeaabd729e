"""Changes of prompt blocks that follow each other at once are all stored, each on top of the one before."""

from dataclasses import replace

import pytest
from textual.widgets import DataTable, Select

from tests.tui.engine_app import Desktop, until
from tests.tui.screens.library.prompt_blocks.test_prompt_blocks_screen import (
    BLOCKS,
    list_shown,
    make_blocks,
    session_of,
)

pytestmark = pytest.mark.anyio


async def test_two_blocks_that_are_switched_at_once_are_both_switched(desktop: Desktop) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        screen = await list_shown(pilot)
        session = session_of(app)
        table = screen.query_one(DataTable)
        for row, times in ((0, 1), (1, 2), (2, 1)):
            table.move_cursor(row=row)
            for _ in range(times):
                screen.action_switch()
        screen.action_starting_set()
        await until(pilot, lambda: len(session.snapshot.prompt_blocks.blocks) == 16 + len(BLOCKS.blocks))
        found = {number: session.snapshot.prompt_blocks.find(number) for number in (2, 5, 3)}
        assert [block and block.is_on for block in found.values()] == [False, True, True]


async def test_a_block_that_is_switched_keeps_a_text_that_the_list_does_not_show_yet(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        screen = await list_shown(pilot)
        session, before = session_of(app), screen.rows
        first = replace(before[0], text="No jokes. Ever.")
        await session.edits.change_prompt_blocks(lambda blocks: blocks.with_block(first))
        screen.rows = before
        screen.action_switch()
        await until(pilot, lambda: session.snapshot.prompt_blocks.in_order[0].is_on is not first.is_on)
        assert session.snapshot.prompt_blocks.in_order[0].text == first.text
        # The focus stays where it is, as at a choice, when the list is read again.
        choice = screen.query_one("#agent", Select)
        choice.focus()
        await session.edits.change_prompt_blocks(lambda blocks: blocks.without_block(first.id))
        await until(pilot, lambda: len(screen.rows) == len(before) - 1)
        assert screen.focused is choice
