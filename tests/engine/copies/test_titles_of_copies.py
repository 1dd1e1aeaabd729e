"""The titles of imported chapters: no two that a list shows are the same."""

import pytest

from core.config.models.assignments import defaults_for
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.exchange.session_export import from_json
from core.providers.scripted.provider import ScriptedProvider
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_a_copy_that_is_imported_beside_its_chapter_has_a_title_of_its_own() -> None:
    engine = Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="here")
    session_id = await engine.create()
    session = await engine.open(session_id)
    await session.edits.edit_tab1(Tab1Edit(title="The Lamp"))
    await session.aclose()
    exported = from_json(await engine.export(session_id))
    for _ in range(2):
        await engine.import_body(exported)
    assert sorted(one.title for one in await engine.sessions()) == [
        "The Lamp",
        "The Lamp (copy 2)",
        "The Lamp (copy)",
    ]
