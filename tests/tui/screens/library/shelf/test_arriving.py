"""What is dropped on the lists of the library, or pasted, is offered, and stored when the GM says so."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

from core.domain.errors import ErrorCode, StorageError
from core.engine.engine import Engine
from core.exchange.library.library_files import read_file
from storyengine_tui.screens.library.cast.cast_screen import CastScreen
from storyengine_tui.screens.library.chapters.books_screen import BooksScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.lore.lore_screen import LoreScreen
from storyengine_tui.screens.library.shelf import arriving
from storyengine_tui.screens.library.shelf.arriving import NOT_READABLE
from storyengine_tui.screens.library.shelf.shelf_screen import ShelfScreen
from storyengine_tui.screens.library.shelf.title_modal import FileModal
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from tests.bad_text import KINDS, acts
from tests.core.exchange.test_arrivals import CHAT, VERSIONS
from tests.core.library.cards.card_samples import V2, V3, packed, picture, t_ext, text_of
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import (
    Desktop,
    in_front,
    make_active,
    make_draft,
    opened,
    screen_text,
    until,
)
from tests.tui.screens.library.shelf.test_shelves import LORE, cells, heading, shelf

pytestmark = pytest.mark.anyio
BAD = " ".join(kind.text for kind in KINDS)


async def draft(engine: Engine) -> None:
    await make_draft(engine)


def question(screen: Screen[Any]) -> str:
    return "\n".join(str(one.content) for one in screen.query(Static))


async def paste(pilot: Pilot[None], text: str) -> None:
    """Paste as a terminal does, and wait for the question."""
    pilot.app.post_message(events.Paste(text))
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmModal))


async def type_path(pilot: Pilot[None], path: Path) -> None:
    """Answer the key for an import with a path, and wait for the question."""
    await pilot.press("i")
    await in_front(pilot, FileModal)
    pilot.app.post_message(events.Paste(str(path)))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmModal))


async def confirm(pilot: Pilot[None], kind: type[ShelfScreen[Any]]) -> ShelfScreen[Any]:
    """Say yes, and return the list that tells the outcome: the one below the question, or another one."""
    before = heading(pilot.app.screen_stack[-2])

    def has_outcome() -> bool:
        screen = pilot.app.screen
        said = heading(screen) if isinstance(screen, kind) else before
        return said != before and ("imported" in said or "already" in said)

    await pilot.press("right", "enter")
    await until(pilot, has_outcome)
    screen = pilot.app.screen
    assert isinstance(screen, kind)
    return screen


async def test_a_card_a_lorebook_and_a_chat_dropped_on_the_chapters_go_where_they_belong(
    desktop: Desktop, tmp_path: Path
) -> None:
    card, lore, chat = tmp_path / "Kara of Rime.png", tmp_path / "harbour.json", tmp_path / "Late.jsonl"
    card.write_bytes(picture(t_ext("ccv3", packed(V3))))
    lore.write_text(json.dumps(LORE))
    chat.write_text("\n".join(map(json.dumps, CHAT)))
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "2", ChaptersScreen)
        await paste(pilot, str(card).replace(" ", "\\ "))
        assert "Kara of Rime.png:" in question(app.screen)
        cast = await confirm(pilot, CastScreen)
        assert [row[0] for row in cells(cast)] == ["Kara"]
        await paste(pilot, f"'{lore}'")
        assert "Take “Harbour [/x]” into your lore?" in question(app.screen)
        shown = await confirm(pilot, LoreScreen)
        assert [row[0] for row in cells(shown)] == ["Harbour [/x]"]
        await paste(pilot, f"{chat}\n")
        assert "Take “Late” as a chapter?" in question(app.screen)
        chapters = await confirm(pilot, ChaptersScreen)
        assert "Late" in [row[0] for row in cells(chapters)]


@pytest.mark.parametrize("way", ["dropped", "by its path"])
async def test_a_folder_and_several_files_are_asked_about_once_and_each_is_taken_or_refused(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    read: list[str] = []

    async def counting(file: Path, most: int) -> bytes:
        read.append(file.name)
        return await read_file(file, most)

    monkeypatch.setattr(arriving, "read_file", counting)
    for name, text in (("a.json", text_of(V3)), ("b.json", json.dumps(LORE).encode()), ("c.json", b"[]")):
        (tmp_path / name).write_bytes(text)
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        await (paste(pilot, str(tmp_path)) if way == "dropped" else type_path(pilot, tmp_path))
        asked = question(app.screen)
        assert "Import 3 files?" in asked
        assert "a.json\nb.json\nc.json" in asked
        done = await confirm(pilot, CastScreen)  # the list stays where some of its files were among them
        assert [row[0] for row in cells(done)] == ["Kara"]
        assert heading(done) == "2 imported; 1 refused (c.json holds no card, lorebook or chapter.)"
        assert sorted(read) == ["a.json", "b.json", "c.json"]
        assert app.engine is not None
        assert len(await app.engine.library.characters.listed()) == 1


async def test_chats_and_chapters_in_a_folder_are_offered_as_single_files_are(
    desktop: Desktop, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(text_of(V3))
    (tmp_path / "Late.jsonl").write_text("\n".join(map(json.dumps, CHAT)))
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        await paste(pilot, str(tmp_path))
        assert "Import 2 files?" in question(app.screen)
        assert app.engine is not None
        await confirm(pilot, CastScreen)
        assert "Late" in [one.title for one in await app.engine.sessions()]


async def test_a_storage_failure_says_which_files_were_taken_and_where_it_ended(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for file in files:
        file.write_bytes(b"{}")

    async def take(file: Path) -> tuple[bool, bool]:
        if file.name == "b.json":
            raise StorageError(ErrorCode.STORAGE_SAVE_FAILED, "The disk is full.", is_transient=False)
        return True, False

    with pytest.raises(StorageError) as failed:
        await arriving.import_each(files, take)
    assert failed.value.message == ("1 imported. 2 files from b.json on not imported: The disk is full.")
    assert not failed.value.is_transient


async def test_what_was_confirmed_is_imported_although_the_list_is_left_at_once(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("a.json", text_of(V3)), ("b.json", json.dumps(LORE).encode())):
        (tmp_path / name).write_bytes(text)
    gate = asyncio.Event()

    async def read_late(file: Path, most: int) -> bytes:
        await gate.wait()
        return await read_file(file, most)

    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        monkeypatch.setattr(arriving, "read_file", read_late)
        await paste(pilot, str(tmp_path))
        await pilot.press("right", "enter", "escape")
        await until(pilot, lambda: app.screen is app.chapter)
        gate.set()
        await until(pilot, lambda: not any(one.group == "list" for one in app.workers))
        assert app.engine is not None
        counts = await app.engine.library.counts()
        assert (counts.characters, counts.lorebooks) == (1, 1)


async def test_an_exported_chapter_is_taken_twice_by_two_titles_and_a_broken_one_is_refused(
    desktop: Desktop, tmp_path: Path
) -> None:
    file, broken = tmp_path / "late.json", tmp_path / "broken.json"

    def titles(screen: Screen[Any]) -> set[str]:
        return {row[0] for row in cells(screen)}

    async with desktop.window(lambda engine: make_active(engine, 2), size=(120, 40)) as (pilot, app):
        assert app.engine is not None
        assert app.session is not None
        file.write_bytes(await app.engine.export(app.session.id))
        broken.write_bytes(file.read_bytes()[:-50])
        screen = await shelf(pilot, "2", ChaptersScreen)
        [mine] = titles(screen)
        for count, title in enumerate((f"{mine} (copy)", f"{mine} (copy 2)"), start=2):
            await paste(pilot, str(file))
            assert f"Take “{mine}” as a chapter?" in question(app.screen)
            assert "An exported chapter with 2 prompts: " in question(app.screen)
            screen = await confirm(pilot, ChaptersScreen)
            await until(pilot, lambda: len(cells(app.screen)) == count)  # noqa: B023 - awaited here
            assert heading(screen) == f"“{title}” was imported"
        assert titles(screen) == {mine, f"{mine} (copy)", f"{mine} (copy 2)"}
        # The same by a path, for a terminal without a mouse.
        await pilot.press("i")
        await in_front(pilot, FileModal)
        app.post_message(events.Paste(str(broken)))
        await pilot.press("enter")
        await until(pilot, lambda: "broken.json: The file cannot" in screen_text(app))
        await pilot.press("ctrl+g")
        app.post_message(events.Paste(str(file)))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert len(titles(screen)) == 3


async def test_a_chapter_of_a_book_is_shown_in_the_books(desktop: Desktop) -> None:
    async with desktop.window(draft) as (pilot, _):
        await shelf(pilot, "2", ChaptersScreen)
        await paste(pilot, str(VERSIONS / "export-5-book.json"))
        books = await confirm(pilot, BooksScreen)
        assert "was imported" in heading(books)


NEITHER = (
    ("The wind turns.", NOT_READABLE),
    ("/nowhere/kara.png", "cannot be read"),
    ('{"spec": ', "The pasted text is not valid JSON: line 1 cannot be read."),
    ("{}", "The pasted text holds no card, lorebook or chapter."),
    (f'{{"name": "{"x" * 5_000_000}"}}', "The pasted text holds no card, lorebook or chapter."),
    (f"/nowhere/{BAD}", ""),
    (f"{{ {BAD}", "The pasted text is not valid JSON"),
)


async def test_what_is_pasted_is_refused_or_asked_about_and_a_card_is_taken_with_its_report(
    desktop: Desktop,
) -> None:
    bad = {**V2, "data": {**V2["data"], "name": f"Kara {BAD}"[:150]}}
    async with desktop.window(draft) as (pilot, app):
        # What is none of these is refused in a sentence.
        screen = await shelf(pilot, "3", CastScreen)
        banner = screen.query_one("#trouble", Banner)
        before = heading(screen)
        for text, said in NEITHER:
            app.post_message(events.Paste(text))
            await until(pilot, lambda: bool(banner.display) or heading(screen) != before, said)
            shown = screen_text(app)
            assert said[:60] in " ".join(shown.split())
            assert not acts(shown)
            assert app.screen is screen
            banner.hide()
            screen.query_one("#heading", Static).update(before)
        assert app.engine is not None
        assert not (await app.engine.library.counts()).is_used
        # Nothing is stored when the question is answered with no.
        await paste(pilot, text_of(V2).decode())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert not await app.engine.library.characters.listed()
        # The JSON of a card is pasted and taken with its report.
        card = text_of(V3).decode()
        await paste(pilot, card)
        asked = question(app.screen)
        assert "Take “Kara” into your cast?" in asked
        assert "Scenario → the chapter." in asked
        cast = await confirm(pilot, CastScreen)
        assert heading(cast) == "“Kara” was imported"
        [kara] = await app.engine.library.characters.listed()
        kept = await app.engine.library.characters.card(kara)
        assert kept.content == card.encode()
        # The same once more is not stored twice.
        await paste(pilot, card)
        again = await confirm(pilot, CastScreen)
        await until(pilot, lambda: heading(again) == "It is in the library already, as “Kara”")
        assert len(cells(again)) == 1
        # A card full of bad text is named without it.
        await paste(pilot, json.dumps(bad))
        assert not acts(screen_text(app))
        screen = await confirm(pilot, CastScreen)
        assert not acts(screen_text(app))
        # A paste into the field to find stays there.
        await pilot.press("slash")
        app.post_message(events.Paste("/etc/hosts"))
        await until(pilot, lambda: screen._field.value == "/etc/hosts")
        assert app.screen is screen
        assert not screen.query_one("#trouble", Banner).display


async def test_a_card_that_is_dropped_on_a_field_stays_text_and_the_gm_is_told_where_to_drop_it(
    desktop: Desktop, tmp_path: Path
) -> None:
    card = tmp_path / "kara [x].json"
    card.write_bytes(text_of(V3))
    async with desktop.window(draft, size=(120, 40)) as (pilot, app):
        world = app.chapter.query_one("#world", CappedTextArea)
        app.post_message(events.Paste(f"'{tmp_path / 'nothing.json'}' "))
        app.post_message(events.Paste("/narrate It snows. "))
        app.post_message(events.Paste(f"'{card}'"))
        await until(pilot, lambda: "kara [x].json" in world.text)
        await until(pilot, lambda: len(app._notifications) > 0)
        assert [one.message for one in app._notifications] == [
            "“kara [x].json” can be imported: drop it on the library (F5)."
        ]
        assert "It snows." in world.text


def test_the_question_about_a_card(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.prepare_now(draft)

    async def run_before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await shelf(pilot, "3", CastScreen)
        await paste(pilot, text_of(V3).decode())

    assert pictures_match(desktop.app(), run_before)


@pytest.mark.parametrize("way", ["pasted", "by its path"])
async def test_a_card_that_puts_itself_into_a_group_is_asked_about(
    desktop: Desktop, tmp_path: Path, way: str
) -> None:
    async with desktop.window(draft) as (pilot, app):
        await shelf(pilot, "3", CastScreen)
        for number, is_trusted in enumerate((False, True), start=1):
            ours = {"group": "Crew", "groups_visible": ["Guests"], "aliases": [f"Kara {number}"]}
            data = {**V2["data"], "name": f"Spy {number}", "extensions": {"story_engine": ours}}
            card = text_of({**V2, "data": data})
            if way == "pasted":
                await paste(pilot, card.decode())
            else:
                (tmp_path / f"{number}.json").write_bytes(card)
                await type_path(pilot, tmp_path / f"{number}.json")
            assert f"It is also called Kara {number}." in question(app.screen)
            first = app.screen
            await pilot.press("right", "enter")
            await until(pilot, lambda: isinstance(app.screen, ConfirmModal) and app.screen is not first)  # noqa: B023
            assert "group Crew; sees Guests" in question(app.screen)
            await pilot.press(*(["right"] if is_trusted else []), "enter")
            await until(
                pilot,
                lambda: isinstance(app.screen, CastScreen) and len(cells(app.screen)) == number,  # noqa: B023
            )
            assert app.engine is not None
            [kept] = [
                one for one in await app.engine.library.characters.listed() if one.name == f"Spy {number}"
            ]
            assert kept.profile.sees(("Crew",)) is is_trusted
            assert kept.profile.sees(("Guests",)) is is_trusted
