"""Points out who was silent for long, and asks what such a character would speak about (design 17)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.agents.speaking import reason_of, speaks
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Artifact, BackgroundRequest
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.domain.slot import Slot
from core.engine.changes.moves import new_work
from core.engine.queue.background import BackgroundWorker
from core.engine.services.speaking.hints import Hint, HintRules, hints_of, unsettled
from core.engine.sync.session_writer import SessionWriter
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.storage.call_store import CallStore

MOST_ANSWERS: Final = 2 * len(Slot)
"""Number of the newest answers that are read: each silent character has given one of them."""

Replies = Mapping[Slot, tuple[int, datetime]]


@dataclass(eq=False)
class Heartbeats:
    """The hints of an open session. Until the GM names a number of prompts it reads and asks nothing."""

    _writer: SessionWriter
    _background: BackgroundWorker
    _rules: HintRules

    async def hints(self) -> Sequence[Hint]:
        """Return the characters that were silent for long, if the GM wants to know; otherwise none.

        The model of the one that was silent for longest is asked, if the GM wants that too, and its answer is
        part of the hints once it is there. Raises StorageError.
        """
        session = self._writer.snapshot.session
        if not session.hint_after:
            return ()
        replies = await self._writer.store.last_replies(session.id)
        snapshot = await self._writer.know_memory(is_patient=False)
        hints = hints_of(snapshot.session, replies, snapshot.blocks, self._rules)
        if not hints or not self._rules.by_model:
            return hints
        answers = await answers_of(self._writer.store.calls, session.id, replies)
        unasked = [hint.slot for hint in hints if hint.slot not in answers]
        if unasked:
            last, _ = replies.get(unasked[0], (0, None))
            await self._ask(unasked[0], last)
        return with_wishes(hints, answers)

    async def _ask(self, slot: Slot, last: int) -> None:
        """Ask a character, silent since prompt `last`: one at a time, in the window that writes."""
        snapshot = self._writer.snapshot
        is_possible = snapshot.session.state in KIND_SPECS[RequestKind.HEARTBEAT].runs_in
        if self._writer.lease is None or not is_possible or unsettled(snapshot):
            return
        index = snapshot.session.prompt_index
        request = BackgroundRequest(
            slot=slot,
            text=str(last),
            prompts=PromptRange(index, index),
            **new_work(RequestKind.HEARTBEAT, snapshot.session.id, self._writer.clock()),
        )
        await self._background.add(request, unless=unsettled)


async def answers_of(calls: CallStore, session_id: SessionId, replies: Replies) -> Mapping[Slot, str]:
    """Return what characters would speak about, empty for nothing, as they said since their last reply.

    Raises StorageError.
    """
    answered = await calls.artifacts(session_id, kind=RequestKind.HEARTBEAT, newest=MOST_ANSWERS)
    current = {Slot(call.agent_id): call for call in answered if _is_current(call, replies)}
    texts = await calls.contents(
        session_id, [call.output_ref for call in current.values() if call.output_ref]
    )
    wishes: dict[Slot, str] = {}
    for slot, call in current.items():
        text = texts.get(call.output_ref or "", "")
        wishes[slot] = reason_of(text) if speaks(text) else ""
    return wishes


def with_wishes(hints: Sequence[Hint], answers: Mapping[Slot, str]) -> tuple[Hint, ...]:
    """Return the hints with the characters' wishes."""
    return tuple(replace(hint, wish=answers.get(hint.slot, "")) for hint in hints)


def _is_current(call: Artifact, replies: Replies) -> bool:
    """Whether a call, other than the query for its input, was answered after the character's last reply."""
    if call.agent_id not in tuple(Slot) or call.prompt_version == EMBEDDING_VERSION:
        return False
    _, at = replies.get(Slot(call.agent_id), (0, None))
    return at is None or call.created_at > at
