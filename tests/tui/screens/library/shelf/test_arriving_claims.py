"""Files that are imported together: what they claim is asked about once, as for one file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.exchange.library.library_files import read_file
from core.exchange.session_export import from_json, to_json
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.shelf import arriving
from storyengine_tui.screens.library.shelf.arriving import NOTHING_IMPORTED, OR_NOTHING
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from tests.core.exchange.test_arrivals import CHAT, VERSIONS
from tests.core.library.cards.card_samples import V2, text_of
from tests.tui.engine_app import Desktop, until
from tests.tui.screens.library.shelf.test_arriving import draft, paste, question
from tests.tui.screens.library.shelf.test_shelves import heading, shelf

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_models_and_settings_of_several_files_are_asked_about_once(
    desktop: Desktop, tmp_path: Path, is_trusted: bool
) -> None:
    body = from_json((VERSIONS / "export-8-bank.json").read_bytes())
    tab1 = replace(body.tab1, profiles={Slot.RED: Profile(model="openrouter:mine")})
    (tmp_path / "a.json").write_bytes(to_json(replace(body, tab1=tab1)))
    data = {**V2["data"], "name": "Spy", "extensions": {"story_engine": {"group": "Crew"}}}
    (tmp_path / "b.json").write_bytes(text_of({**V2, "data": data}))
    (tmp_path / "c.json").write_bytes(b"[]")
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        await paste(pilot, str(tmp_path))
        first = app.screen
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal) and app.screen is not first)
        asked = question(app.screen)
        assert "a.json: Its characters bring models: openrouter:mine." in asked
        assert "b.json: group Crew" in asked
        await pilot.press(*(["right"] if is_trusted else []), "enter")
        await until(
            pilot, lambda: isinstance(app.screen, ShelfScreen) and "2 imported" in heading(app.screen)
        )
        assert ("2 without the group, model" in heading(app.screen)) is not is_trusted
        assert app.engine is not None
        [spy] = await app.engine.library.characters.listed()
        assert spy.profile.group == ("Crew" if is_trusted else "General")
        assert app.session is not None
        [made] = [one.id for one in await app.engine.sessions() if one.id != app.session.id]
        found = from_json(await app.engine.export(made)).tab1.profiles.get(Slot.RED, Profile())
        assert found.model == ("openrouter:mine" if is_trusted else "")


async def test_several_files_are_read_once_and_again_only_beyond_what_is_kept_until_the_answer(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = [text_of({**V2, "data": {**V2["data"], "name": name}}) for name in ("Ada", "Bea", "Cyd")]
    for name, content in zip("abc", contents, strict=True):
        (tmp_path / f"{name}.json").write_bytes(content)
    read = list[str]()

    async def read_counted(file: Path, most: int) -> bytes:
        read.append(file.name)
        return await read_file(file, most)

    monkeypatch.setattr(arriving, "read_file", read_counted)
    monkeypatch.setattr(arriving, "LARGEST_FILE", len(contents[0]) + len(contents[1]))
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        await paste(pilot, str(tmp_path))
        await pilot.press("right", "enter")
        await until(
            pilot, lambda: isinstance(app.screen, ShelfScreen) and "3 imported" in heading(app.screen)
        )
    assert read == ["a.json", "b.json", "c.json", "c.json"]


@pytest.mark.parametrize("count", [1, 2])
async def test_esc_at_the_question_about_models_imports_nothing(
    desktop: Desktop, tmp_path: Path, count: int
) -> None:
    body = from_json((VERSIONS / "export-8-bank.json").read_bytes())
    tab1 = replace(body.tab1, profiles={Slot.RED: Profile(model="openrouter:mine")})
    (tmp_path / "a.json").write_bytes(to_json(replace(body, tab1=tab1)))
    if count > 1:
        (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, CHAT)))
    async with desktop.window(draft) as (pilot, app):
        screen = await shelf(pilot, "2", ChaptersScreen)
        assert app.engine is not None
        before = len(await app.engine.sessions())
        await paste(pilot, str(tmp_path))
        first = app.screen
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal) and app.screen is not first)
        assert OR_NOTHING in question(app.screen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen and NOTHING_IMPORTED in heading(screen))
        assert len(await app.engine.sessions()) == before
