"""Text that is not stored when another window begins to write stays on the screen, and returns later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import SessionLockedError
from core.domain.session.prompt_block import PromptBlock
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.library.prompt_blocks.block_screen import BlockScreen
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.store.in_memory.memory_rows import MemoryLease
from tests.tui.engine_app import Desktop, in_front, make_draft, screen_text, tab1, until
from tests.tui.rooms.chapter_page import SCRIPT, chapter_page, make_ended
from tests.tui.rooms.play_table import at_table

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def second_writer(desktop: Desktop, session: SessionHandle) -> AsyncIterator[SessionHandle]:
    """Take the writer's lock of a window away, and open the chapter in another window that writes."""
    lease = session._writer.lease
    assert isinstance(lease, MemoryLease)
    async with desktop.engine("second window") as engine:
        lease.lose()
        other = await engine.open(session.id)
        assert not other.is_read_only
        yield other
        await other.aclose()


async def cut_off(page: SessionTab) -> None:
    """Store nothing that is typed from now on, as in an outage."""
    await page.autosave.stop()


async def test_wishes_for_the_writer_that_another_window_keeps_from_being_stored_are_not_lost(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page:
        await cut_off(page.pane)
        page.definition.focus()
        await page.pilot.press(*"Dry.")
        page.target.focus()
        await page.pilot.press(*"900")
        async with second_writer(desktop, page.session) as other:
            await page.until(lambda: page.definition.read_only)
            await other.edits.define_narrative("Wet.", None)
            await page.until(lambda: page.session.snapshot.session.definition == "Wet.")
            assert (page.definition.text, page.target.value) == ("Dry.", "900")
            with pytest.raises(SessionLockedError, match="your wishes for the writer"):
                await page.pane.flush()
            assert page.said("definition-saved") != "stored"
        assert await page.session.take_over()
        await page.until(lambda: not page.definition.read_only)
        await page.pane.flush()
        stored = page.session.snapshot.session
        assert (stored.definition, stored.target_words) == ("Wet.\n\nDry.", 900)


async def test_what_another_window_writes_still_shows_where_nothing_was_kept_from_being_stored(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with chapter_page(desktop, make_ended) as page, second_writer(desktop, page.session) as other:
        await page.until(lambda: page.definition.read_only)
        await other.edits.define_narrative("Wet.", None)
        await page.until(lambda: page.definition.text == "Wet.")


async def test_a_world_and_a_cast_that_another_window_keeps_from_being_stored_are_not_lost(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        session, pane = app.session, app.chapter.query_one(SetupPane)
        assert session is not None
        world = pane.query_one("#world", CappedTextArea)
        await cut_off(pane)
        await pilot.press("ctrl+end", *" Salt.")
        await pilot.press("ctrl+n", *"X", "tab", "ctrl+end", *" Late.")
        async with second_writer(desktop, session) as other:
            await until(pilot, lambda: world.read_only)
            await other.edits.edit_tab1(tab1(world="A ship.", chapter="It sinks."))
            await until(pilot, lambda: session.snapshot.tab1.world == "A ship.")
            assert world.text == "A lighthouse on a rock. Salt."
            with pytest.raises(SessionLockedError, match="what you wrote on 1 World"):
                await app.chapter.flush()
        assert await session.take_over()
        await until(pilot, lambda: not world.read_only)
        await app.chapter.flush()
        stored = session.snapshot
        assert stored.tab1.world == "A ship.\n\nA lighthouse on a rock. Salt."
        assert stored.tab1.chapter == "It sinks."
        assert stored.cast[Slot.ORANGE].name == "Jonas [/x]X"
        assert stored.cast[Slot.ORANGE].identity == "You row the boat. Late."


async def test_a_prompt_that_was_edited_when_another_window_began_to_write_is_not_doubled(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await table.type("Hello")
        await table.until(lambda: table.snapshot.unsent.get(Slot.RED) == "Hello")
        await cut_off(table.pane)
        await table.type(" you")
        async with second_writer(desktop, table.session):
            await table.until(lambda: table.area(Slot.RED).read_only)
        assert await table.session.take_over()
        await table.until(lambda: not table.area(Slot.RED).read_only)
        await table.pane.flush()
        assert table.text(Slot.RED) == "Hello you"
        assert table.snapshot.unsent[Slot.RED] == "Hello you"


@pytest.mark.parametrize("kind", [SecretScreen, BlockScreen])
async def test_what_is_typed_over_the_chapter_once_another_window_writes_is_not_dropped_unasked(
    desktop: Desktop, kind: type[SecretScreen] | type[BlockScreen]
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        session = app.session
        assert session is not None
        await session.edits.change_prompt_blocks(lambda now: now.with_block(PromptBlock(id=1, name="Dry")))
        app.push_screen(kind(app.workspace, session, 1))
        screen = await in_front(pilot, kind, CappedTextArea)
        async with second_writer(desktop, session):
            await until(pilot, lambda: session.is_read_only)
            await pilot.press(*"rope", "escape")
            question = await in_front(pilot, ConfirmModal)
            assert "Another window writes" in screen_text(app)
            question.dismiss(False)
            await until(pilot, lambda: app.screen is screen)
            with pytest.raises(SessionLockedError):
                await screen.flush()
        assert await session.take_over()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        now = session.snapshot
        assert "rope" in [*(one.text for one in now.secrets), *(one.text for one in now.prompt_blocks.blocks)]
