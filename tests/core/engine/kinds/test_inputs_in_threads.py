"""The input of a character is made beside the keys where that takes long."""

import threading
from typing import Any

import pytest

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import defaults_for
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.kinds import base
from core.providers.scripted.provider import ScriptedProvider
from tests.store.in_memory.memory_store import MemoryStore


@pytest.mark.anyio
@pytest.mark.parametrize("is_long", [False, True], ids=["a short story", "a long story"])
async def test_the_memory_of_a_long_story_alone_is_told_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    threads = set[threading.Thread]()
    make = ContextBuilder.character

    def watched(self: ContextBuilder, *values: Any, **more: Any) -> Context:
        threads.add(threading.current_thread())
        return make(self, *values, **more)

    engine = Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="here")
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(Tab1Edit(world="A cold sea.", names={Slot.RED: "Kara"}))
    await session.wait(await session.lock())
    monkeypatch.setattr(ContextBuilder, "character", watched)
    if is_long:
        monkeypatch.setattr(base, "MANY_BLOCKS", 0)
    await session.wait(await session.submit_prompt(Slot.RED, "Where are you?"))
    assert threads
    assert (threading.main_thread() in threads) is not is_long
    await session.aclose()
    await engine.aclose()
