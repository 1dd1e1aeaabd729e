"""The duration of an agent's last work, from the provenance of earlier calls (design 4)."""

from collections.abc import Sequence
from itertools import groupby

from core.agents import assist
from core.domain.ids import SessionId
from core.domain.requests.request import Artifact
from core.engine.kinds.test_call import TEST_VERSION
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.storage.session_store import SessionStore

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
    others = [one.id for one in await store.sessions() if one.is_readable and one.id != session_id]
    for one in (session_id, *others[:MAX_SESSIONS_SCANNED]):
        calls = await store.artifacts(one, agent_id=agent_id, newest=NEWEST)
        if len(calls) == NEWEST:
            # The oldest request among them may be incomplete.
            calls = [call for call in calls if call.request_id != calls[0].request_id]
        seconds = last_duration(calls, agent_id, model)
        if seconds is not None:
            return seconds
    return None
