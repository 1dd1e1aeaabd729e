"""A character's reply to a prompt of the GM (design 6 and 7)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from core.agents import character
from core.config.models import PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.event import REQUEST_ID, Event, Role
from core.domain.ids import EventId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.request import ReplyRequest
from core.domain.slot import Slot, following
from core.domain.state_machine import Command
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.outcome import Failed, ReplyMade
from core.engine.moves import move_and_summarise
from core.gateway.call_records import CallRecords
from core.store import Changes, Snapshot
from core.text.composer_text import joined


class ReplyHandler(KindHandler[ReplyRequest, ReplyMade]):
    """A character at work."""

    async def run(self, job: Job, request: ReplyRequest) -> tuple[ReplyMade | Failed, CallRecords]:
        """Ask the character; of a reply of the very small model, keep what is whole."""
        context = job.builder.character(job.snapshot.known_to(request.slot), request.text)
        result = await job.calls.make(context)
        if result.error is not None:
            return Failed(result.error, result.retry_after), result.call_records
        is_unfinished = result.finish_reason == "length"
        text, call_records = result.text, result.call_records
        if job.calls.config_of(context).style is PromptStyle.SMALL:
            text, cut = character.trim_small_reply(text, is_unfinished=is_unfinished)
            call_records = call_records.noting(cut)
        elif is_unfinished:
            error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
            return Failed(error), call_records.marked(error)
        name = job.snapshot.session.name_of(request.slot)
        try:
            return ReplyMade(character.strip_speaker_name(text, name)), call_records
        except StoryEngineError as error:
            return Failed(error), call_records.marked(error)

    def settle(self, snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime) -> Changes:
        """Store the GM's text and the reply as the next prompt; a summary follows where one is due."""
        index = snapshot.session.prompt_index + 1
        session = replace(
            snapshot.session, prompt_index=index, next_slot=following(done.slot, snapshot.session.slots)
        )
        done = replace(done, prompts=PromptRange(index, index))

        def event(ordinal: int, role: Role, slot: Slot | None, text: str) -> Event:
            return Event(
                id=EventId(new_uuid()),
                session_id=session.id,
                prompt_index=index,
                ordinal=ordinal,
                role=role,
                slot=slot,
                text=text,
                metadata={REQUEST_ID: str(done.id)},
                created_at=now,
            )

        session, due = move_and_summarise(snapshot, session, Command.REPLY_STORED, now)
        return Changes(
            session_id=session.id,
            session=session,
            events=(event(0, Role.USER, None, done.text), event(1, Role.AGENT, done.slot, made.text)),
            requests=(done, *due),
        )

    def is_done(self, request: ReplyRequest, changes: Changes) -> bool:
        """Whether one of the new events names the request."""
        return any(event.request_id == str(request.id) for event in changes.events)

    def returned(self, snapshot: Snapshot, request: ReplyRequest) -> Mapping[Slot, str]:
        """The text comes back to its composer, in front of what was typed since."""
        return {request.slot: joined(request.text, snapshot.unsent.get(request.slot, ""))}
