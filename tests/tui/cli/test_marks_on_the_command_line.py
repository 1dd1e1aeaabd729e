"""`storyengine mark`: a line of a chapter is marked by its numbers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.audience import NOBODY
from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.engine.engine import Engine
from storyengine_tui.cli.commands.chapter import scene, sessions
from tests.tui.engine_app import Desktop, make_active


def test_a_chapter_shows_who_heard_a_whisper_and_what_is_sent_and_finds_a_character_by_a_part_of_its_name(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def whisper(engine: Engine) -> None:
        given(engine, monkeypatch)
        session = await engine.open(await make_active(engine, 1))
        await sessions.show("last")
        assert "⟨" not in capsys.readouterr().out
        slot = sessions.find_character(session.snapshot, "yellow")
        assert slot is Slot.YELLOW
        with pytest.raises(StoryEngineError, match="“Mot” names no character of this chapter"):
            sessions.find_character(session.snapshot, "Mot")
        await session.wait(await session.submit_prompt(slot, "Psst.", heard_by=NOBODY))
        await session.aclose()
        await scene.mark("last", 1, ContextStatus.NEVER, 0)
        capsys.readouterr()
        await sessions.show("last")
        shown = capsys.readouterr().out
        assert "\n⟨never sent⟩ 1) Prompt number 1." in shown
        assert "\n⟨Agent Yellow⟩ 2) Psst." in shown

    desktop.prepare_now(whisper)


def given(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands work on this engine."""

    @asynccontextmanager
    async def catalog(_: object) -> AsyncIterator[Engine]:
        yield engine

    async def unlocked() -> None:
        return None

    monkeypatch.setattr(sessions, "running_catalog", catalog)
    monkeypatch.setattr(sessions, "unlocked", unlocked)


def test_a_line_is_marked_by_its_numbers_and_one_that_is_not_there_is_refused(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mark(engine: Engine) -> None:
        given(engine, monkeypatch)
        session_id = await make_active(engine, 2)
        await scene.mark("last", 1, ContextStatus.ALWAYS)
        await scene.mark("last", 2, ContextStatus.NEVER, 1)
        refused = (
            (3, None, "chapter has no prompt 3;"),
            (2, 7, "Prompt 2 has no line 7;"),
            (0, None, "no prompt 0;"),
        )
        for prompt, line, why in refused:
            with pytest.raises(IllegalCommandError, match=why):
                await scene.mark("last", prompt, ContextStatus.NEVER, line)
        stored = await engine.reader(session_id).load()
        assert [(*one.place, one.status) for one in stored.statuses] == [
            (1, 1, 0, ContextStatus.ALWAYS),
            (1, 1, 1, ContextStatus.ALWAYS),
            (2, 1, 1, ContextStatus.NEVER),
        ]

    desktop.prepare_now(mark)
