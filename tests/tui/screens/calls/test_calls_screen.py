"""Every call of a chapter: listed with totals, the failed ones too, and each in full."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from core.agents.role.prompt_file import EXPORTED
from core.domain.errors import ErrorCode
from core.domain.ids import ArtifactId, RequestId, new_uuid
from core.domain.requests.request import Artifact, Usage
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.calls.calls_screen import CallsScreen
from storyengine_tui.screens.calls.history_view import BATCH, HistoryView
from storyengine_tui.screens.calls.inputs.call_rows import (
    calls_of,
    outcome_of,
    segments_of,
    totals_of,
)
from storyengine_tui.screens.calls.inputs.call_runs import runs_of, tokens_of
from storyengine_tui.screens.calls.inputs.call_screen import CallScreen
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.reading.passage_view import PassageView
from tests.tui.chapters.chapter import NOON, SESSION
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import Desktop, make_active, opened, screen_text, until
from tests.tui.rooms.chapter_page import MEMORY

pytestmark = pytest.mark.anyio
SCRIPT = Script(
    reply=(
        *MEMORY,
        Entry(match=ScriptMatch(schema="text", last="number 2"), fault=Fault.RATE_LIMITED, times=1),
        Entry(match=ScriptMatch(schema="text"), text="I see [/x] the sea."),
    )
)


async def make_called(engine: Engine) -> None:
    """Store a chapter with three calls that went well and one that failed."""
    session = await engine.open(await make_active(engine, 1))
    await session.wait(await session.submit_prompt(Slot.ORANGE, "Prompt number 2."))
    await session.wait(await session.submit_prompt(Slot.ORANGE, "Prompt number 2."))
    await session.aclose()


def artifact(number: int, **values: Any) -> Artifact:
    made = Artifact(
        id=ArtifactId(new_uuid()),
        session_id=SESSION,
        request_id=RequestId(new_uuid()),
        attempt=1,
        call=1,
        agent_id=number % 10,
        provider="openai",
        model="o4-mini",
        prompt_version="character/full@1",
        input_hash="0" * 64,
        input_ref="1" * 64,
        output_ref=None,
        usage=Usage(1_000, 200, 100, 50),
        first_token_ms=840,
        total_ms=2_500,
        finish_reason="stop",
        created_at=NOON,
    )
    return replace(made, **values)


def test_totals_count_every_call_and_say_what_is_not_known() -> None:
    failed = artifact(2, usage=Usage(), error_code=ErrorCode.LLM_TIMEOUT, first_token_ms=None, total_ms=None)
    calls = calls_of([artifact(1), failed, artifact(3)], [])
    assert totals_of(calls) == (
        "3 calls, 1 of them failed or stopped · 2,000 tokens in (200 from cache) · 400 out · "
        "0:05 with models · 1 without a count of tokens"
    )
    assert [outcome_of(call) for call in calls] == ["ok", "timeout", "ok"]
    assert [tokens_of(run) for run in runs_of(calls, frozenset())][:2] == ["1,000 → 200", "– → –"]
    assert totals_of([]).startswith("0 calls · 0 tokens in")


@pytest.mark.parametrize("manifest", ["", "{}", "[1, [2], null]", "not json"])
def test_a_manifest_of_any_shape_can_be_read(manifest: str) -> None:
    assert segments_of(manifest) == []


async def calls_shown(pilot: Pilot[Any]) -> CallsScreen:
    """Open the list and wait until it is read."""
    await opened(pilot)
    await pilot.press("f7")
    await until(pilot, lambda: isinstance(pilot.app.screen, CallsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, CallsScreen)
    await until(pilot, lambda: screen.query_one(DataTable).row_count or screen.query_one("#empty").display)
    return screen


@asynccontextmanager
async def listing(
    desktop: Desktop, artifacts: list[Artifact]
) -> AsyncIterator[tuple[Pilot[Any], CallsScreen]]:
    """Open the list in a chapter that has these calls."""
    desktop.script = SCRIPT

    async def read() -> list[Artifact]:
        return artifacts

    async with desktop.window(make_active) as (pilot, app):
        assert app.session is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app.session.reads, "artifacts", read)
            yield pilot, await calls_shown(pilot)


def rows(screen: CallsScreen) -> list[list[str]]:
    table = screen.query_one(DataTable)
    return [[str(cell).strip() for cell in table.get_row_at(row)] for row in range(table.row_count)]


async def test_every_call_is_listed_and_shown_once_and_in_full_by_keyboard_and_mouse(
    desktop: Desktop,
) -> None:
    desktop.script = SCRIPT
    async with desktop.window(make_called) as (pilot, app):
        # Every call is listed and shown in full by keyboard and mouse.
        screen = await calls_shown(pilot)
        listed = rows(screen)
        assert [row[1] for row in listed] == ["2 Jonas [/x]", "2 Jonas [/x]", "1 Mira", "0 World & Chapter"]
        assert [row[3] for row in listed] == ["2", "2", "1", "–"]
        assert [row[6] for row in listed] == ["ok", "rate limited", "ok", "ok"]
        assert str(screen.query_one("#totals", Static).content).startswith("4 calls, 1 of them failed")
        assert screen.query_one(DataTable).max_scroll_x == 0, "nothing is cut off"

        await pilot.press("enter")
        text = await _in_full(pilot)
        assert app.session is not None
        newest = (await app.session.reads.artifacts())[-1]
        contents = await app.session.reads.contents([newest.input_ref, newest.output_ref or ""])
        assert contents[newest.output_ref or ""] in text
        parts = {name: digest for _, name, digest in json.loads(contents[newest.input_ref])}
        assert len(parts) >= 4
        stored = await app.session.reads.contents(parts.values())
        for name, digest in parts.items():
            assert name in text
            if name == "SYSTEM_PROMPT":
                assert f"system: SYSTEM_PROMPT\n{newest.prompt_version}, SHA-256 {digest}, about " in text
                assert EXPORTED in text
                assert not [line for line in stored[digest].splitlines() if len(line) > 20 and line in text]
            else:
                assert stored[digest] in text
        assert "attempt 2, call 1" in text
        assert f"Input SHA-256: {newest.input_hash}" in text
        await pilot.press("i")
        view = app.screen.query_one(PassageView)
        assert view.lines.paragraphs[view.top_passage].text == "Input"
        await pilot.press("y")
        assert app.clipboard == text
        await pilot.press("escape")

        await pilot.click("#calls", offset=(5, 2))
        await pilot.click("#calls", offset=(5, 2))
        text = await _in_full(pilot)
        assert "Outcome: LLM_RATE_LIMITED" in text
        assert "Nothing came back." in text
        await pilot.press("escape", "escape")
        assert app.screen is app.chapter
        # One call is shown for enter that comes twice.
        await calls_shown(pilot)
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await _in_full(pilot)
        assert sum(isinstance(one, CallScreen) for one in app.screen_stack) == 1


async def _in_full(pilot: Pilot[Any]) -> str:
    await until(pilot, lambda: isinstance(pilot.app.screen, CallScreen))
    view = pilot.app.screen.query_one(PassageView)
    await until(pilot, lambda: view.lines.text)
    return view.lines.text


async def test_a_long_list_is_filled_as_the_cursor_goes(
    desktop: Desktop,
) -> None:
    many = [artifact(number) for number in range(BATCH * 3)]
    async with listing(desktop, many) as (pilot, screen):
        table = screen.query_one(DataTable)
        assert table.row_count == BATCH
        for _ in range(4):
            await pilot.press("ctrl+end")
        assert table.row_count == BATCH * 3
        assert rows(screen)[-1][0] == "1"
        many.append(artifact(BATCH * 3))
        await screen.query_one(HistoryView).reload()
        assert table.get_row_at(table.cursor_row)[0].plain.strip() == "1", "the cursor stays on its call"


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace measured times, so that pictures are the same."""

    def timeless(name: str) -> Callable[[Any], str]:
        return lambda _: name

    monkeypatch.setattr("storyengine_tui.screens.calls.inputs.call_rows.elapsed_text", timeless("0:03"))
    monkeypatch.setattr("storyengine_tui.screens.calls.inputs.call_rows.seconds", timeless("0.84 s"))


@pytest.mark.usefixtures("still")
def test_pictures_of_the_list_and_of_a_call(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    desktop.script = SCRIPT
    desktop.prepare_now(make_called)

    async def listed(pilot: Pilot[Any]) -> None:
        await calls_shown(pilot)

    async def call(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await _in_full(pilot)

    assert pictures_match(desktop.app(), {"listed": listed, "call": call})


def test_picture_without_calls(desktop: Desktop, pictures_match: PicturesMatch) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        app = await opened(pilot)
        assert isinstance(app, StoryEngineApp)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await calls_shown(pilot)

    assert pictures_match(desktop.app(), run_before=show)


async def test_of_a_chapter_that_was_purged_elsewhere_it_says_so_and_not_that_no_model_was_called(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_called) as (pilot, app):
        assert app.session is not None
        async with desktop.engine() as engine:
            await app.session.aclose()
            await engine.archive(app.session.id)
            await engine.purge(app.session.id)
        for key in ("f7", "3"):
            await pilot.press(key)
            await until(pilot, lambda: "it was purged" in screen_text(app))
            assert "No model has been called" not in screen_text(app)
