"""The entries of a lorebook are found, made, switched, edited and deleted, and the file says just that."""

import json
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input, Select

from core.engine.engine import Engine
from core.library.lore.book import Logic, Position
from storyengine_tui.screens.library.lore.book_fields_modal import BookFieldsModal
from storyengine_tui.screens.library.lore.entry_screen import LONGEST_CONTENT, MATCHED, EntryScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.tick import Tick
from tests.tui.engine_app import Desktop, in_front, make_draft, screen_text, until
from tests.tui.screens.library.lore.lore_screens import (
    BOOK,
    CONTENT,
    edit_elsewhere,
    engine_of,
    entries,
    entry_shown,
    lorebook_shown,
    make_lore,
    make_novel,
    names,
    stored,
    stored_content,
    text_of,
)

pytestmark = pytest.mark.anyio


async def content_is(app: StoryEngineApp, pilot: Any, content: bytes) -> None:
    """Wait until the file of the book is this."""
    found = b""
    for _ in range(600):
        found = await stored_content(engine_of(app))
        if found == content:
            return
        await pilot.pause(0.01)
    assert found == content


def fill(editor: EntryScreen, **texts: str) -> None:
    """Put texts into fields of an entry."""
    for field, text in texts.items():
        editor.query_one(f"#{field}", Input).value = text


async def test_the_entries_of_a_lorebook_are_found_switched_edited_made_and_deleted(desktop: Desktop) -> None:
    async with desktop.window(make_lore) as (pilot, app):
        # Entries are listed with their keys and found as you type.
        screen = await lorebook_shown(pilot)
        assert names(screen) == ["The lamp", "Harbour", "Weather", "Ships"]
        assert text_of(screen, "#heading") == "Grey Point · 4 entries, 3 on"
        assert "lamp, old light" in screen_text(app)
        await pilot.press("slash", *"never WARM")
        await until(pilot, lambda: names(screen) == ["Harbour"])
        await pilot.press("x")
        await until(pilot, lambda: "No entry has these words" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: len(names(screen)) == 4)
        await pilot.press("escape")
        await in_front(pilot, LoreScreen)
        await pilot.press("enter")
        screen = await in_front(pilot, LorebookScreen)
        await until(pilot, lambda: bool(entries(screen).columns))
        # What is typed and taken back leaves the file as it was.
        editor = await entry_shown(pilot)
        await pilot.press("x")
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        assert await stored_content(engine_of(app)) != CONTENT
        await pilot.press("backspace")
        await content_is(app, pilot, CONTENT)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # An entry is switched and the file differs in that alone.
        await pilot.press("down", "down", "down", "space")
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        await content_is(app, pilot, CONTENT.replace(b'"disable": true', b'"disable": false'))
        assert text_of(screen, "#heading") == "Grey Point · 4 entries, 4 on"
        await pilot.press("space")
        await content_is(app, pilot, CONTENT)
        await pilot.press("home")
        # What is typed in an entry is stored by itself.
        editor = await entry_shown(pilot)
        await pilot.press(*" Still.")
        await content_is(app, pilot, CONTENT.replace(b"in 1871.", b"in 1871. Still."))
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        fill(editor, name="Lamp", keys='lamp, "a, b"', secondary="oil", order="-5")
        editor.query_one("#logic", Select).value = Logic.NOT_ANY.name
        editor.query_one("#position", Select).value = Position.AT_DEPTH.name
        editor.query_one("#is_constant", Tick).action_switch()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert names(screen)[0] == "Lamp"
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        [first, *_] = (await stored(engine_of(app))).entries
        assert (first.name, first.keys, first.secondary) == ("Lamp", ("lamp", "a, b"), ("oil",))
        assert (first.order, first.logic, first.position) == (-5, Logic.NOT_ANY, Position.AT_DEPTH)
        assert first.is_constant
        written = json.loads(await stored_content(engine_of(app)))
        assert written["entries"]["0"]["x_mine"] == 1.5
        assert {**written["entries"], "0": None} == {**BOOK["entries"], "0": None}
        # An entry is made and deleted.
        await pilot.press("n")
        editor = await in_front(pilot, EntryScreen)
        await until(pilot, lambda: editor.focused is editor.query_one("#keys"))
        await pilot.press(*"rope, net", "escape")
        await until(pilot, lambda: app.screen is screen)
        assert names(screen)[-1] == "New entry"
        assert entries(screen).cursor == 4
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert (await stored(engine_of(app))).entries[-1].keys == ("rope", "net")
        await pilot.press("home", "d")
        await in_front(pilot, ConfirmModal)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert len(names(screen)) == 5
        await pilot.press("d")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: names(screen) == ["Harbour", "Weather", "Ships", "New entry"])
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        assert "0" not in json.loads(await stored_content(engine_of(app)))["entries"]


