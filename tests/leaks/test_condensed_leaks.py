"""Canaries in condensed memory: it tells each of them on to those who heard them, and to no one else."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from core.config.models.assignments import ModelAssignments, defaults_for
from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, Audience
from core.domain.ids import SessionId
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.limits import Limits
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory, Condensing, Strategy
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.sync.notifications import RequestFailed, RequestSettled
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from tests.engine.bank.test_condensing import ANSWER, DELTA
from tests.engine.windows import listening
from tests.leaks.canaries import tokens_in
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio
CHUNK, CHUNKS = 2, 9
FILLER = " and so on" * 60


class TellsOn(ScriptedProvider):
    """A model whose memory repeats every canary that it is given; remembers the inputs of all agents."""

    def __init__(self) -> None:
        super().__init__()
        self.of_slots: dict[int, list[str]] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        text = "\n".join(message.content for message in request.messages)
        name = request.schema.name if request.schema else ""
        if name == "turn_delta":
            chunk = text.partition("=== RECENT_CONTEXT_CHUNK ===")[2]
            yield TextDelta(_told(DELTA, chunk, FILLER))
        elif name == "condense":
            yield TextDelta(_told(ANSWER, text, ""))
        else:
            for slot in (1, 2):
                if f"\nSlot: {slot} (" in text:
                    self.of_slots.setdefault(slot, []).append(text)
            async for item in super().stream(replace(request, messages=request.messages[:1])):
                yield item
            return
        yield Completion(finish_reason="stop", model=request.model)


def _told(payload: dict[str, object], text: str, more: str) -> str:
    tokens = sorted(tokens_in(text))
    events = [{"event": one + more, "cause": "", "effect": "", "participants": []} for one in tokens]
    return json.dumps({**payload, "major_events": events, "canon_locks": []})


def choices(strategy: Strategy) -> ModelAssignments:
    """Return characters that have room for some of their memory: for all of it once it is condensed."""
    usual = defaults_for("scripted")
    own = replace(usual[AgentRole.CHARACTER], max_memory_tokens=1_300)
    return replace(
        usual, roles={**usual.roles, AgentRole.CHARACTER: own}, condensing=Condensing(strategy, 0.5)
    )


async def played(strategy: Strategy) -> tuple[TellsOn, tuple[CondensedMemory, ...]]:
    """Play prompts to all, with the canaries Q10z …, and to the second character alone, with Q20z …"""
    model, store = TellsOn(), MemoryStore()
    engine = Engine(store, model, choices(strategy), label="here")
    session_id: SessionId = await engine.create()
    rows = store.database.sessions[session_id]
    rows.session = replace(rows.session, limits=Limits(chunk_size=CHUNK))
    session = await engine.open(session_id)
    await session.edits.edit_tab1(
        Tab1Edit(world="A sea of glass.", chapter="The lamp is out.", character_count=2)
    )
    await session.wait(await session.lock())
    async with listening(session) as ears:
        for number in range(CHUNKS):
            await session.wait(await session.submit_prompt(Slot.RED, f"What of Q{10 + number}z?"))
            whisper = await session.submit_prompt(
                Slot.ORANGE, f"And of Q{20 + number}z?", heard_by=Audience.of([Slot.ORANGE])
            )
            await session.wait(whisper)
            await session.wait_idle()
        if strategy is not Strategy.OFF:
            labels = {EVERYONE, Audience.of([Slot.ORANGE])}
            await ears.hear(
                RequestSettled, lambda _: labels <= {one.audience for one in session.snapshot.condensed}
            )
        for slot in (Slot.RED, Slot.ORANGE):
            await session.wait(await session.submit_prompt(slot, "So?"))
        assert not ears.all(RequestFailed)
    kinds = {one.kind for one in await session.reads.requests()}
    assert (RequestKind.CONDENSE in kinds) == (strategy is not Strategy.OFF)
    made = session.snapshot.condensed
    await session.aclose()
    return model, made


@pytest.mark.parametrize("strategy", [Strategy.ADAPTIVE, Strategy.FIXED])
async def test_what_some_heard_is_condensed_for_them_alone(strategy: Strategy) -> None:
    model, made = await played(strategy)
    private = {f"Q{20 + number}z" for number in range(CHUNKS)}
    assert made
    assert private & tokens_in(str(made)), "what one heard is condensed too"
    for one in made:
        assert one.audience == Audience.of([Slot.ORANGE]) or not tokens_in(str(one.payload)) & private
    for text in model.of_slots[1]:
        assert not tokens_in(text) & private


async def test_condensed_memory_tells_what_a_character_would_have_forgotten() -> None:
    (told, _), (forgot, _) = [await played(one) for one in (Strategy.ADAPTIVE, Strategy.OFF)]
    for slot, first in ((1, "Q10z"), (2, "Q20z")):
        assert first in told.of_slots[slot][-1]
        assert first not in forgot.of_slots[slot][-1]
