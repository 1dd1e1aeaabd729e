"""Tab 3: two drafts of a chapter are compared, whatever is in them, also in a window that reads along."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.domain.ids import DraftId, RequestId, SessionId, new_uuid
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Script
from storyengine_tui.screens.narrative.comparing.compared_drafts import (
    MORE,
    MOST_LINES,
    SAME,
    comparison_of,
    drafts_to_compare,
)
from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen
from storyengine_tui.shell.palette_commands import commands_of
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.bad_text import acts
from tests.tui.conftest import PicturesMatch, settled
from tests.tui.engine_app import Desktop, opened, until
from tests.tui.rooms.chapter_page import (
    MEMORY,
    NARRATIVE,
    REPLIES,
    ChapterPage,
    chapter_page,
    make_ended,
    session_page,
)

pytestmark = pytest.mark.anyio

FIRST = (
    "The light went out at four minutes past two. [/x] Mira counted the steps and did not look back.\n\n"
    "“You kept the log,” said Jonas.\n\n"
    "The oars were wet.\n\n"
    "She closed the book. Below them the boat, late by a day, came round the point without a lamp."
)
SECOND = (
    "The light went out at ten minutes past two. [/x] Mira counted the steps, and did not once look back.\n\n"
    "“You kept the log,” said Jonas.\n\n"
    "“[red]I kept it,[/red]” [@click=app.quit]she said[/].\n\n"
    "She closed the book. Below them the boat came round the point without a lamp."
)
TEXTS = Script(
    reply=(
        *MEMORY,
        Entry(match=NARRATIVE, text=FIRST, times=1),
        Entry(match=NARRATIVE, text=SECOND),
        REPLIES,
    )
)
EXPECTED = [
    "How to write it",
    "~ In the manner of version [-1-]{+2+}.",
    "Written chapter",
    "~ The light went out at [-four-]{+ten+} minutes past two. [/x] Mira counted the steps{+,+} and did not "
    "{+once+} look back.",
    "= 1 paragraph the same",
    "- The oars were wet.",
    "+ “[red]I kept it,[/red]” [@click=app.quit]she said[/].",
    "~ She closed the book. Below them the boat[-, late by a day,-] came round the point without a lamp.",
]


async def make_two(engine: Engine) -> SessionId:
    return await make_ended(engine, drafts=2)


async def make_one(engine: Engine) -> SessionId:
    return await make_ended(engine, drafts=1)


def draft_of(text: str, version: int = 1, **changes: Any) -> NarrativeDraft:
    made = NarrativeDraft(
        id=DraftId(new_uuid()),
        session_id=SessionId(new_uuid()),
        version=version,
        request_id=RequestId(new_uuid()),
        definition="",
        target_words=None,
        source=SourceSnapshot(2, ()),
        model="m",
        text=text,
        created_at=datetime(2026, 1, 2, 14, 32, 5, tzinfo=UTC),
    )
    return replace(made, **changes)


def texts_of(before: NarrativeDraft, after: NarrativeDraft) -> list[str]:
    return [passage.text for passage in comparison_of(before, after).passages]


def paragraphs(screen: ComparisonScreen) -> list[str]:
    return [one.text for one in screen.query_one(PassageView).lines.paragraphs]


def compared(screen: ComparisonScreen) -> str:
    return str(screen.query_one("#compared", Static).render())


def offered(app: Any) -> dict[str, Callable[[], object]]:
    return {command.title: command.callback for command in commands_of(app, app.action_leave)}


@asynccontextmanager
async def comparing(desktop: Desktop) -> AsyncIterator[tuple[ChapterPage, ComparisonScreen]]:
    desktop.script = TEXTS
    async with chapter_page(desktop, make_two) as page:
        yield page, await begun(page)


async def begun(page: ChapterPage) -> ComparisonScreen:
    screen = await asked_for(page)
    await page.until(lambda: paragraphs(screen))
    return screen


async def asked_for(page: ChapterPage) -> ComparisonScreen:
    await page.until(lambda: len(page.draft.drafts) == 2)
    page.draft.view.focus()
    await page.until(lambda: page.draft.view.has_focus)
    await page.pilot.press("equals_sign")
    await page.until(lambda: isinstance(page.app.screen, ComparisonScreen))
    screen = page.app.screen
    assert isinstance(screen, ComparisonScreen)
    return screen


async def test_the_words_in_which_two_drafts_differ_are_shown_as_text(desktop: Desktop) -> None:
    async with comparing(desktop) as (page, screen):
        await page.until(lambda: paragraphs(screen) == EXPECTED)
        assert compared(screen) == (
            "- only in draft 1    + only in draft 2\nParagraphs: 1 the same, 2 changed, 1 removed, 1 added"
        )
        table = screen.query_one(DataTable)
        rows = [[str(cell).strip() for cell in table.get_row_at(number)] for number in range(2)]
        assert [(row[0], row[1], row[3]) for row in rows] == [("-", "1", "48 of 40"), ("+", "2", "46 of 40")]
        assert not acts(page.app.export_screenshot())
        # The other way round; what was added is removed then.
        await page.pilot.press("up", "plus")
        await page.until(lambda: "+ The oars were wet." in paragraphs(screen))
        await page.pilot.press("y")
        await page.until(lambda: page.app.clipboard == "\n\n".join(paragraphs(screen)))
        await page.pilot.press("escape")
        await page.until(lambda: page.app.screen is not screen)
        assert page.draft.shown is page.draft.drafts[-1], "nothing has changed"


async def test_one_draft_has_nothing_to_be_compared_with_and_the_tab_is_as_before(desktop: Desktop) -> None:
    async with desktop.window(make_one) as (pilot, app):
        page = ChapterPage(pilot, app)
        await pilot.press("f4")
        await page.until(lambda: page.draft.drafts and page.draft.view.has_focus)
        assert "Compare drafts" not in offered(app)
        assert "equals_sign" not in app.screen.active_bindings
        await pilot.press("equals_sign")
        page.pane.action_compare_drafts()
        await pilot.pause()
        assert app.screen is app.chapter
        session = page.session
        await session.wait(await session.build_narrative())
        await page.until(lambda: "Compare drafts" in offered(app))
        await pilot.press("f3")
        offered(app)["Compare drafts"]()
        await page.until(lambda: isinstance(app.screen, ComparisonScreen))


async def test_a_window_that_reads_along_compares_and_one_that_lists_fewer_drafts_by_now(
    desktop: Desktop,
) -> None:
    desktop.script = TEXTS
    async with desktop.engine("one") as first, desktop.engine("two") as second:
        session_id = await make_two(first)
        writer, reader = await first.open(session_id), await second.open(session_id)
        async with session_page(desktop, reader) as page:
            screen = await begun(page)
            await page.until(lambda: paragraphs(screen) == EXPECTED)
            # A restored backup has one draft: the comparison keeps both until it is left.
            page.draft.show_drafts(page.draft.drafts[:1])
            await page.pilot.press("minus", "plus")
            await page.until(lambda: len(paragraphs(screen)) == len(EXPECTED))
            await page.pilot.press("escape")
            await page.until(lambda: page.app.screen is not screen)
            assert not page.draft.can_compare
        await reader.aclose()
        await writer.aclose()


async def test_the_loop_goes_on_while_two_drafts_are_compared(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(before: NarrativeDraft, after: NarrativeDraft) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
        return comparison_of(before, after)

    monkeypatch.setattr("storyengine_tui.screens.narrative.comparing.compared_drafts.comparison_of", slow)
    desktop.script = TEXTS
    async with chapter_page(desktop, make_two) as page:
        screen = await asked_for(page)
        await page.until(lambda: compared(screen) == "Comparing …")
        await page.pilot.press("up", "plus")
        await page.until(lambda: screen.query_one(DataTable).get_row_at(0)[0].plain == " +")
        assert compared(screen) == "Comparing …"
        gate.set()
        await page.until(lambda: "+ The oars were wet." in paragraphs(screen))


def test_the_draft_that_shows_is_compared_with_the_one_before_it() -> None:
    drafts = [draft_of("A.", number) for number in (1, 2, 3)]
    names = {drafts[1].request_id: "Mira [/x]\nof the lamp"}
    found = drafts_to_compare(drafts, {key: name for key, name in names.items() if key}, 2)
    assert found.first == (0, 1)
    assert [row[3] for row in found.rows] == ["", "as Mira [/x] of the lamp", ""]
    assert drafts_to_compare(drafts, {}, 1).first == (1, 0)
    assert drafts_to_compare(drafts, {}, None).first == (1, 2), "the newest, while another is being written"
    for width in (76, 116):
        assert sum(cells for _, cells in found.columns(width)) == width
    assert sum(cells for _, cells in found.columns(20)) > 20, "the table scrolls"
    wide = drafts_to_compare(drafts, {key: "美良" for key in names if key}, 2)
    assert wide.columns(76)[3] == ("", len("as ") + 4 + 2), "a letter of two cells is not cut"


def test_equal_drafts_and_an_empty_one() -> None:
    assert texts_of(draft_of("One.\n\nTwo."), draft_of("One.\n\nTwo.")) == [SAME]
    assert texts_of(draft_of(""), draft_of("")) == [SAME]
    assert texts_of(draft_of(""), draft_of("One.\n\nTwo.")) == ["+ One.", "+ Two."]
    assert comparison_of(draft_of("One."), draft_of("")).said == "Paragraphs: 1 removed"
    wishes = texts_of(draft_of("One.", definition="Short."), draft_of("One.", definition="Long."))
    assert wishes == ["How to write it", "- Short.", "+ Long.", "Written chapter", SAME]


def test_more_lines_than_a_screen_takes_are_left_out_and_counted() -> None:
    many = "\n".join(f"line{number}" for number in range(MOST_LINES + 5))
    found = comparison_of(draft_of(""), draft_of(many))
    assert len(found.passages) == MOST_LINES + 1
    assert found.passages[-1].text == MORE
    assert found.said == f"Paragraphs: {MOST_LINES + 5:,} added"


async def test_a_paragraph_of_a_million_characters_with_thousands_of_changes_is_painted(
    desktop: Desktop,
) -> None:
    words = [f"word{number}" for number in range(100_000)]
    other = [word if number % 40 else f"other{number}" for number, word in enumerate(words)]
    async with chapter_page(desktop, make_two) as page:
        await page.until(lambda: len(page.draft.drafts) == 2)
        first, second = (
            replace(draft, text=" ".join(text), definition="")
            for draft, text in zip(page.draft.drafts, (words, other), strict=True)
        )
        page.draft.show_drafts([first, second])
        screen = await begun(page)
        view = screen.query_one(PassageView)
        async with asyncio.timeout(60):
            await page.pilot.press("pagedown", "pagedown")
            middle = view.lines.height // 2
            for line in range(middle, middle + 40):
                assert len(view.highlights(line)) <= 8, "only those of the line"
        assert any(view.highlights(line) for line in range(middle, middle + 10))


def test_pictures_of_two_drafts_compared(
    desktop: Desktop, pictures_match: PicturesMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "storyengine_tui.screens.narrative.comparing.compared_drafts.shown_time",
        lambda _: "02 Jan 2026 14:32:05",
    )
    desktop.script = TEXTS
    desktop.prepare_now(make_two)

    async def run_before(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        page = ChapterPage(pilot, app)
        await pilot.press("f4")
        await until(pilot, lambda: page.memory.is_known and page.draft.drafts)
        await begun(page)
        await settled(pilot)

    assert pictures_match(desktop.app(), run_before)
