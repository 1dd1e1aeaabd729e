"""A text is tried on a lorebook while it is typed: what fires, in the order of the input, and why not."""

import json
from dataclasses import replace

import pytest
from textual.widgets import Input

from core.engine.engine import Engine
from core.engine.services.library.lore_trial import LoreTrialInput, LoreTrials
from core.library.card_lore import LoreFile
from core.library.lore.activation.result import Outcome
from core.library.lore.activation.scanner import Activation
from storyengine_tui.screens.library.lore.entry_screen import EntryScreen
from storyengine_tui.screens.library.lore.try_screen import TryScreen
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.row_list import RowList
from tests.tui.engine_app import Desktop, in_front, make_draft, screen_text, until
from tests.tui.screens.library.lore.lore_screens import (
    lorebook_shown,
    make_lore,
    text_of,
    try_shown,
)

pytestmark = pytest.mark.anyio


def outcomes(screen: TryScreen) -> list[tuple[str, bool, str]]:
    found: RowList[Outcome] = screen.query_one("#outcomes", RowList)
    return [(one.name, one.is_active, one.sentence) for one in found.rows]


async def test_every_entry_says_why_it_fires_or_not_and_is_edited_from_there_and_tried_again(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_lore) as (pilot, app):
        # Every entry says why it fires or not while the text is typed.
        await lorebook_shown(pilot)
        screen = await try_shown(pilot)
        await until(pilot, lambda: text_of(screen, "#sum") == "1 of 4 entries, about 3 tokens")
        await pilot.press(*"By the lamp.", "enter", "enter", *"A harbour")
        await until(pilot, lambda: text_of(screen, "#sum").startswith("3 of 4 entries"))
        assert outcomes(screen) == [
            ("The lamp", True, "“lamp” is in message 1."),
            ("Weather", True, "It is always active."),
            ("Harbour", True, "“harbour” is in message 2."),
            ("Ships", False, "It is turned off."),
        ]
        screen.query_one("#depth", Input).value = "1"
        await until(pilot, lambda: text_of(screen, "#sum").startswith("2 of 4 entries"))
        assert ("The lamp", False, "None of its keys is in the text.") in outcomes(screen)
        area = screen.query_one(CappedTextArea)
        area.text = ""
        area.focus()
        screen.query_one("#depth", Input).value = "4"
        # What the budget leaves out comes before what was not found.
        await pilot.press(*"lamp and harbour")
        await until(pilot, lambda: text_of(screen, "#sum").startswith("3 of 4 entries"))
        screen.query_one("#budget", Input).value = "8"
        await until(pilot, lambda: "left out by the budget" in text_of(screen, "#sum"))
        by_name = {name: (is_active, why) for name, is_active, why in outcomes(screen)}
        assert by_name["The lamp"] == (False, "The budget is used up.")
        order = [is_active for _, is_active, _ in outcomes(screen)]
        assert order == sorted(order, reverse=True)
        assert outcomes(screen)[-1][0] == "Ships"
        area = screen.query_one(CappedTextArea)
        area.text = ""
        area.focus()
        screen.query_one("#budget", Input).value = ""
        # An entry is edited from its outcome and tried again.
        await pilot.press(*"a candle")
        await until(pilot, lambda: bool(outcomes(screen)))
        found: RowList[Outcome] = screen.query_one("#outcomes", RowList)
        found.move_to([one.name for one in found.rows].index("The lamp"))
        assert "⏎ Edit" not in screen_text(app)
        found.focus()
        await until(pilot, lambda: "⏎ Edit" in screen_text(app))
        await pilot.press("enter")
        editor = await in_front(pilot, EntryScreen)
        editor.query_one("#keys", Input).value = "candle"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: ("The lamp", True, "“candle” is in message 1.") in outcomes(screen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
        again = await try_shown(pilot)
        assert again.query_one(CappedTextArea).text == "a candle"
        # It is tried again once something is stored: an entry may have another uid then.
        await until(pilot, lambda: bool(outcomes(again)))
        assert again.editor is not None
        book = again.editor.book
        entries = tuple(replace(one, uid=f"{one.uid}-2") for one in book.entries)
        again.editor.book = replace(book, entries=entries)
        again.editor.show_saved()
        shown: RowList[Outcome] = again.query_one("#outcomes", RowList)
        await until(pilot, lambda: all(one.uid.endswith("-2") for one in shown.rows))
        again.editor.book = book


async def test_an_expression_that_runs_for_ever_is_stopped_and_said(desktop: Desktop) -> None:
    async def slow(engine: Engine) -> None:
        await make_draft(engine)
        entries = {
            str(uid): {"uid": uid, "key": [f"/(a|aa)+(?:{uid})?$/"], "comment": "Slow", "content": "x"}
            for uid in range(50)
        }
        book = {"name": "Slow", "entries": entries}
        await engine.library.lore.import_lore(json.dumps(book).encode(), "slow.json")

    async with desktop.window(slow) as (pilot, _):
        await lorebook_shown(pilot)
        screen = await try_shown(pilot)
        screen.query_one(CappedTextArea).insert("a" * 5_000 + "!")
        await until(pilot, lambda: any("takes too long" in why for _, _, why in outcomes(screen)))


async def test_a_trial_that_goes_wrong_is_said_and_the_next_text_is_tried(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    activate = LoreTrials.activate

    def one_breaks(trials: LoreTrials, file: LoreFile, trial: LoreTrialInput) -> Activation:
        if trial.text == "break":
            raise KeyError("no such entry")
        return activate(trials, file, trial)

    monkeypatch.setattr(LoreTrials, "activate", one_breaks)
    async with desktop.window(make_lore) as (pilot, _):
        await lorebook_shown(pilot)
        screen = await try_shown(pilot)
        screen.query_one(CappedTextArea).insert("break")
        await until(pilot, lambda: text_of(screen, "#sum").startswith("This text could not be tried"))
        assert "no such entry" in caplog.text
        screen.query_one(CappedTextArea).insert(" the lamp")
        await until(pilot, lambda: text_of(screen, "#sum").startswith("2 of 4 entries"))


async def test_what_entries_ask_for_and_a_trial_lacks_is_said_once_one_asks(desktop: Desktop) -> None:
    async with desktop.window(make_lore) as (pilot, app):
        book = await lorebook_shown(pilot)
        screen = await try_shown(pilot)
        note = screen.query_one("#not-tried")
        await until(pilot, lambda: text_of(screen, "#sum").startswith("1 of 4"))
        assert not note.display
        assert book.editor is not None
        first = book.editor.book.entries[0]
        book.editor.put(replace(first, filter_tags=("sea",), matches_notes=True))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is book)
        screen = await try_shown(pilot)
        await until(pilot, lambda: screen.query_one("#not-tried").display)
        said = text_of(screen, "#not-tried")
        assert said == "A trial ignores these conditions of entries: texts of a character or a persona, tags."
