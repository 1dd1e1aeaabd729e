"""The screens of prompt blocks: what is edited is stored at once, and its place in an input is shown."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Select, Static

from core.domain.agent_role import AgentRole
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, BlockPlace, PromptBlock, PromptBlocks
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from storyengine_tui.screens.library.prompt_blocks.block_screen import BlockScreen
from storyengine_tui.screens.library.prompt_blocks.blocks_screen import OutlineView, PromptBlocksScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, in_front, make_active, opened, screen_text, until

pytestmark = pytest.mark.anyio

BLOCKS = PromptBlocks(
    variant="grim",
    variants=("grim", "all ages"),
    blocks=(
        PromptBlock(id=1, name="Weather [/b]", text="It always rains. [/x]", order=600),
        PromptBlock(id=2, name="Nobody laughs", text="No jokes.", order=100, variants=("grim",)),
        PromptBlock(id=3, name="For Mira", text="She lies.", order=300, slots=(Slot.RED,), is_on=False),
        PromptBlock(id=4, name="Gentle", text="Be kind.", order=1_600, variants=("all ages",)),
        PromptBlock(
            id=5,
            name="The house",
            text="It is old.",
            order=200,
            place=BlockPlace.MATERIAL,
            roles=(AgentRole.CHARACTER, AgentRole.NARRATIVE),
        ),
    ),
)


async def make_blocks(engine: Engine) -> None:
    session = await engine.open(await make_active(engine, 1))
    await session.edits.edit_prompt_blocks(BLOCKS)
    await session.aclose()


async def list_shown(pilot: Pilot[Any]) -> PromptBlocksScreen:
    """Open the list as the palette does."""
    await opened(pilot)
    await pilot.app.run_action("prompt_blocks")
    return await in_front(pilot, PromptBlocksScreen)


async def editor_shown(pilot: Pilot[Any]) -> BlockScreen:
    return await in_front(pilot, BlockScreen)


async def text_of_new_block(pilot: Pilot[Any]) -> BlockScreen:
    """Begin a block, and go on from its name to its text, which is the last field."""
    await pilot.press("n")
    editor = await editor_shown(pilot)
    await pilot.press("shift+tab")
    return editor


def session_of(app: StoryEngineApp) -> SessionHandle:
    assert app.session is not None
    return app.session


def rows(screen: PromptBlocksScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell).strip() for cell in table.get_row_at(row)] for row in range(table.row_count)]


def outline(screen: PromptBlocksScreen) -> list[list[str]]:
    text = str(screen.query_one("#parts", Static).content)
    return [line.rsplit(maxsplit=1) for line in text.split("\n") if "─" not in line]


async def test_the_list_shows_the_blocks_in_their_order_and_what_the_chosen_agent_is_given(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_blocks, size=(120, 40)) as (pilot, app):
        # Blocks are listed in their order with what they are used for.
        screen = await list_shown(pilot)
        assert rows(screen) == [
            ["100", "on", "Nobody laughs", "grim"],
            ["200", "on", "The house", "characters, narrative"],
            ["300", "off", "For Mira", "Mira"],
            ["600", "on", "Weather [/b]", "always"],
            ["1,600", "–", "Gentle", "all ages"],
        ]
        # The outline shows the tokens of what the chosen agent is given.
        shown = outline(screen)
        names = [name for name, _ in shown]
        assert names[0].startswith("character/full@")
        assert names[1:-1] == ["+ Nobody laughs", "+ Weather [/b]", "+ The house"]
        counts = [int(count.replace(",", "")) for _, count in shown]
        assert sum(counts[:-1]) == counts[-1]
        made = session_of(app).edits.outline(AgentRole.CHARACTER, Slot.RED)
        assert [part.tokens for part in made.parts] == counts[:-1]
        screen.query_one("#agent", Select).value = (AgentRole.CONTEXT_SUMMARY, None)
        await until(pilot, lambda: outline(screen)[0][0].startswith("context_summary/full@"))
        assert [name for name, _ in outline(screen)[1:-1]] == ["+ Nobody laughs", "+ Weather [/b]"]
        # Another variant is stored and its blocks are in the outline.
        screen.query_one("#variant", Select).value = "all ages"
        await until(pilot, lambda: session_of(app).snapshot.prompt_blocks.variant == "all ages")
        await until(pilot, lambda: "+ Gentle" in [name for name, _ in outline(screen)])
        assert "+ Nobody laughs" not in [name for name, _ in outline(screen)]


async def test_keys_that_come_while_a_block_is_stored_count_and_switch_add_and_delete_blocks(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        # Keys that come while a block is stored before it closes are stored too.
        screen = await list_shown(pilot)
        await pilot.press("enter")
        editor = await editor_shown(pilot)
        gate, save = asyncio.Event(), editor.autosave._save

        async def held() -> None:
            await save()
            await gate.wait()

        editor.autosave._save = held
        await pilot.press("!", "escape", "?")
        gate.set()
        await until(pilot, lambda: app.screen is screen)
        assert _text(session_of(app), 2) == "No jokes.!?"
        # A block is switched, added and deleted by keys.
        session = session_of(app)
        await pilot.press("space")
        await until(pilot, lambda: rows(screen)[0][1] == "off")
        stored = session.snapshot.prompt_blocks.find(2)
        assert stored is not None
        assert not stored.is_on
        await pilot.press("d")
        await until(pilot, lambda: "Delete “Nobody laughs”?" in screen_text(app))
        await pilot.press("right", "enter")
        await until(pilot, lambda: session.snapshot.prompt_blocks.find(2) is None)
        await until(pilot, lambda: rows(screen)[0][2] == "The house")
        # A new block is stored with its first letter.
        before = session.snapshot.prompt_blocks
        await text_of_new_block(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert session.snapshot.prompt_blocks == before
        await text_of_new_block(pilot)
        await pilot.press("x", "y")
        await until(pilot, partial(_has_text, session, 2, "xy"))
        await pilot.press("z", "escape")
        await until(pilot, lambda: app.screen is screen)
        assert session.snapshot.prompt_blocks.find(2) == PromptBlock(id=2, name="New block", text="xyz")


def _text(session: SessionHandle, number: int) -> str:
    block = session.snapshot.prompt_blocks.find(number)
    return block.text if block is not None else ""


def _has_text(session: SessionHandle, number: int, text: str) -> bool:
    return _text(session, number) == text


CANNOT_BE_STORED = (
    ("order", "99", "An order is 100 to 1,600."),
    ("order", "x", "An order is 100 to 1,600."),
    ("name", " ", "A block needs a name."),
    ("characters", "Ines", "“Ines” is no character; there are Mira"),
    ("agents", "all", "“all” is no agent; there are characters, narrative"),
    ("variants", "noir", "“noir” is no variant; there are default, grim"),
)


async def test_what_is_typed_is_stored_by_itself_and_a_field_that_cannot_be_stored_is_named(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_blocks, size=(120, 40)) as (pilot, app):
        # A field that cannot be stored is named, and the rest is stored.
        screen = await list_shown(pilot)
        await pilot.press("enter")
        editor = await editor_shown(pilot)
        text = "No jokes."
        for name, value, said in CANNOT_BE_STORED:
            field = editor.query_one(f"#{name}", Input)
            valid, field.value, text = field.value, value, f"{text}!"
            await pilot.press("!")
            await until(pilot, partial(_has_text, session_of(app), 2, text), name)
            assert said in screen_text(app)
            stored = session_of(app).snapshot.prompt_blocks.find(2)
            before = BLOCKS.find(2)
            assert stored is not None
            assert before is not None
            assert replace(stored, text=before.text) == before
            await until(pilot, lambda: "not all stored" in screen_text(app))
            field.value = valid
            await until(pilot, lambda: "not all stored" not in screen_text(app))
        # It is not lost without a question.
        editor.query_one("#order", Input).value = "x"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is editor)
        editor.query_one("#order", Input).value = "100"
        editor.query_one(CappedTextArea).focus()
        await pilot.press(*["backspace"] * len(CANNOT_BE_STORED))
        await until(pilot, lambda: session_of(app).snapshot.prompt_blocks == BLOCKS)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # What is typed is stored by itself, and the list shows it.
        await pilot.press("enter")
        editor = await editor_shown(pilot)
        await pilot.press(*" Ever.")
        session = session_of(app)
        await until(pilot, lambda: _text(session, 2) == "No jokes. Ever.")
        for name, value in (
            ("name", "Grim  humour"),
            ("order", "450"),
            ("characters", "mira, 2"),
            ("agents", "Characters"),
            ("variants", "all ages, grim"),
        ):
            editor.query_one(f"#{name}", Input).value = value
        editor.query_one("#place", Select).value = BlockPlace.MATERIAL
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert session.snapshot.prompt_blocks.find(2) == PromptBlock(
            id=2,
            name="Grim humour",
            text="No jokes. Ever.",
            order=450,
            place=BlockPlace.MATERIAL,
            variants=("all ages", "grim"),
            slots=(Slot.RED, Slot.ORANGE),
            roles=(AgentRole.CHARACTER,),
        )
        await until(pilot, lambda: "Grim humour" in screen_text(app))


async def test_a_text_that_leaves_no_room_is_stored_switched_off(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.agents.sections.prompt_blocks._SHARE", 0.000_1)
    async with desktop.window(make_active) as (pilot, app):
        await list_shown(pilot)
        await text_of_new_block(pilot)
        await pilot.press(*"It rains for ever and ever on every one of these roofs.")
        session = session_of(app)
        await until(pilot, lambda: _text(session, 1).endswith("roofs."))
        stored = session.snapshot.prompt_blocks.find(1)
        assert stored is not None
        assert not stored.is_on
        assert "Stored, and switched off" in screen_text(app)


async def test_a_window_that_only_reads_shows_and_follows_and_edits_nothing(desktop: Desktop) -> None:
    await desktop.prepare(make_blocks)
    async with desktop.engine("writer") as writer:
        [summary] = await writer.sessions()
        session = await writer.open(summary.id)
        async with desktop.window() as (pilot, app):
            screen = await list_shown(pilot)
            await session.edits.edit_prompt_blocks(BLOCKS.with_variant("all ages").without_block(2))
            await until(pilot, lambda: len(rows(screen)) == 4)
            await pilot.press("space", "s", "n", "d")
            assert app.screen is screen
            await pilot.press("enter")
            editor = await editor_shown(pilot)
            await pilot.press("x")
            assert editor.query_one(CappedTextArea).read_only
            assert editor.query_one("#name", Input).disabled
        assert session.snapshot.prompt_blocks == BLOCKS.with_variant("all ages").without_block(2)
        await session.aclose()


async def test_the_palette_opens_the_list_in_which_variants_and_the_starting_set_are_added(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_active) as (pilot, app):
        # The palette offers it and help explains it.
        await pilot.press("ctrl+p")
        await pilot.press(*"prompt bl")
        await until(pilot, lambda: "Your own rules for the agents" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PromptBlocksScreen))
        await until(pilot, lambda: app.screen.focused is not None)
        await pilot.press("f1")
        await until(pilot, lambda: "texts of yours that agents are given" in screen_text(app))
        await pilot.press("escape")
        screen = await in_front(pilot, PromptBlocksScreen)
        # A variant is added and removed.
        session = session_of(app)
        await pilot.press("v")
        await until(pilot, lambda: "A variant of this chapter" in screen_text(app))
        await pilot.press(*"noir", "enter")
        await until(pilot, lambda: session.snapshot.prompt_blocks.variant == "noir")
        await pilot.press("x")
        await until(pilot, lambda: "Remove the variant" in screen_text(app))
        await pilot.press("right", "enter")
        await until(pilot, lambda: session.snapshot.prompt_blocks == NO_PROMPT_BLOCKS)
        # A variant with marks is refused in a sentence.
        await pilot.press("v")
        await until(pilot, lambda: "A variant of this chapter" in screen_text(app))
        await pilot.press(*"[/b]", "enter")
        await until(pilot, lambda: screen.query_one("#trouble", Banner).is_shown)
        await until(pilot, lambda: "has 1 to 30 letters" in screen_text(app))
        # The starting set is added once and switched off.
        assert "no prompt blocks" in screen_text(app)
        await pilot.press("s")
        await until(pilot, lambda: len(rows(screen)) == 16)
        blocks = session_of(app).snapshot.prompt_blocks
        assert not [block for block in blocks.blocks if block.is_on]
        assert [block.order for block in blocks.in_order] == [
            *(100, 200, 300, 400, 500, 600, 600, 700),
            *(900, 1_000, 1_100, 1_200, 1_300, 1_400, 1_500, 1_600),
        ]
        await pilot.press("s", "space")
        await until(pilot, lambda: rows(screen)[0][1] == "on")
        assert len(rows(screen)) == 16


def test_pictures_without_blocks_and_of_the_starting_set(
    desktop: Desktop, pictures_match: PicturesMatch
) -> None:
    desktop.prepare_now(make_active)

    async def without(pilot: Pilot[Any]) -> None:
        screen = await list_shown(pilot)
        await until(pilot, lambda: screen.query_one(OutlineView).size.width)

    async def starting_set(pilot: Pilot[Any]) -> None:
        await pilot.press("s")
        screen = pilot.app.screen
        assert isinstance(screen, PromptBlocksScreen)
        await until(pilot, lambda: len(rows(screen)) == 16)

    assert pictures_match(desktop.app(), {"without": without, "starting_set": starting_set})


def test_pictures_of_the_list_and_of_the_editor(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(make_blocks)

    async def shown(pilot: Pilot[Any]) -> None:
        screen = await list_shown(pilot)
        await until(pilot, lambda: rows(screen) and outline(screen))

    async def editor(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        screen = await editor_shown(pilot)
        screen.query_one("#characters", Input).value = "Ines"
        await until(pilot, lambda: "not all stored" in screen_text(pilot.app))

    assert pictures_match(desktop.app(), {"list": shown, "editor": editor})


async def test_one_block_is_opened_or_begun_for_a_key_that_comes_twice_and_quitting_stores_its_text(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_blocks) as (pilot, app):
        # One block is opened for Enter that comes twice.
        screen = await list_shown(pilot)
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await editor_shown(pilot)
        await pilot.pause()
        assert sum(isinstance(one, BlockScreen) for one in app.screen_stack) == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # One block is begun for a key that comes twice.
        screen.action_add()
        screen.action_add()
        await editor_shown(pilot)
        await pilot.pause()
        assert sum(isinstance(one, BlockScreen) for one in app.screen_stack) == 1
        await pilot.press("x")
        await until(pilot, lambda: screen.query_one(DataTable).row_count == len(BLOCKS.blocks) + 1)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        # Quitting stores what was typed just now.
        screen.query_one(DataTable).move_cursor(row=0)
        await pilot.press("enter")
        editor = await editor_shown(pilot)
        editor.query_one(CappedTextArea).insert(" To the last word.")
        await app.workspace.close(insists=True)
    async with desktop.engine() as engine:
        [summary] = await engine.sessions()
        snapshot = await engine.reader(summary.id).load()
        block = snapshot.prompt_blocks.find(2)
        assert block is not None
        assert block.text == "No jokes. To the last word."
