"""Locks tab 1: agent 0 writes the first block of memory (design 5 and 7)."""

from dataclasses import replace
from datetime import datetime

from core.agents.memory import world_lock
from core.domain.ids import BlockId, new_uuid
from core.domain.requests.request import LockRequest
from core.domain.session.lore import labelled
from core.domain.session.state_machine import Command
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.changes.moves import move_and_summarise
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.json_answer import make_memory
from core.engine.kinds.outcome import Failed, LockMade
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot


def _have_groups(snapshot: Snapshot) -> bool:
    return any(secret.groups for secret in snapshot.secrets)


class LockHandler(KindHandler[LockRequest, LockMade]):
    """Handles lock requests."""

    async def run(self, job: Job, request: LockRequest) -> tuple[LockMade | Failed, CallRecords]:
        """Request the first block from agent 0."""
        snapshot = job.snapshot
        job.builder.require_room(snapshot.session, snapshot.tab1)
        if _have_groups(snapshot):  # Those who see a group may be others than when the secret was written.
            job.builder.require_room_for_secrets(snapshot.session, snapshot.tab1, snapshot.secrets_now)
        context = job.builder.world_lock(snapshot.session, snapshot.tab1)
        style = job.calls.config_of(context).style
        made, call_records = await make_memory(
            context, job.calls, lambda text: world_lock.parse(text, snapshot.session, style)
        )
        return (made if isinstance(made, Failed) else LockMade(made.payload, made.json_text)), call_records

    def settle(self, snapshot: Snapshot, done: LockRequest, made: LockMade, now: datetime) -> Changes:
        """Store the block and who may know what; select the first slot, or go on where a chat ended."""
        played = snapshot.session
        following = played.next_slot if played.prompt_index else min(played.slots)
        if played.is_away(following):
            following = played.speaker_after(following)
        session = replace(played, tab1_locked=True, next_slot=following)
        block = MemoryBlock(
            id=BlockId(new_uuid()),
            session_id=session.id,
            type=BlockType.WORLD_CHAPTER_LOCK,
            first=0,
            last=0,
            payload=made.payload,
            json_text=made.json_text,
            created_at=now,
        )
        session, summaries = move_and_summarise(snapshot, session, Command.LOCK_STORED, now)
        lore = labelled(snapshot.lore, session, snapshot.tab1.profiles) if snapshot.lore else None
        return Changes(
            session_id=session.id,
            session=session,
            secrets=snapshot.secrets_now if _have_groups(snapshot) else None,
            lore=lore,
            blocks=(block,),
            requests=(done, *summaries),
        )

    def is_done(self, request: LockRequest, changes: Changes) -> bool:
        """Whether tab 1 is locked."""
        return changes.session is not None and changes.session.tab1_locked
