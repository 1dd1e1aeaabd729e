"""Plays a chapter script with a model, on a private server of its own, as `storyengine play` does."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from bench.voices.measures import Played, Turn
from core.agents.role.prompt_file import prompt_for, render_prompt
from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.requests.request import ReplyRequest
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.engine.engine import Engine
from core.engine.scripts.player import ScriptPlayer, Step
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScript
from core.providers.base import Provider
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore, open_store


async def play(
    script: ChapterScript,
    provider: Provider,
    choices: ModelAssignments,
    prompts: int | None,
    *,
    has_prose: bool = True,
) -> Played:
    """Play the first `prompts` prompts of `script`, all of them where it is None, and write the chapter.

    Without `has_prose` the chapter is not ended and not written.

    Raises StoryEngineError when a call fails for good.
    """
    script = replace(script, prompts=script.prompts[:prompts])
    # The server may still write its last state while its directory goes.
    with tempfile.TemporaryDirectory(prefix="storyengine-voices-", ignore_cleanup_errors=True) as folder:
        server = EmbeddedServer(Path(folder) / "postgres")
        url = await asyncio.to_thread(server.acquire)
        try:
            store = await open_store(url)
            engine = Engine(store, provider, choices, label="voices")
            async with aclosing(await engine.open(await engine.create())) as session:
                began = time.monotonic()
                await ScriptPlayer(session, script, _tell, is_last=has_prose).play()
                return await _played(session, store, script, choices, time.monotonic() - began)
        finally:
            await store.aclose()
            await asyncio.to_thread(server.release)


def _tell(step: Step) -> None:
    print(f"  [{step.done}/{step.total}] {step.text}", flush=True)


async def _played(
    session: SessionHandle,
    store: PostgresStore,
    script: ChapterScript,
    choices: ModelAssignments,
    seconds: float,
) -> Played:
    snapshot = session.snapshot.session
    events = await session.reads.canon(last=snapshot.prompt_index)
    artifacts = await store.calls.artifacts(snapshot.id)
    requests = await store.calls.requests(snapshot.id)
    asked = {request.id for request in requests if isinstance(request, ReplyRequest)}
    calls = [artifact for artifact in artifacts if artifact.request_id in asked]
    choice = choices[AgentRole.CHARACTER]
    prompt = prompt_for(AgentRole.CHARACTER, choice)
    drafts = await session.reads.drafts()
    narrator = AgentRole.NARRATIVE.agent_id
    parts = [artifact.output_ref or "" for artifact in artifacts if artifact.agent_id == narrator]
    written = await store.calls.contents(snapshot.id, parts)
    return Played(
        turns=_turns(snapshot, events),
        instructions=tuple(part.text for part in render_prompt(prompt) if part.role != "user"),
        prose=drafts[-1].text if drafts else "",
        written="\n\n".join(written[part] for part in parts if part),
        target_words=script.target_words,
        calls=len(calls),
        seconds=sum(call.total_ms or 0 for call in calls) / 1000,
        whole_seconds=seconds,
    )


def _turns(session: Session, events: Sequence[Event]) -> tuple[Turn, ...]:
    turns = []
    for said, reply in zip(events[::2], events[1::2], strict=True):
        assert reply.slot is not None
        name = session.name_of(reply.slot)
        others = tuple(other for slot, other in session.roster if slot is not reply.slot)
        turns.append(Turn(name, others, said.text, reply.text))
    return tuple(turns)
