"""The screens of the queue on the engine's own: a pause holds what is sent, then everything goes on."""

from typing import Any

import pytest
from textual.widgets import Button

from core.domain.slot import Slot
from core.storage.queue_store import QueueMessage, QueueSignal
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.queue.queue_view import PromptModal, QueueView
from storyengine_tui.screens.chapter.paused_banner import PausedBanner
from storyengine_tui.screens.play.scene.hearing_view import Delivery
from storyengine_tui.screens.setup.assist.assist_screen import AssistScreen
from storyengine_tui.shell.app import StoryEngineApp
from tests.tui.engine_app import Desktop, screen_text
from tests.tui.rooms.play_table import Gate, Table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio


def app_of(table: Table) -> StoryEngineApp:
    assert isinstance(table.app, StoryEngineApp)
    return table.app


async def queue_shown(table: Table) -> None:
    await table.pilot.press("f7")
    await table.until(lambda: isinstance(table.app.screen, CallsScreen))
    await table.pilot.press("1")
    await table.until(lambda: table.app.screen.query(QueueView))


async def test_a_pause_holds_a_prompt_and_goes_on(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await queue_shown(table)
        await table.until(lambda: "Nothing waits for a model" in screen_text(table.app))
        await table.pilot.press("p")
        await table.until(lambda: "Paused, nothing new begins" in screen_text(table.app))
        await table.pilot.press("escape")
        await table.until(lambda: "The queue is paused" in screen_text(table.app))
        await table.send("Hello")
        await table.until(lambda: "and 1 prompt waits" in screen_text(table.app))
        assert table.queued == ["To 1 Mira, waits its turn: Hello"]
        await queue_shown(table)
        await table.until(lambda: "waits: paused" in screen_text(table.app))
        await table.pilot.press("p", "escape")
        await table.until(lambda: table.played(1))
        await table.until(lambda: not app_of(table).chapter.query_one(PausedBanner).is_shown)


async def test_what_waits_is_edited_and_dropped_and_help_with_a_text_waits_too(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        queue: Any = vars(app_of(table).engine)["queue"]
        await queue.pause()
        await table.until(lambda: "The queue is paused" in screen_text(table.app))
        await table.queue("Hello")
        await queue_shown(table)
        await table.until(lambda: "1 Mira: Hello" in screen_text(table.app))
        await table.pilot.press("e")
        await table.until(lambda: isinstance(table.app.screen, PromptModal))
        await table.pilot.press(*"you", "tab", "tab", "enter")
        await table.until(lambda: "1 Mira: Helloyou" in screen_text(table.app))
        await table.pilot.press("d")
        await table.until(lambda: table.text(Slot.RED) == "Helloyou")
        await table.pilot.press("escape")
        await table.until(lambda: table.app.screen is app_of(table).chapter)
        await table.type("Now")
        await table.pilot.press("alt+a")
        await table.until(lambda: isinstance(table.app.screen, AssistScreen))
        await table.pilot.press("s")
        await table.until(lambda: "Waits for its turn" in screen_text(table.app))
        await queue.resume()
        await table.until(lambda: not table.app.screen.query_one("#take", Button).disabled)


async def test_a_prompt_that_another_window_drops_is_back_in_its_panel(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        queue: Any = vars(app_of(table).engine)["queue"]
        await queue.pause()
        await table.queue("Hello")
        await table.type("And you?")
        [waits] = table.snapshot.open_prompts
        queue.on_message(QueueMessage(QueueSignal.DROP, waits.id).payload)
        await table.until(lambda: table.text(Slot.RED) == "Hello")
        await table.until(lambda: not table.queued)
        assert table.text(Slot.ORANGE) == "And you?", "what is typed elsewhere stays in sight"


async def test_a_further_reply_that_waits_is_dropped_as_well(desktop: Desktop, gate: Gate) -> None:
    async with at_window(desktop) as table:
        queue: Any = vars(app_of(table).engine)["queue"]
        table.composer.choose(Slot.RED, Delivery(then=(Slot.ORANGE,)))
        await table.begin()
        await queue.pause()
        gate.open()
        await table.until(lambda: [one.follows for one in table.snapshot.open_prompts] == [True])
        await queue_shown(table)
        await table.until(lambda: "waits: paused" in screen_text(table.app))
        await table.pilot.press("d")
        await table.until(lambda: not table.snapshot.open_prompts, "the key did nothing")
        assert table.stored.prompt_index == 1
