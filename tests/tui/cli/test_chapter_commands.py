"""What commands on a chapter say of calls that were dropped, and of times."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.engine.engine import Engine
from storyengine_tui.cli.commands.chapter import scene, sessions, speaking, takes
from tests.tui.engine_app import Desktop, make_active
from tests.tui.screens.library.shelf.test_shelves import ended


@pytest.fixture
def engines() -> list[Engine]:
    """The engines that commands have started."""
    return []


@pytest.fixture
def here(desktop: Desktop, monkeypatch: pytest.MonkeyPatch, engines: list[Engine]) -> Desktop:
    """Run commands on the chapters of the machine of this test."""

    @asynccontextmanager
    async def running(_: object) -> AsyncIterator[Engine]:
        async with desktop.engine("command") as engine:
            await engine.queue.entries()  # says whether the queue is paused, as the lock of PostgreSQL does
            engines.append(engine)
            yield engine

    async def unlocked() -> None:
        return None

    monkeypatch.setattr(sessions, "running_catalog", running)
    monkeypatch.setattr(sessions, "running_engine", running)
    monkeypatch.setattr(sessions, "unlocked", unlocked)
    return desktop


def test_a_reroll_that_was_dropped_does_not_print_the_reply_from_before(
    here: Desktop, engines: list[Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    async def drop() -> None:
        async with here.engine() as engine:
            await make_active(engine, 1)
            await engine.queue.pause()
        asked = asyncio.create_task(takes.reroll("last"))
        async with asyncio.timeout(60):
            while not (engines and (entries := await engines[0].queue.entries())):
                assert not asked.done(), asked
                await asyncio.sleep(0)
            await engines[0].queue.drop(entries[0].request.id)
            with pytest.raises(StoryEngineError) as refused:
                await asked
        assert refused.value.code is ErrorCode.LLM_CANCELLED

    asyncio.run(drop())
    assert capsys.readouterr().out == ""


def test_the_time_of_a_draft_is_that_of_the_clock_here(
    here: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(engine: Engine) -> None:
        await ended(engine, "Dusk")

    here.prepare_now(write)
    asyncio.run(scene.write("last"))
    with pytest.MonkeyPatch.context() as zone:
        zone.setenv("TZ", "UTC-9")
        time.tzset()
        asyncio.run(sessions.show("last"))
    time.tzset()
    assert ", 2026-01-03 00:0" in capsys.readouterr().out


def test_a_chapter_that_has_not_ended_is_not_opened_to_be_told(
    here: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened, it would begin work that is due, which the refusal stops again: a summary may be paid for."""

    async def play(engine: Engine) -> None:
        await make_active(engine, 1)

    here.prepare_now(play)
    opened: list[object] = []
    monkeypatch.setattr(Engine, "open", lambda _, session_id: opened.append(session_id))
    with pytest.raises(IllegalCommandError):
        asyncio.run(scene.write("last"))
    assert not opened


def test_of_several_characters_that_leave_all_do_or_none(
    here: Desktop, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(engine: Engine) -> None:
        await make_active(engine, 1)

    here.prepare_now(play)
    with pytest.raises(StoryEngineError, match="names no character"):
        asyncio.run(speaking.away("last", ["1", "Nemo"]))
    asyncio.run(speaking.away("last"))
    assert capsys.readouterr().out == "Away: no one\n"
    asyncio.run(speaking.away("last", ["1", "2"]))
    asyncio.run(speaking.away("last", ["1", "2"], back=True))
    first, second = capsys.readouterr().out.splitlines()
    assert first.count("until") == 0
    assert first.count(",") == 1
    assert second == "Away: no one"


def test_a_chapter_is_shown_with_its_title(here: Desktop, capsys: pytest.CaptureFixture[str]) -> None:
    async def write(engine: Engine) -> None:
        await ended(engine, "Dawn")

    here.prepare_now(write)
    asyncio.run(sessions.show("last"))
    first = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"Chapter [0-9a-f-]{36}: Dawn", first)
