"""A name that a dialog begins with is selected: what is typed takes its place, and End keeps it."""

import pytest

from storyengine_tui.screens.library.shelf.title_modal import (
    BookModal,
    NameModal,
    SavePointNameModal,
    TitleModal,
)
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.fields.one_line import LineField

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", [NameModal, TitleModal, SavePointNameModal, BookModal])
@pytest.mark.parametrize(("keys", "name"), [((), "Zoe"), (("end",), "Joss Zoe")], ids=["typed", "kept"])
async def test_a_name_is_replaced_by_the_first_key(
    kind: type[LineModal], keys: tuple[str, ...], name: str
) -> None:
    app = ThemedApp()
    named: list[str | None] = []
    async with app.run_test() as pilot:
        await app.push_screen(kind("Joss "), named.append)
        await pilot.pause()
        assert app.screen.query_one(LineField).selected_text == "Joss "
        await pilot.press(*keys, *"Zoe", "enter")
        await pilot.pause()
        assert named == [name]
