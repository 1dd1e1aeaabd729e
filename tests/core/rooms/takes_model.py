"""A session with short chunks on a store in memory, and what its canon must be after each step."""

import json
import re

from core.domain.ids import RequestId, SessionId
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.memory import BlockType, compact_json, without_empty
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.room import Room
from tests.core.rooms.simulation import active, with_limits

CHUNK = 3


class RowStore(FaultyStore):
    """A store that is read from its rows: what the writer makes of its changes is checked against it."""

    async def load(self, session_id: SessionId, *, recent_prompts: int = 0) -> Snapshot:
        return self._one.snapshot(recent_prompts)


def room(*entries: Entry) -> Room:
    snapshot = with_limits(active(), chunk_size=CHUNK).snapshot
    scene = Room(snapshot, *entries)
    scene.store = RowStore(snapshot)
    return scene


async def done(session: SessionHandle, request_id: RequestId) -> None:
    request = await session.wait(request_id)
    assert request.state is RequestState.DONE, request
    await session.wait_idle()


async def play(session: SessionHandle, *texts: str) -> None:
    for text in texts:
        await done(session, await session.submit_prompt(Slot.RED, text))


async def story(session: SessionHandle) -> list[str]:
    return [event.text for event in await session.reads.canon() if event.role is Role.USER]


class Model:
    """The expected canon after each step, and the checks of all invariants."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.story: list[str] = []
        self.undone: list[str] = []
        self.seen: set[object] = set()
        self.inputs = 0
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"P{self.count}x"

    async def step(self, session: SessionHandle, step: str) -> None:
        takes = session.takes
        match step:
            case "submit":
                self.story.append(self.text())
                self.undone.clear()
                await play(session, self.story[-1])
            case "reroll" if self.story:
                self.undone.clear()
                await done(session, await takes.reroll())
            case "undo" if self.story:
                self.undone.append(self.story.pop())
                await takes.undo()
            case "redo" if self.undone:
                self.story.append(self.undone.pop())
                await takes.redo()
            case "choose" if self.story:
                listed = await takes.listed()
                counts = next(event for event in await session.reads.canon(first=len(self.story)))
                others = [take for take in listed if take[0].take != counts.take]
                if others:
                    self.undone.clear()
                    self.story[-1] = others[0][0].text
                    await takes.choose(others[0][0].take)
            case "correct" if self.story:
                self.undone.clear()
                await takes.correct_reply(f"By hand {self.text()}")
            case "canon":
                await session.edits.correct_canon("The gate is open.")
            case "rebuild" if session.snapshot.session.boundary:
                await done(session, await takes.rebuild_block(session.snapshot.session.boundary))
        await session.wait_idle()

    async def check(self, session: SessionHandle) -> None:
        store, session_id = self.store, session.id
        assert await story(session) == self.story
        log = {event.id for event in await store.log(session_id)}
        memory = {block.id for block in (*await store.blocks(session_id), *await store.revisions(session_id))}
        assert self.seen <= log | memory, "what was played stays"
        self.seen = log | memory
        takes = await store.takes(session_id)
        assert len(takes) == len(self.story) + len(self.undone)
        await self._check_snapshot(session)
        await self._check_inputs(session)

    async def _check_snapshot(self, session: SessionHandle) -> None:
        """Check that what the writer knows is what is stored."""
        stored = await self.store.load(session.id)
        known = session.snapshot
        if known.is_recent_known:
            assert (known.recent, known.undone, known.takes) == (stored.recent, stored.undone, stored.takes)
        for field in ("session", "last_ordinal", "requests", "unsent", "draft_count"):
            assert getattr(known, field) == getattr(stored, field), field
        if known.is_memory_known:
            assert known.blocks == tuple(await self.store.memory(session.id))

    async def _check_inputs(self, session: SessionHandle) -> None:
        """Check that the calls since the last check were given nothing but canon."""
        calls = await session.reads.artifacts()
        canon = set(re.findall(r"P\d+x", " ".join(event.text for event in await session.reads.canon())))
        blocks = {compact_json(without_empty(block.payload)) for block in await session.reads.memory_blocks()}
        past = {
            text
            for block in await self.store.revisions(session.id)
            if block.type is BlockType.TURN_DELTA
            and (text := compact_json(without_empty(block.payload))) not in blocks
        }
        for call in calls[self.inputs :]:
            manifest = (await session.reads.contents([call.input_ref]))[call.input_ref]
            parts = await session.reads.contents([part for _, _, part in json.loads(manifest)])
            given_ = "\n".join(parts.values())
            assert set(re.findall(r"P\d+x", given_)) <= canon
            if call.agent_id != 8:
                assert not [text for text in past if text in given_], "memory that was withdrawn"
        self.inputs = len(calls)
