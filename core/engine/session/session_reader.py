"""Reads one session without opening it, acquiring its lock or writing to it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from core.agents import assist
from core.domain.ids import SessionId
from core.domain.requests.request import Artifact, Request
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.engine.kinds.test_call import TEST_VERSION
from core.engine.services.speaking.heartbeats import answers_of, with_wishes
from core.engine.services.speaking.hints import Hint, HintRules, hints_of
from core.engine.sync.lore_reading import with_lore
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot

MAX_SESSIONS_SCANNED = 5
"""Number of other chapters to search, last played first: each costs a query."""
NEWEST = 64
"""Number of an agent's newest calls to read, so that the cost does not grow with the story."""


def last_duration(artifacts: Sequence[Artifact], agent_id: int, model: str) -> float | None:
    """Return the seconds that this agent's newest request took with this model; None when unknown.

    `artifacts` are those of a session, oldest first. Ignores calls outside the story, and requests that
    failed or were retried.
    """
    of_agent = [one for one in artifacts if one.agent_id == agent_id and not _is_aside(one)]
    known = None
    for _, calls in groupby(of_agent, key=lambda one: one.request_id):
        taken = list(calls)
        times = [one.total_ms for one in taken if one.total_ms is not None]
        is_plain = all(one.attempt == 1 and one.model == model for one in taken) and len(times) == len(taken)
        if is_plain and taken[-1].error_code is None:
            known = sum(times) / 1000
    return known


def _is_aside(call: Artifact) -> bool:
    """Whether a call was outside the story: a test, vectors of texts, or help with a text."""
    return call.prompt_version in (TEST_VERSION, EMBEDDING_VERSION) or call.prompt_version.startswith(
        f"{assist.PROMPT}/"
    )


async def find_last_duration(
    store: SessionStore, session_id: SessionId, agent_id: int, model: str
) -> float | None:
    """Return `last_duration` of this session, else of the last played one that has it; raise StorageError."""
    others = [one.id for one in await store.chapters.listed() if one.is_readable and one.id != session_id]
    for one in (session_id, *others[:MAX_SESSIONS_SCANNED]):
        calls = await store.calls.artifacts(one, agent_id=agent_id, newest=NEWEST)
        if len(calls) == NEWEST:
            # The oldest request among them may be incomplete.
            calls = [call for call in calls if call.request_id != calls[0].request_id]
        seconds = last_duration(calls, agent_id, model)
        if seconds is not None:
            return seconds
    return None


_ALL = 2**31 - 1
"""Characters, as many as the store can be asked for; no chapter has as many."""


class SessionReader:
    """Reads one session. Every method raises StorageError when the database cannot be reached."""

    def __init__(self, store: SessionStore, session_id: SessionId) -> None:
        self._store = store
        self.id = session_id

    async def load(self, *, recent_prompts: int = 0, with_memory: bool = False) -> Snapshot:
        """Return the stored session, `with_memory` with its lorebooks as well."""
        snapshot = await self._store.load(self.id, recent_prompts=recent_prompts)
        if not with_memory:
            return snapshot
        blocks = tuple(await self._store.memory(self.id))
        return await with_lore(self._store, replace(snapshot, blocks=blocks, is_memory_known=True))

    async def canon(self, *, first: int = 0, last: int | None = None) -> Sequence[Event]:
        """Return the events of prompts `first` to `last` that are the story."""
        # A command takes any number, and the store none beyond its column.
        last = None if last is None else min(last, _ALL)
        return await self._store.canon(self.id, first=min(first, _ALL), last=last)

    async def witnessed_by(self, slot: Slot) -> Sequence[Event]:
        """Return the events of the story that a character has witnessed."""
        return await self._store.newest_canon(self.id, _ALL, known_to=slot)

    async def memory_blocks(self) -> Sequence[MemoryBlock]:
        """Return every complete memory block, in order."""
        return await self._store.blocks(self.id)

    async def hints(self, rules: HintRules) -> tuple[Session, Sequence[Hint]]:
        """Return the session, and its characters that were silent for long; asks no model."""
        snapshot = await self.load(with_memory=True)
        replies = await self._store.last_replies(self.id)
        hints = hints_of(snapshot.session, replies, snapshot.blocks, rules)
        return snapshot.session, with_wishes(hints, await answers_of(self._store.calls, self.id, replies))

    async def drafts(self) -> Sequence[NarrativeDraft]:
        """Return every draft, oldest first."""
        return await self._store.drafts(self.id)

    async def requests(self, kind: RequestKind | None = None) -> Sequence[Request]:
        """Return every request, or every one of a kind, oldest first, whatever its state."""
        return await self._store.calls.requests(self.id, kind=kind)

    async def artifacts(self) -> Sequence[Artifact]:
        """Return the provenance of every call, oldest first."""
        return await self._store.calls.artifacts(self.id)

    async def last_duration(self, agent_id: int, model: str) -> float | None:
        """Return the seconds that this agent last took with this model; None when unknown."""
        return await find_last_duration(self._store, self.id, agent_id, model)

    async def contents(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return the sent and received texts with these hashes."""
        return await self._store.calls.contents(self.id, hashes)
