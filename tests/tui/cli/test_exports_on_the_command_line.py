"""What `storyengine export` writes of a chapter in which nothing was played."""

import pytest

from core.config.models.assignments import defaults_for
from core.engine.engine import Engine
from core.providers.scripted.provider import ScriptedProvider
from storyengine_tui.cli.commands.chapter.exchange import ExportFormat, _content
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_the_transcript_of_an_empty_chapter_is_empty() -> None:
    engine = Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="command")
    session_id = await engine.create()
    assert await _content(engine, session_id, ExportFormat.TRANSCRIPT, "") == b""
