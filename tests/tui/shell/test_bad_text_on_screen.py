"""Bad text of every kind on every screen that shows it: as text, never as markup, and never as an escape."""

import asyncio
import html
import re
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import DataTable

from core.domain.session.limits import LONGEST_CORRECTION
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.domain.story.secret import LONGEST_SECRET
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Script, ScriptMatch
from core.text.cleaning import clean, clean_line
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
from storyengine_tui.screens.library.chapters.save_points_screen import SavePointsScreen
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.revisions.revision_modals import CorrectionModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.bad_text import KINDS, BadText, acts
from tests.tui.engine_app import Desktop, filled, make_active, make_draft, until

pytestmark = pytest.mark.anyio

MARKUP = ("Rich markup", "Textual markup", "SQL", "JSON", "TOML and templates", "prompt injection")


def joined(name: str, kinds: list[BadText]) -> BadText:
    """Several kinds in one text, each on lines of its own: a screen takes a second, and shows them all."""
    return BadText(name, "\n" + "\n".join(kind.text for kind in kinds) + "\n", kinds[0].is_legitimate)


GROUPS = (
    joined("markup and code", [kind for kind in KINDS if kind.name in MARKUP]),
    joined("controls and sequences", [kind for kind in KINDS if not kind.is_legitimate]),
    joined("letters", [kind for kind in KINDS if kind.is_legitimate and kind.name not in MARKUP]),
)
EVERY = pytest.mark.parametrize("kind", GROUPS, ids=lambda kind: kind.name)
SIZE = (120, 40)
TEXTS = re.compile(r"<text [^>]*>(.*?)</text>", re.S)


def script_of(text: str) -> Script:
    """A model that says the bad text, and remembers it."""
    return Script(reply=(Entry(match=ScriptMatch(schema="text"), text=text),))


async def make_bad(engine: Engine, text: str) -> None:
    """Store an ended chapter that has the text in every field, a draft, and a save slot."""
    session_id = await engine.create()
    session = await engine.open(session_id)
    await session.edits.edit_tab1(
        Tab1Edit(
            world=text,
            chapter=text,
            title=text[:180],
            names={Slot.RED: text[:30]},
            identities={Slot.RED: text},
            profiles={Slot.RED: Profile(short_description=text[:400], aliases=(text[:60],), group=text[:60])},
        )
    )
    await session.edits.define_narrative(text, 50)
    await session.wait(await session.lock())
    await session.wait(await session.submit_prompt(Slot.RED, text))
    await session.edits.save_unsent(Slot.ORANGE, text)
    slot = await engine.save_points.keep(session_id, text[:60])
    assert slot.label == clean_line(text[:60])
    assert session.snapshot.session.names == {Slot.RED: clean_line(text[:30])}
    await session.end_chapter()
    await session.wait_idle()
    await session.edits.correct_canon(text[:LONGEST_CORRECTION])
    await session.wait(await session.build_narrative())
    await session.edits.define_narrative(f"Again: {text}", 50)
    await session.wait(await session.build_narrative())
    await session.aclose()


