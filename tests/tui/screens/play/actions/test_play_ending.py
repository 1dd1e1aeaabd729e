"""Tab 2: the end of a chapter that keeps a memory bank, whose new items the question names."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.widgets import Static

from core.domain.ids import SessionId
from core.domain.session.session_state import SessionState
from core.engine.engine import Engine
from core.engine.services.bank.bank import Bank
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.tui.chapters.banked_chapter import keep
from tests.tui.engine_app import Desktop, make_active
from tests.tui.rooms.play_table import SCRIPT, Table, at_table

pytestmark = pytest.mark.anyio
CHUNK = 7


async def made(engine: Engine) -> SessionId:
    return await keep(engine, await make_active(engine, CHUNK))


async def looked_at(engine: Engine) -> SessionId:
    session_id = await made(engine)
    bank = engine.closed(session_id).bank
    await bank.mark_seen(await bank.items())
    return session_id


@asynccontextmanager
async def played(desktop: Desktop, prepare: Callable[[Engine], Awaitable[SessionId]]) -> AsyncIterator[Table]:
    desktop.script = SCRIPT
    async with desktop.engine() as engine:
        await prepare(engine)
    async with at_table(desktop, prompts=None) as table:
        yield table


async def asked(table: Table) -> str:
    await table.pilot.press("f8")
    await table.until(lambda: isinstance(table.app.screen, ConfirmModal))
    return "\n".join(str(one.content) for one in table.app.screen.query(Static))


async def test_a_chapter_with_new_items_says_how_many_before_it_ends(desktop: Desktop) -> None:
    async with played(desktop, made) as table:
        assert "10 items of the memory bank are new: you can confirm them on tab 3" in await asked(table)
        await table.pilot.press("tab", "enter")
        await table.until(lambda: table.stored.state is SessionState.ENDED)
        items = await table.session.bank.items()
        await table.session.bank.confirm(items[:1])
        assert await table.session.bank.count_new() == len(items) - 1


async def test_a_chapter_whose_items_were_looked_at_ends_by_the_key_alone(desktop: Desktop) -> None:
    async with played(desktop, looked_at) as table:
        await table.pilot.press("f8")
        await table.until(lambda: table.stored.state is SessionState.ENDED)


async def test_a_chapter_without_a_bank_reads_none_when_it_ends(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> int:
        raise AssertionError("this chapter keeps no bank")

    monkeypatch.setattr(Bank, "count_new", refuse)
    async with at_table(desktop, prompts=3) as table:
        assert "memory bank" not in await asked(table)
