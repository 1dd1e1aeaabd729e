"""Requests a character's reply to a prompt of the GM (design 6 and 7)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from core.agents import character
from core.config.models import ModelConfig, PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.event import REQUEST_ID, Event, Role
from core.domain.ids import EventId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.request import ReplyRequest
from core.domain.slot import Slot, slot_after
from core.domain.state_machine import Command
from core.engine.kinds.base import Job, KindHandler
from core.engine.kinds.outcome import Failed, ReplyMade
from core.engine.moves import move_and_summarise
from core.gateway.call_records import CallRecords
from core.gateway.model_gateway import CallResult
from core.store import Changes, Snapshot
from core.text.composer_text import joined
from core.text.repetition import Source, first_repeated


class ReplyHandler(KindHandler[ReplyRequest, ReplyMade]):
    """Handles reply requests."""

    async def run(self, job: Job, request: ReplyRequest) -> tuple[ReplyMade | Failed, CallRecords]:
        """Request the reply, and a second one if it only repeats something.

        Uses the second reply, whatever it is, or the first if the second call fails.
        """
        knowledge = job.snapshot.known_to(request.slot)
        context = job.builder.character(knowledge, request.text)
        choice = job.calls.config_of(context)
        made, call_records = _read(job, request, choice, await job.calls.make(context))
        if isinstance(made, Failed) or not choice.avoids_repeats:
            return made, call_records
        sources = character.repeatable(context, knowledge, request.text)
        repeated = first_repeated(made.text, sources)
        if repeated is None:
            return made, call_records
        second = await job.calls.make(context, choice.another_try)
        made_again, records_again = _read(job, request, choice, second)
        if isinstance(made_again, Failed):
            if made_again.error.code is ErrorCode.LLM_CANCELLED:
                return made_again, call_records.noting(_rejected(repeated)) + records_again
            return made, call_records.noting(_kept(repeated)) + records_again
        call_records = call_records.noting(_rejected(repeated))
        if (still := first_repeated(made_again.text, sources)) is not None:
            records_again = records_again.noting(_kept(still))
        return made_again, call_records + records_again

    def settle(self, snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime) -> Changes:
        """Store the GM's text and the reply as the next prompt, with a summary request if one is due."""
        index = snapshot.session.prompt_index + 1
        session = replace(
            snapshot.session, prompt_index=index, next_slot=slot_after(done.slot, snapshot.session.slots)
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
        """Return the text to its composer, in front of what was typed since."""
        return {request.slot: joined(request.text, snapshot.unsent.get(request.slot, ""))}


def _read(
    job: Job, request: ReplyRequest, choice: ModelConfig, result: CallResult
) -> tuple[ReplyMade | Failed, CallRecords]:
    """Return the reply in the result of a call; a small model's is reduced to its own complete sentences."""
    if result.error is not None:
        return Failed(result.error, result.retry_after), result.call_records
    session = job.snapshot.session
    is_unfinished = result.finish_reason == "length"
    text, call_records = result.text, result.call_records
    if choice.style is PromptStyle.SMALL:
        others = [name for slot, name in session.roster if slot is not request.slot]
        text, cut = character.trim_small_reply(text, others, is_unfinished=is_unfinished)
        call_records = call_records.noting(cut)
    elif is_unfinished:
        error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return Failed(error), call_records.marked(error)
    try:
        return ReplyMade(character.strip_speaker_name(text, session.name_of(request.slot))), call_records
    except StoryEngineError as error:
        return Failed(error), call_records.marked(error)


def _rejected(repeated: Source) -> tuple[str, ...]:
    """Return the note on a call whose answer was rejected."""
    return (f"This whole answer, because it repeats {repeated.what}; the model was asked once more",)


def _kept(repeated: Source) -> tuple[str, ...]:
    """Return the note on a call whose repetitive answer was used."""
    return (f"Nothing, although this answer repeats {repeated.what}: no better one was to be had",)
