"""The key that stores what a dialog asks for has the word of its button, and all have the same word."""

import re
from pathlib import Path

import pytest
from textual import events

import storyengine_tui
from core.domain.bank.details import ItemKind
from storyengine_tui.screens.bank.item_modal import AddItemModal
from storyengine_tui.screens.library.shelf.title_modal import ExportModal, NameModal
from storyengine_tui.screens.narrative.revisions.revision_modals import CorrectionModal, RebuildModal
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.play.scene.line_modals import NarrationModal
from storyengine_tui.screens.play.scene.stage_modals import AwayModal
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from tests.tui.engine_app import Desktop, in_front, make_active, screen_text, until
from tests.tui.source_strings import strings_below

WORDS_OF_STORING = re.compile(r"^Store\b|without storing|did not store|^(S|Not s)tored[.;]|stored, and will")


@pytest.mark.anyio
async def test_the_key_that_stores_has_the_word_of_the_button(desktop: Desktop) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        assert app.session is not None
        chapter = app.session.snapshot.session
        dialogs: list[tuple[BoxModal[str] | BoxModal[bool] | BoxModal[None], str]] = [
            (NameModal("Old"), "Save"),
            (ExportModal("old.json"), "Export"),
            (RebuildModal("memory"), "Rebuild"),
            (AddItemModal(chapter, refuse, ItemKind.FACT), "Add"),
            (ReplyModal(refuse, 100, "Yes."), "Save"),
            (CorrectionModal(refuse, 100), "Add"),
            (NarrationModal(app.session), "Add"),
            (AwayModal(app.session), "Save"),
        ]
        for dialog, word in dialogs:
            app.push_screen(dialog)
            await until(pilot, lambda word=word: f"^s {word} " in screen_text(app))  # type: ignore[misc]
            assert word == "Save" or "^s Save" not in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)


def test_no_button_no_question_and_no_outcome_of_it_says_store_in_place_of_save() -> None:
    found = [
        f"{name}: {text}"
        for name, text in strings_below(Path(storyengine_tui.__file__).parent)
        if WORDS_OF_STORING.search(text)
    ]
    assert not found


@pytest.mark.anyio
async def test_the_key_stores_a_text_once_it_differs(desktop: Desktop) -> None:
    stored: list[str] = []

    async def store(text: str) -> None:
        stored.append(text)

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        dialog = ReplyModal(store, 100, "Yes.")
        app.push_screen(dialog)
        await in_front(pilot, ReplyModal)
        await pilot.press("ctrl+s")
        assert app.screen is dialog
        await pilot.press(" ", "N", "o", "ctrl+s")
        await until(pilot, lambda: app.screen is app.chapter)
        assert stored == ["Yes. No"]


@pytest.mark.anyio
@pytest.mark.parametrize(("keys", "stays"), [("N", False), ("", True), ("N\b", True)])
async def test_the_key_stores_a_letter_that_came_in_the_same_packet_and_no_unchanged_text(
    desktop: Desktop, keys: str, stays: bool
) -> None:
    stored: list[str] = []

    async def store(text: str) -> None:
        stored.append(text)

    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        dialog = ReplyModal(store, 100, "Yes.")
        app.push_screen(dialog)
        await in_front(pilot, ReplyModal)
        for key in keys:
            app.post_message(events.Key("backspace", None) if key == "\b" else events.Key(key, key))
        app.post_message(events.Key("ctrl+s", None))
        app.post_message(events.Key("escape", None))
        await until(pilot, lambda: app.screen is app.chapter)
        assert stored == ([] if stays else ["Yes.N"])
