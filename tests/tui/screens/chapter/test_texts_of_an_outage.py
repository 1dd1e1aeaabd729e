"""What is typed while the database takes nothing is there again after the program was killed meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.domain.audience import EVERYONE
from core.domain.errors import ErrorCode, StorageError
from core.domain.ids import SessionId, new_uuid
from core.domain.session.prompt_block import PromptBlock
from core.domain.slot import Slot
from core.domain.story.secret import Secret
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.scene.scene import Scene
from core.engine.session.session_edits import OpenSessionEdits
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.library.prompt_blocks.block_screen import BlockScreen
from storyengine_tui.screens.setup.held_edit import HeldEdit
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.tui.engine_app import Desktop, in_front, make_active, make_draft, until
from tests.tui.rooms.chapter_page import SCRIPT, make_ended

pytestmark = pytest.mark.anyio
TEXT = "Salt."
SAVES = ("save_unsent", "edit_tab1", "define_narrative", "change_prompt_blocks")
Make = Callable[[Engine], Awaitable[Any]]
PLACES = (
    (make_active, "f3", "#prompt-red", lambda one: one.unsent.get(Slot.RED, "")),
    (make_draft, "f2", "#world", lambda one: one.tab1.world),
    (make_draft, "f2", ".-character-red .identity", lambda one: one.tab1.identities[Slot.RED]),
    (make_ended, "f4", "#definition", lambda one: one.session.definition),
)


@asynccontextmanager
async def outage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Store nothing that is typed."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

    with monkeypatch.context() as patched:
        for name in SAVES:
            patched.setattr(OpenSessionEdits, name, refuse)
        patched.setattr(Scene, "edit_secrets", refuse)
        yield


async def area(pilot: Pilot[None], app: StoryEngineApp, key: str, where: str) -> CappedTextArea:
    """Go to the tab of a field, and return that."""
    await pilot.press(key)
    await until(pilot, lambda: app.chapter.query(where))
    return app.chapter.query_one(where, CappedTextArea)


def snapshot(app: StoryEngineApp) -> Snapshot:
    assert app.workspace.session is not None
    return app.workspace.session.snapshot


def kept(desktop: Desktop) -> list[Path]:
    return list(desktop.paths.data.glob("typed.*"))


@pytest.mark.parametrize(("make", "key", "where", "stored"), PLACES)
async def test_what_is_typed_in_an_outage_outlives_the_program(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
    make: Make,
    key: str,
    where: str,
    stored: Callable[[Snapshot], str],
) -> None:
    desktop.script = SCRIPT
    await desktop.prepare(make)
    async with outage(monkeypatch), desktop.window() as (pilot, app):
        field = await area(pilot, app, key, where)
        field.focus()
        await pilot.press("ctrl+end", *TEXT)
        typed = field.text
        assert typed.endswith(TEXT)
        await until(pilot, lambda: any(TEXT in file.read_text() for file in kept(desktop)))
    async with desktop.window() as (pilot, app):
        field = await area(pilot, app, key, where)
        await until(pilot, lambda: field.text == typed)
        await until(pilot, lambda: stored(snapshot(app)) == typed)
        await until(pilot, lambda: not kept(desktop))


@pytest.mark.parametrize("kind", [SecretScreen, BlockScreen])
async def test_a_secret_and_a_prompt_block_that_are_typed_in_an_outage_outlive_the_program(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, kind: type[SecretScreen] | type[BlockScreen]
) -> None:
    async def prepare(engine: Engine) -> None:
        session = await engine.open(await make_draft(engine))
        await session.scene.edit_secrets((Secret(number=1, text="Old.", known_by=EVERYONE),))
        block = PromptBlock(id=1, name="Dry", text="Old.")
        await session.edits.change_prompt_blocks(lambda now: now.with_block(block))
        await session.aclose()

    async def shown(pilot: Pilot[None], app: StoryEngineApp) -> CappedTextArea:
        assert app.session is not None
        app.push_screen(kind(app.workspace, app.session, 1))
        return (await in_front(pilot, kind, CappedTextArea)).query_one(CappedTextArea)

    await desktop.prepare(prepare)
    async with outage(monkeypatch), desktop.window() as (pilot, app):
        field = await shown(pilot, app)
        await pilot.press("ctrl+end", *TEXT)
        await until(pilot, lambda: any(TEXT in file.read_text() for file in kept(desktop)))
        assert field.text == f"Old.{TEXT}"
    async with desktop.window() as (pilot, app):
        field = await shown(pilot, app)
        await until(pilot, lambda: field.text == f"Old.{TEXT}")
        await until(pilot, lambda: not kept(desktop))
        now = snapshot(app)
        texts = [*(one.text for one in now.secrets), *(one.text for one in now.prompt_blocks.blocks)]
        assert sorted(texts) == ["Old.", f"Old.{TEXT}"]


async def test_a_text_that_is_stored_once_the_outage_ends_is_kept_no_longer(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_active) as (pilot, app):
        field = await area(pilot, app, "f3", "#prompt-red")
        async with outage(monkeypatch):
            await pilot.press(*TEXT)
            await until(pilot, lambda: kept(desktop))
        await until(pilot, lambda: snapshot(app).unsent.get(Slot.RED) == field.text == TEXT)
        await until(pilot, lambda: not kept(desktop))


async def type_then_store(desktop: Desktop, monkeypatch: pytest.MonkeyPatch, stored: str) -> None:
    """Type in an outage, and let another window store a text in that panel once it is over."""
    desktop.script = SCRIPT
    await desktop.prepare(make_active)
    async with outage(monkeypatch), desktop.window() as (pilot, app):
        await area(pilot, app, "f3", "#prompt-red")
        await pilot.press(*TEXT)
        await until(pilot, lambda: any(TEXT in file.read_text() for file in kept(desktop)))
        session_id = snapshot(app).session.id
    async with desktop.engine() as engine:
        session = await engine.open(session_id)
        await session.edits.save_unsent(Slot.RED, stored)
        await session.aclose()


async def test_a_text_of_an_outage_is_put_before_what_another_window_stored_since(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await type_then_store(desktop, monkeypatch, "Wind.")
    async with desktop.window() as (pilot, app):
        field = await area(pilot, app, "f3", "#prompt-red")
        await until(pilot, lambda: field.text == f"Wind.\n\n{TEXT}")


@pytest.mark.parametrize("count", ["", "x", "0", "8", "-1", "9" * 5_000])
def test_a_number_of_characters_that_no_chapter_has_is_not_put_back(count: str) -> None:
    fields = {"count": ("", count), "name 9": ("", "x"), "world": ("", TEXT)}
    held = HeldEdit.of_fields(SessionId(new_uuid()), fields)
    assert held is not None
    assert held.edit == Tab1Edit(world=TEXT)


@pytest.mark.parametrize(
    "text", ["{", "[]", json.dumps({"red": 3, "orange": ["a"], "x": [1, 2]}), '{"pink": ["", "x"]}']
)
async def test_a_file_with_anything_else_is_passed_over(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    desktop.script = SCRIPT
    await desktop.prepare(make_active)
    async with outage(monkeypatch), desktop.window() as (pilot, app):
        await area(pilot, app, "f3", "#prompt-red")
        await pilot.press(*TEXT)
        await until(pilot, lambda: kept(desktop))
    [file] = kept(desktop)
    file.write_text(text)
    async with desktop.window() as (pilot, app):
        assert not (await area(pilot, app, "f3", "#prompt-red")).text


async def test_what_is_typed_while_the_database_does_not_answer_is_kept_before_it_fails(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.script = SCRIPT
    goes_on = asyncio.Event()

    async def hang(*_: Any, **__: Any) -> None:
        await goes_on.wait()
        raise StorageError(ErrorCode.STORAGE_SAVE_FAILED)

    async with desktop.window(make_active) as (pilot, app):
        field = await area(pilot, app, "f3", "#prompt-red")
        with monkeypatch.context() as patched:
            patched.setattr(OpenSessionEdits, "save_unsent", hang)
            await pilot.press(*TEXT)
            await until(pilot, lambda: kept(desktop))
            await pilot.press(*" More.")
            await until(pilot, lambda: "More." in kept(desktop)[0].read_text())
        goes_on.set()
        await until(pilot, lambda: snapshot(app).unsent.get(Slot.RED) == field.text == f"{TEXT} More.")
        await until(pilot, lambda: not kept(desktop))


async def test_a_file_of_a_text_that_was_stored_after_all_is_deleted(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await type_then_store(desktop, monkeypatch, TEXT)
    async with desktop.window() as (pilot, app):
        field = await area(pilot, app, "f3", "#prompt-red")
        await until(pilot, lambda: not kept(desktop))
        assert field.text == TEXT
