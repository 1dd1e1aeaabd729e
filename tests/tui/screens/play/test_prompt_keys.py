"""The keys of a composer panel: what sends its text, and what breaks a line."""

import pytest
from textual import events

from core.domain.session.limits import Limits
from core.domain.slot import Slot
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.screens.system.help_screen import HelpScreen
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = [pytest.mark.anyio, pytest.mark.paints]


class ComposerApp(WidgetApp):
    """Shows one composer panel, and notes what it sends."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.area = PromptArea(
            Slot.RED, Limits(), "Agent Red", "", send=lambda slot, text, delivery: self.sent.append(text)
        )
        super().__init__(lambda: [self.area])


async def test_the_help_of_a_panel_begins_with_what_its_keys_do() -> None:
    app = ComposerApp()
    async with app.running():
        assert HelpScreen.of(app.screen)._texts[0] == PromptArea.HELP


async def test_enter_sends_and_the_text_is_kept_until_it_is_accepted() -> None:
    app = ComposerApp()
    async with app.running() as pilot:
        await pilot.press("h", "i", "enter")
        assert app.sent == app.area.sending == ["hi"]
        assert app.area.text == ""


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter"])
async def test_a_new_line_has_its_own_keys(key: str) -> None:
    app = ComposerApp()
    async with app.running() as pilot:
        await pilot.press("a", key, "b")
        assert app.area.text == "a\nb"
        assert app.sent == []


@pytest.mark.parametrize(
    ("key", "text", "sent"), [("ctrl+j", "a\nb", []), ("enter", "b", ["a"])], ids=["new line", "send"]
)
async def test_typing_never_overtakes_a_key(key: str, text: str, sent: list[str]) -> None:
    app = ComposerApp()
    async with app.running() as pilot:
        for name, character in (("a", "a"), (key, None), ("b", "b")):
            app.post_message(events.Key(name, character))
        await pilot.pause()
        assert app.area.text == text
        assert app.sent == sent


async def test_a_pasted_line_break_sends_nothing() -> None:
    app = ComposerApp()
    async with app.running() as pilot:
        app.post_message(events.Paste("one\ntwo\n"))
        await pilot.pause()
        assert app.area.text == "one\ntwo\n"
        assert app.sent == []


async def test_a_read_only_composer_sends_nothing() -> None:
    app = ComposerApp()
    async with app.running() as pilot:
        app.area.load_text("read")
        app.area.read_only = True
        await pilot.press("enter", "ctrl+j")
        assert app.sent == []
        assert app.area.text == "read"