CANNOT_BE_STORED = (
    ("order", "x", "The order is a whole number from -1,000,000 to 1,000,000."),
    ("probability", "101", "The chance is 0 to 100 percent"),
    ("sticky", "-1", "Sticky is a whole number from 0 to 1,000,000."),
    ("depth", "", "The depth is a whole number from 0 to 1,000."),
)


async def test_a_lorebook_is_begun_in_the_list_and_written(desktop: Desktop) -> None:
    async def draft(engine: Engine) -> None:
        await make_draft(engine)
        await engine.library.lore.create("Sea")

    async with desktop.window(draft) as (pilot, app):
        await lorebook_shown(pilot)
        assert "This lorebook has no entries yet" in screen_text(app)
        await pilot.press("escape")
        await in_front(pilot, LoreScreen)
        await pilot.press("n")
        await until(pilot, lambda: "Its name in the library" in screen_text(app))
        await pilot.press(*"Sea", "enter")
        await until(pilot, lambda: "Made “Sea (2)”" in screen_text(app))


async def save_field_of_book(pilot: Pilot[Any], screen: LorebookScreen, field: str, text: str) -> None:
    """Put a text into a field of the book, and save."""
    await pilot.press("b")
    modal = await in_front(pilot, BookFieldsModal)
    modal.query_one(f"#{field}", Input).value = text
    modal.query_one("#save").focus()
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is screen)
    await until(pilot, lambda: text_of(screen, "#saved") == "stored")


async def test_seldom_fields_those_of_a_book_and_what_was_typed_before_quitting_are_stored(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_lore, size=(80, 24)) as (pilot, app):
        # Seldom fields are below the text and are stored.
        screen = await lorebook_shown(pilot)
        editor = await entry_shown(pilot)
        editor.query_one("#position", Select).value = Position.OUTLET.name
        fill(editor, outlet="gate", filter_names='Kara, "Ines, old"', filter_tags="sea", triggers="normal")
        editor.query_one("#group_scoring", Select).value = "no"
        ticks = ("ignores_budget", "is_group_override", "filter_excludes")
        for name in (*ticks, *(name for _, name in MATCHED)):
            tick = editor.query_one(f"#{name}", Tick)
            assert tick.region.right <= 79
            tick.action_switch()
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        editor.query_one("#matches_notes").focus()
        await until(pilot, lambda: "Keys also in" in screen_text(app))
        [first, *_] = (await stored(engine_of(app))).entries
        assert (first.position, first.outlet) == (Position.OUTLET, "gate")
        assert (first.filter_names, first.filter_tags) == (("Kara", "Ines, old"), ("sea",))
        assert (first.triggers, first.group_scoring) == (("normal",), False)
        assert all(getattr(first, name) for name in (*ticks, *(name for _, name in MATCHED)))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # Whom a book is for and its budget are edited.
        await pilot.press("b")
        modal = await in_front(pilot, BookFieldsModal)
        await pilot.press(*"Crew;  Guests")
        modal.query_one("#token_budget", Input).value = "x"
        modal.query_one("#save").focus()
        await pilot.press("enter")
        await until(pilot, lambda: "The budget is a whole number" in screen_text(app))
        modal.query_one("#token_budget", Input).value = "500"
        await until(pilot, lambda: not modal.query_one("#save").has_class("-active"))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        [kept] = await engine_of(app).library.lore.listed()
        assert kept.groups == ("Crew", "Guests")
        assert (await stored(engine_of(app))).token_budget == 500
        await save_field_of_book(pilot, screen, "groups", "General")
        [kept] = await engine_of(app).library.lore.listed()
        assert kept.groups == ()
        # Esc asks before typed fields of a book are dropped.
        await pilot.press("b")
        await in_front(pilot, BookFieldsModal)
        await pilot.press(*"Crew", "escape")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is screen)
        [kept] = await engine_of(app).library.lore.listed()
        assert kept.groups == ()
        # Quitting stores what was typed just now.
        editor = await entry_shown(pilot)
        editor.query_one(CappedTextArea).insert(" To the last word.")
        await app.workspace.close(insists=True)
    async with desktop.engine() as engine:
        assert (await stored(engine)).entries[0].content == "It was lit in 1871. To the last word."


async def test_a_budget_alone_changes_no_group_whatever_a_group_is_called(desktop: Desktop) -> None:
    async with desktop.window(make_lore) as (pilot, app):
        store = engine_of(app).library.lore
        [kept] = await store.listed()
        await engine_of(app)._store.library.put_lorebook(replace(kept, groups=("Crew, old", "A;B")))
        screen = await lorebook_shown(pilot)
        await save_field_of_book(pilot, screen, "token_budget", "500")
        [kept] = await store.listed()
        assert kept.groups == ("Crew, old", "A;B")
        assert (await stored(engine_of(app))).token_budget == 500


