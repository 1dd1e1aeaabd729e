"""`storyengine mark`: a line of a chapter is marked by its numbers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.domain.errors import IllegalCommandError
from core.domain.story.context_status import ContextStatus
from core.engine.engine import Engine
from storyengine_tui.cli.commands.chapter import scene, sessions
from tests.tui.engine_app import Desktop, make_active


def test_a_line_is_marked_by_its_numbers_and_one_that_is_not_there_is_refused(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mark(engine: Engine) -> None:
        @asynccontextmanager
        async def catalog(_: object) -> AsyncIterator[Engine]:
            yield engine

        async def unlocked() -> None:
            return None

        monkeypatch.setattr(sessions, "running_catalog", catalog)
        monkeypatch.setattr(sessions, "unlocked", unlocked)
        session_id = await make_active(engine, 2)
        await scene.mark("last", 1, ContextStatus.ALWAYS)
        await scene.mark("last", 2, ContextStatus.NEVER, 1)
        for prompt, line in ((3, None), (2, 7), (0, None)):
            with pytest.raises(IllegalCommandError, match="no such line"):
                await scene.mark("last", prompt, ContextStatus.NEVER, line)
        stored = await engine.reader(session_id).load()
        assert [(*one.place, one.status) for one in stored.statuses] == [
            (1, 1, 0, ContextStatus.ALWAYS),
            (1, 1, 1, ContextStatus.ALWAYS),
            (2, 1, 1, ContextStatus.NEVER),
        ]

    desktop.prepare_now(mark)
