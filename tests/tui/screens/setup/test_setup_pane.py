"""Tab 1: what is typed is kept within its limits, stored by itself, and shown again."""

from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Select, Static

from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.setup.setup_pane import SetupPane
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.panel_switcher import SlotEntries
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio


def session_of(app: StoryEngineApp) -> SessionHandle:
    assert app.session is not None
    return app.session


async def paste(pilot: Pilot[Any], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


def panel(app: StoryEngineApp) -> CharacterPanel:
    return next(panel for panel in app.chapter.query(CharacterPanel) if panel.display)


async def test_typed_text_is_stored_without_a_command_also_when_the_program_ends_at_once(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        await pilot.press("ctrl+end", "space", "S", "a", "l", "t")
        await until(pilot, lambda: session_of(app).snapshot.tab1.world.endswith("rock. Salt"))
        assert str(app.chapter.query_one("#saved", Static).content) == "stored"
    # It is shown after a restart, and stored when the program ends at once.
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        area = app.chapter.query_one("#world", CappedTextArea)
        assert area.text == "A lighthouse on a rock. Salt"
        assert area.cursor_location == (0, 0)
        await pilot.press("ctrl+end", "?", "ctrl+q")
        await until(pilot, lambda: not app.is_running)
    async with desktop.engine() as engine:
        summary = (await engine.sessions())[0]
        assert (await engine.reader(summary.id).load()).tab1.world.endswith("Salt?")


FULL = "Full: 5,000 characters fit, 1,000 were not taken"


async def test_the_limit_holds_for_typing_paste_and_undo_and_what_is_cut_off_is_said_in_every_cell(
    desktop: Desktop,
) -> None:
    async with desktop.window(size=(80, 24)) as (pilot, app):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        area = app.chapter.query_one("#world", CappedTextArea)
        area.focus()
        await paste(pilot, "x" * 6_000)
        assert area.length == 5_000
        await pilot.press("y")
        assert area.length == 5_000
        assert str(app.chapter.query_one("#world-counter", CharCounter).content) == "5,000/5,000"
        await pilot.press("ctrl+z", "ctrl+y")
        assert area.length == 5_000
        # What is cut off at a limit is said on the screen in every cell.
        areas = [app.chapter.query_one(f"#{name}", CappedTextArea) for name in ("world", "chapter")]
        areas.append(panel(app).fields[1])
        too_long = "A name has at most 40 characters; the rest was not taken."
        for size in ((80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            for area in areas:
                area.text = ""
                area.focus()
                await paste(pilot, "x" * 6_000)
                await until(pilot, lambda: FULL in screen_text(app), "what was not taken is not said")
                await pilot.press("backspace")
                await until(pilot, lambda: FULL not in screen_text(app))
            panel(app).focus_name()
            await paste(pilot, "y" * 60)
            await until(pilot, lambda: too_long in screen_text(app))
            await pilot.press("backspace")
            await until(pilot, lambda: too_long not in screen_text(app))


async def test_one_panel_shows_at_a_time_with_a_name_of_one_line_and_entries_keys_and_mouse_switch(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft, size=(120, 40)) as (pilot, app):
        # A name is one line of forty characters, and blank is the default.
        field = panel(app).query_one(LineField)
        field.focus()
        await paste(pilot, "\nof the\r\nNorth " + "x" * 60)
        assert field.text == ("Mira of the North " + "x" * 60)[:40]
        await until(pilot, lambda: session_of(app).snapshot.session.names[Slot.RED] == field.text)
        field.clear()
        await until(pilot, lambda: Slot.RED not in session_of(app).snapshot.session.names)
        assert app.chapter.query_one("#panels", SlotEntries).entries[0].name == "Agent Red"
        # One panel shows at a time; entries, keys and the mouse switch.
        await pilot.press("ctrl+n")
        await until(pilot, lambda: panel(app).slot is Slot.ORANGE)
        assert len([shown for shown in app.chapter.query(CharacterPanel) if shown.display]) == 1
        assert panel(app).has_class("-character-orange")
        await pilot.click("#panels", offset=(2, 0))
        await until(pilot, lambda: panel(app).slot is Slot.RED)
        app.chapter.query_one("#panels").focus()
        await pilot.press("3")
        await until(pilot, lambda: panel(app).slot is Slot.YELLOW)


async def test_the_cast_is_typed_in_one_go_from_field_to_field(desktop: Desktop) -> None:
    async with desktop.window(size=(80, 40)) as (pilot, app):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        app.chapter.query_one("#chapter", CappedTextArea).focus()
        await pilot.press("tab", "tab")
        # Not one pause: a slow line brings all of it in one packet.
        for key in ("A", "enter", "x", "tab", "B", "tab", "y", "ctrl+n", "C", "enter", "z", "shift+tab"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: session_of(app).snapshot.tab1.identities.get(Slot.YELLOW) == "z")
        snapshot = session_of(app).snapshot
        assert [name for _, name in snapshot.session.roster] == ["A", "B", "C"]
        assert [snapshot.tab1.identities[slot] for slot, _ in snapshot.session.roster] == ["x", "y", "z"]
        await pilot.press("shift+tab")
        assert panel(app).slot is Slot.ORANGE, "back from a name is the identity before it"
        assert panel(app).fields[1].has_focus
        await pilot.press("tab", "tab", "tab")
        assert isinstance(app.focused, SlotEntries), "behind the last character"
        await pilot.press("tab")
        assert app.focused is app.chapter.query_one("#go-on")
        await pilot.press("ctrl+n", "D")
        assert panel(app).character_name == "AD", "Ctrl+N goes into a name from wherever it is pressed"
        app.chapter.query_one("#panels", SlotEntries).focus()
        await pilot.press("right", "enter", "E")
        assert panel(app).character_name == "BE"


async def test_a_double_name_is_not_lost_by_quitting_nor_by_another_chapter(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        field = panel(app).query_one(LineField)
        field.focus()
        field.select_all()
        await paste(pilot, "Agent Orange")
        await until(pilot, lambda: session_of(app).snapshot.session.names[Slot.RED] == "Agent Orange")
        await pilot.press("ctrl+n")
        double = panel(app).query_one(LineField)
        double.select_all()
        await paste(pilot, "agent orange")
        await until(pilot, lambda: "name taken" in screen_text(app))
        await pilot.press("f4")
        before = session_of(app).id
        said = "Two characters cannot both be called agent orange"
        for leave in ("ctrl+q", "new"):
            if leave == "new":
                app.action_new_chapter()
            else:
                await pilot.press("f4", leave)
            await until(pilot, lambda: said in screen_text(app), "nothing is said")
            assert app.is_running
            assert session_of(app).id == before
            assert app.chapter.active_tab == "setup"
            await until(pilot, lambda: app.focused is double)
            await pilot.press("end", "x", "backspace")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "Quit without saving it" in screen_text(app))
        await pilot.press("end", *" 2", "ctrl+q")
        await until(pilot, lambda: not app.is_running)
    async with desktop.engine() as engine:
        stored = (await engine.reader(before).load()).session
        assert stored.names[Slot.ORANGE] == "agent orange 2"


async def test_a_double_name_is_dropped_when_the_gm_says_so(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await opened(pilot)
        panel(app).focus_name()
        panel(app).fields[0].select_all()
        await paste(pilot, "agent yellow")
        await pilot.press("ctrl+q")
        trouble = app.chapter.query_one("#trouble")
        await until(pilot, lambda: len(trouble.query(Button)) == 2)
        # The rest is stored a moment later, and what is in the way stays said.
        field = app.chapter.query_one("#world", CappedTextArea)
        field.focus()
        await pilot.press("end", "!")
        await until(pilot, lambda: session_of(app).snapshot.tab1.world.endswith("!"))
        assert "Quit without saving it" in screen_text(app)
        trouble.query(Button).last().press()
        await until(pilot, lambda: not app.is_running)


async def test_after_the_lock_everything_can_be_read_and_copied_and_nothing_changed(desktop: Desktop) -> None:
    async with desktop.window(make_active) as (pilot, app):
        await pilot.press("f2")
        pane = app.chapter.query_one(SetupPane)
        assert pane.has_class("-veiled")
        area = app.chapter.query_one("#world", CappedTextArea)
        await until(pilot, lambda: app.focused is area)
        await pilot.press("x", "backspace", "delete")
        assert area.text == "A lighthouse on a rock."
        area.select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == area.text
        assert app.chapter.query_one("#character-count").disabled
        assert not app.chapter.query_one("#go-on").display
        assert app.chapter.query_one("#reset").display


async def make_two(engine: Engine) -> None:
    await make_active(engine, 1)


async def test_reset_warns_word_for_word_and_cancel_has_the_focus(desktop: Desktop) -> None:
    async with desktop.window(make_two) as (pilot, app):
        before = session_of(app).id
        await pilot.press("f2")
        await until(pilot, lambda: app.focused is app.chapter.query_one("#world"))
        app.chapter.query_one("#reset").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        warning, kept = str(app.screen.query_one(".confirm--text", Static).content).split("\n\n")
        assert "The chapter itself is kept: it moves to the archive" in kept
        assert warning == (
            "Warning, resetting the chapter will delete all cells from the Story Engine, please make sure "
            "you have saved any and all character and setting information before you reset."
        )
        assert app.focused is not None
        assert app.focused.id == "cancel"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert session_of(app).id == before
        app.chapter.query_one("#reset").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("tab", "enter")
        await until(pilot, lambda: app.session is not None and app.session.id != before)
        await until(pilot, lambda: app.chapter.query_one("#world", CappedTextArea).text == "")
        assert app.chapter.active_tab == "setup"
        async with desktop.engine() as engine:
            assert [old.id for old in await engine.sessions(is_archived=True)] == [before]


async def test_the_number_of_characters_is_chosen_by_keys_and_a_name_that_another_has_is_refused(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A tab is not undone by a page that looked for the focus before.
        page = app.chapter.query_one(SetupPane)
        await until(pilot, lambda: app.focused is not None)
        app.chapter.set_focus(None)
        page.on_tab_shown()
        await app.action_go_on(1)
        assert app.focused is page.query_one("#chapter", CappedTextArea)
        await pilot.pause()
        assert app.focused is page.query_one("#chapter", CappedTextArea)
        app.chapter.query_one("#world").focus()
        # The drop-down works by keyboard alone.
        await pilot.press("tab", "tab")
        assert app.focused is app.chapter.query_one("#character-count")
        await pilot.press("enter", "down", "enter")
        await until(pilot, lambda: len(session_of(app).snapshot.session.slots) == 4)
        # Fewer characters hide panels and forget nothing.
        count = app.chapter.query_one("#character-count", Select)
        switcher = app.chapter.query_one("#panels", SlotEntries)
        count.value = 1
        await until(pilot, lambda: len(switcher.entries) == 1)
        await until(pilot, lambda: session_of(app).snapshot.session.slots == (Slot.RED,))
        count.value = 7
        await until(pilot, lambda: len(session_of(app).snapshot.session.slots) == 7)
        assert [entry.name for entry in switcher.entries][:3] == ["Mira", "Jonas [/x]", "Agent Yellow"]
        switcher.pick("orange")
        await until(pilot, lambda: panel(app).slot is Slot.ORANGE)
        assert panel(app).identity == "You row the boat."
        switcher.pick("red")
        await until(pilot, lambda: panel(app).slot is Slot.RED)
        # A double name is refused at once and all else is stored.
        field = panel(app).query_one(LineField)
        field.focus()
        field.select_all()
        await paste(pilot, "agent yellow")  # At once: half of it would be a name that can be stored.
        problem = panel(app).query_one(".problem", Static)
        await until(pilot, lambda: "choose another name" in str(problem.content))
        app.chapter.query_one("#chapter", CappedTextArea).focus()
        await pilot.press("ctrl+end", "!")
        await until(pilot, lambda: session_of(app).snapshot.tab1.chapter.endswith("!"))
        assert session_of(app).snapshot.session.names[Slot.RED] == "Mira"
        await pilot.press("f3")
        await until(pilot, lambda: app.focused is field)
        assert app.screen is app.chapter