async def test_a_format_that_is_not_written_is_read_and_can_be_converted(desktop: Desktop) -> None:
    async with desktop.window(make_novel) as (pilot, app):
        screen = await lorebook_shown(pilot)
        assert "NovelAI: c converts it" in screen_text(app)
        editor = await entry_shown(pilot)
        assert editor.query_one(CappedTextArea).read_only
        assert "read and not written" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("space", "n", "d")
        assert app.screen is screen
        await pilot.press("c")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        await pilot.press("space")
        await until(pilot, lambda: "0 on" in text_of(screen, "#heading"))
        await pilot.press("escape")
        await in_front(pilot, LoreScreen)
        [kept] = await engine_of(app).library.lore.listed()
        assert (kept.format, kept.entry_count) == ("lorebook_v3", 1)
        assert not (await stored(engine_of(app))).entries[0].is_enabled


async def test_what_cannot_be_stored_is_named_and_an_edit_in_another_window_not_written_over(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_lore, size=(120, 40)) as (pilot, app):
        # A field that cannot be stored is named, and the rest is stored.
        screen = await lorebook_shown(pilot)
        editor = await entry_shown(pilot)
        text = b"in 1871."
        for name, value, said in CANNOT_BE_STORED:
            field = editor.query_one(f"#{name}", Input)
            valid, field.value, text = field.value, value, text + b"!"
            await pilot.press("!")
            await content_is(app, pilot, CONTENT.replace(b"in 1871.", text))
            assert said in screen_text(app)
            await until(pilot, lambda: text_of(editor, "#saved") == "not all stored")
            field.value = valid
            await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        await pilot.press(*["backspace"] * len(CANNOT_BE_STORED))
        await content_is(app, pilot, CONTENT)
        # Esc asks before such a field is dropped.
        editor.query_one("#order", Input).value = "x"
        await pilot.press("escape")
        await in_front(pilot, ConfirmModal)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is editor)
        assert app.unsaved == CANNOT_BE_STORED[0][2]
        await pilot.press("escape", "right", "enter")
        await until(pilot, lambda: app.screen is screen)
        # An edit in another window is not written over, and the text is kept.
        for is_over, elsewhere in ((False, "Shallow."), (True, "Shallow and warm.")):
            editor = await entry_shown(pilot)
            await edit_elsewhere(engine_of(app), "1", elsewhere)
            await pilot.press(*" Mine.")
            banner = editor.query_one(Banner)
            await until(pilot, lambda: banner.is_shown)  # noqa: B023 - awaited here
            assert "changed or deleted elsewhere meanwhile" in screen_text(app)
            assert editor.query_one(CappedTextArea).text.endswith(" Mine.")
            assert (await stored(engine_of(app))).entries[0].content == "It was lit in 1871."
            buttons = editor.query_one(Banner).query(Button)
            (buttons.first() if is_over else buttons.last()).press()
            await until(pilot, lambda: app.screen is screen)
            await until(pilot, lambda: text_of(screen, "#saved") == "stored")
            first, second, *_ = (await stored(engine_of(app))).entries
            assert second.content == elsewhere
            assert first.content == ("It was lit in 1871. Mine." if is_over else "It was lit in 1871.")
            assert screen.editor is not None
            assert screen.editor.find("0") == first
        # Leaving asks before what cannot be stored is dropped.
        await edit_elsewhere(engine_of(app), "1", "Deep.")
        await pilot.press("space")
        await until(pilot, lambda: text_of(screen, "#saved") == "not stored")
        await pilot.press("escape")
        await in_front(pilot, ConfirmModal)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("escape")
        await in_front(pilot, ConfirmModal)
        await pilot.press("right", "enter")
        await in_front(pilot, LoreScreen)


async def test_a_field_that_cannot_be_stored_is_not_called_stored_though_nothing_else_was_typed(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_lore) as (pilot, _):
        await lorebook_shown(pilot)
        editor = await entry_shown(pilot)
        await pilot.press("!")
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")
        order = editor.query_one("#order", Input)
        valid, order.value = order.value, "x"
        await until(pilot, lambda: text_of(editor, "#saved") == "not all stored")
        order.value = valid
        await until(pilot, lambda: text_of(editor, "#saved") == "stored")


async def test_a_text_that_is_longer_than_the_field_stays_as_it_is(desktop: Desktop) -> None:
    long = "word " * (LONGEST_CONTENT // 5 + 1)

    async def made(engine: Engine) -> None:
        await make_draft(engine)
        value = {"name": "L", "entries": {"0": {"uid": 0, "key": ["a"], "content": long}}}
        await engine.library.lore.import_lore(json.dumps(value).encode(), "long.json")

    async with desktop.window(made, size=(120, 40)) as (pilot, app):
        screen = await lorebook_shown(pilot)
        editor = await entry_shown(pilot)
        assert "This text is longer than 50,000 characters" in screen_text(app)
        editor.query_one("#name", Input).value = "Long"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: text_of(screen, "#saved") == "stored")
        [entry] = (await stored(engine_of(app))).entries
        assert (entry.name, entry.content) == ("Long", long)