class Pictures:
    """What each screen showed, and whether anything in it acts."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot
        self.shown = ""
        self.each: list[str] = []

    async def take(self) -> None:
        """Look at the screen as it is."""
        await self._pilot.pause()
        picture = self._pilot.app.export_screenshot()
        assert not acts(picture.replace("\r", "")), "a control character is on the screen"
        text = " ".join(html.unescape(piece) for piece in TEXTS.findall(picture)).replace("\xa0", " ")
        assert "owned.example" not in picture or "owned.example" in text, "a link, and not a text"
        self.shown += text
        self.each.append(text)


async def tour(pilot: Pilot[Any], app: StoryEngineApp) -> str:
    """Go through every screen that shows the GM's or a model's text, and return what showed."""
    pictures = Pictures(pilot)
    for key in ("f2", "f3", "f4"):
        await pilot.press(key)
        await pictures.take()
    app.chapter.do_there("narrative", "compare_drafts")
    await until(pilot, lambda: isinstance(app.screen, ComparisonScreen))
    await until(pilot, lambda: app.screen.query_one(PassageView).lines.paragraphs)
    await pictures.take()
    assert "Before it" in pictures.each[-1]
    await pilot.press("escape", "f7")
    await until(pilot, lambda: isinstance(app.screen, CallsScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count)
    await pictures.take()
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CallScreen))
    await pictures.take()
    await pilot.press("escape", "escape", "f5")
    await until(pilot, lambda: isinstance(app.screen, ChaptersScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count)
    await pictures.take()
    await pilot.press("s")
    await until(pilot, lambda: isinstance(app.screen, SavePointsScreen))
    await until(pilot, lambda: app.screen.query_one(DataTable).row_count)
    await pictures.take()
    return pictures.shown


@EVERY
async def test_it_is_shown_as_text_on_every_screen(desktop: Desktop, kind: BadText) -> None:
    desktop.script = script_of(kind.text)
    async with desktop.window(lambda engine: make_bad(engine, kind.text), size=SIZE) as (pilot, app):
        shown = await tour(pilot, app)
    assert shown.count("Before it") >= 4
    if kind.name == "markup and code":
        assert all(piece in shown for piece in ("[red]x[/red]", "[/x]", "[@click=app.quit]x[/]")), "as text"


async def test_a_correction_of_canon_is_written_and_shown_as_text(desktop: Desktop) -> None:
    desktop.script = script_of("I see.")
    await desktop.prepare(make_active)
    async with desktop.window(size=SIZE) as (pilot, app):
        await filled(pilot, "narrative")
        memory = app.chapter.query_one(MemoryCell).memory
        for number, kind in enumerate(GROUPS, start=2):
            text = kind.text[:LONGEST_CORRECTION]
            pictures = Pictures(pilot)
            app.chapter.do_there("narrative", "correct")
            await until(pilot, lambda: isinstance(app.screen, CorrectionModal))
            area = app.screen.query_one(CappedTextArea)
            app.post_message(events.Paste(text))
            await until(pilot, lambda: area.text)  # noqa: B023 - awaited here
            assert area.text == clean(text)
            await pictures.take()
            await pilot.press("tab", "tab", "enter")
            await until(pilot, lambda: len(memory.blocks) == number)  # noqa: B023 - awaited here
            await pictures.take()
            assert memory.blocks[-1].payload["correction"] == clean(text).strip()
            assert "Before it" in pictures.shown[pictures.shown.index("Correction by the GM") :]


@EVERY
async def test_a_secret_is_written_listed_and_locked_as_text(desktop: Desktop, kind: BadText) -> None:
    text = kind.text[:LONGEST_SECRET]
    async with desktop.window(make_draft, size=SIZE) as (pilot, app):
        pictures = Pictures(pilot)
        app.chapter.do_there("setup", "add_secret")
        await until(pilot, lambda: isinstance(app.screen, SecretScreen))
        app.post_message(events.Paste(text))
        assert app.session is not None
        session = app.session
        await until(pilot, lambda: session.snapshot.secrets)
        assert session.snapshot.secrets[0].text == clean(text).strip()
        await pictures.take()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        app.chapter.set_focus(app.chapter.query_one("#secret-list"), scroll_visible=True)
        await pictures.take()
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pictures.take()
        await pilot.press("escape", "f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pictures.take()
        assert all("Before it" in picture for picture in pictures.each)


async def test_it_is_pasted_clean_into_a_field_and_leaves_it_as_it_was_pasted(desktop: Desktop) -> None:
    async with desktop.window(size=SIZE) as (pilot, app):
        if app.screen is not app.chapter:
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("f2")
        assert app.session is not None
        session = app.session
        for kind in GROUPS:
            app.chapter.query_one("#world", CappedTextArea).select_all()
            await pilot.press("delete")
            await until(pilot, lambda: not session.snapshot.tab1.world)
            app.post_message(events.Paste(kind.text))
            await until(pilot, lambda: session.snapshot.tab1.world)
            assert session.snapshot.tab1.world == clean(kind.text), kind.name
            assert not acts(app.export_screenshot())


async def test_ten_megabytes_on_one_line_do_not_hold_the_screen_up(desktop: Desktop) -> None:
    async with desktop.window(size=SIZE) as (pilot, app):
        if app.screen is not app.chapter:
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("f2")
        async with asyncio.timeout(120):
            app.post_message(events.Paste("x" * 10_000_000))
            assert app.session is not None
            session = app.session
            await until(pilot, lambda: session.snapshot.tab1.world)
        assert session.snapshot.tab1.world == "x" * 5_000, "what fits, and the field says that there was more"
