"""Characters that Python does not call printable, typed into fields: blanks, joiners, newer emoji."""

from collections.abc import Callable

import pytest
from textual import events

from storyengine_tui.screens.chapter.early_input import EarlyKeys
from storyengine_tui.textual_ext.terminal.paste_parser import PasteParser
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import EntryField, LineField
from storyengine_tui.widgets.typed_keys import text_of
from tests.tui.engine_app import until
from tests.tui.rooms.widget_app import WidgetApp

pytestmark = pytest.mark.anyio

TYPED = [
    "\u5c71\u3000\u5ddd",  # the blank of a Japanese keyboard
    "\u0645\u06cc\u200c\u0631\u0648\u0645",  # the joint of a Persian keyboard (Shift+Space)
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    "10\u00a0km\u202f!",  # blanks of a French keyboard
    "a\U0001fae9b",  # an emoji of Unicode 16
    "\uf8ff",  # the logo on keyboards of Apple
]


def keys_of(text: str) -> list[events.Key]:
    """The keys that a terminal makes of a text that is typed."""
    return [one for one in PasteParser().feed(text) if isinstance(one, events.Key)]


@pytest.mark.parametrize("text", TYPED)
@pytest.mark.parametrize(
    "field",
    [
        lambda: CappedTextArea("", limit=99),
        lambda: LineField("", limit=99),
        lambda: EntryField(select_on_focus=False),
    ],
)
async def test_every_character_that_is_typed_is_in_the_field(
    field: Callable[[], CappedTextArea | EntryField], text: str
) -> None:
    app = WidgetApp(lambda: [field()])
    async with app.running() as pilot:
        for key in keys_of(text):
            app.post_message(key)
        typed = app.focused
        assert isinstance(typed, CappedTextArea | EntryField)
        await until(pilot, lambda: (typed.value if isinstance(typed, EntryField) else typed.text) == text)


async def test_a_field_that_is_only_read_takes_none_of_them() -> None:
    app = WidgetApp(lambda: [CappedTextArea("a", limit=9, read_only=True)])
    async with app.running() as pilot:
        app.post_message(events.Key("ideographic_space", "\u3000"))
        await pilot.pause()
        assert app.query_one(CappedTextArea).text == "a"


@pytest.mark.parametrize("text", TYPED)
def test_what_is_typed_before_a_field_is_there_has_them_too(text: str) -> None:
    early = EarlyKeys()
    for key in keys_of(text):
        assert early.capture(key)
    assert early.text == text


@pytest.mark.parametrize(
    "character", [None, "\t", "\n", "\r", "\x1b", "\x7f", "\x00", "\u202e", "\u2028", "\ue01f"]
)
def test_a_key_that_does_something_types_nothing(character: str | None) -> None:
    assert text_of(events.Key("key", character)) == ""
