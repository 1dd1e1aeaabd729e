"""Memory of memory with the bundled model: the pipeline runs to its end, in words of the deltas alone."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.config.files.paths import Paths
from core.config.models.assignments import defaults_for
from core.domain.agent_role import AgentRole
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.sync.notifications import RequestQueued
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.local.provider import LocalProvider
from core.providers.scripted.script import Entry, Script
from db.store import PostgresStore
from tests.engine.bank.test_condensing import DELTA, IN_SHORT, SUMMARY, choices, is_condensing
from tests.engine.windows import Recorder, engine_on, listening, play, playable

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]
LONGEST = 240.0
"""Seconds for one answer of the bundled model, also on a machine that is busy."""
EVENTS = [
    {"event": IN_SHORT + word, "cause": "", "effect": "", "participants": []} for word in (" once", " twice")
]
SHORT_SUMMARY = Entry(match=SUMMARY.match, payload={**DELTA, "major_events": EVENTS})


class Bundled(Recorder):
    """The bundled model for condensed memory, and a script for everything else."""

    def __init__(self, local: LocalProvider) -> None:
        super().__init__(Script(reply=(SHORT_SUMMARY,)))
        self._local = local

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        answers = self._local.stream(request) if is_condensing(request) else super().stream(request)
        async for item in answers:
            yield item


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalProvider]:
    made = LocalProvider(Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path))
    yield made
    await made.aclose()


async def test_the_bundled_model_condenses_memory_in_words_of_the_deltas(
    store: PostgresStore, local: LocalProvider
) -> None:
    own = defaults_for("local")[AgentRole.CONTEXT_SUMMARY]
    assigned = choices(room=10)
    assigned = replace(assigned, roles={**assigned.roles, AgentRole.CONTEXT_SUMMARY: own})
    session_id = await playable(store, chunk_size=2)
    session = await engine_on(store, Bundled(local), choices=assigned).open(session_id)
    async with asyncio.timeout(LONGEST), listening(session) as ears:
        await play(session, 4)
        queued = await ears.hear(RequestQueued, lambda one: one.request.kind is RequestKind.CONDENSE)
        request = await session.wait(queued.request.id)
    assert request.state is RequestState.DONE, request
    [made] = session.snapshot.condensed
    sources = [block for block in await session.reads.memory_blocks() if made.covers(block)]
    told: Any = made.payload["major_events"]
    assert told
    for one in told:
        assert any(one["event"] in json.dumps(block.payload) for block in sources)
    assert made.id in {block.id for block in session.snapshot.known_without_lore(Slot.RED).blocks}
    await session.aclose()
