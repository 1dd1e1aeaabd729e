"""Requests a character's reply to a prompt of the GM (design 6 and 7)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from core.agents import character
from core.agents.context_builder import Context
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.bank import ChapterBank
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import ReplyRequest
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.event import REQUEST_ID, Event, Role
from core.domain.story.reply_uses import accesses_of, metadata_of
from core.domain.story.silence import Spoken, read_spoken
from core.engine.changes.canon import (
    NewTake,
    Origin,
    before_newest,
    carried_statuses,
    end_of_canon,
    new_take,
    newest_events,
    rewritten,
    source_of,
    withdraw_newest,
)
from core.engine.changes.moves import move_and_summarise, next_reply
from core.engine.kinds.base import Job, KindHandler, called_with, input_of
from core.engine.kinds.outcome import Failed, ReplyMade
from core.gateway.call_records import CallRecords
from core.gateway.cashier import Following
from core.gateway.model_gateway import CallResult
from core.providers.base import ProviderError
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot, recent_from
from core.text.analysis.repetition import Repeatable, first_repeated
from core.text.composer_text import joined

CONTINUE: Final = "Continue your last reply exactly where it breaks off, without repeating any of it."
"""The prompt of a request that continues a reply; it is not stored as the GM's."""


REASON_NOTE: Final = "The reason for having no words, which you alone read"
"""The note on a call whose answer had one."""


class ReplyHandler(KindHandler[ReplyRequest, ReplyMade]):
    """Handles reply requests."""

    async def run(self, job: Job, request: ReplyRequest) -> tuple[ReplyMade | Failed, CallRecords]:
        """Request the reply, and a second one if it only repeats something.

        Uses the second reply, whatever it is, or the first if the second call fails.
        """
        snapshot = await _snapshot_for(job, request)
        knowledge = await job.known_to(request.slot, request.text, snapshot)
        choice, builder = called_with(job, AgentRole.CHARACTER, request.slot, request.model)
        text = CONTINUE if request.continues else request.text
        context = await input_of(
            builder, knowledge, text, needs_words=request.continues, is_new=_is_new(request)
        )
        banks = {slot: await job.bank.read(job.snapshot, slot) for slot in request.then}
        following = partial(_following, job, request, banks)
        lore = metadata_of(context.lore_uses, context.recalled)
        result = await _asked(job, context, choice, following)
        made, call_records = _read(job, request, choice, result, lore)
        if isinstance(made, Failed) or not choice.avoids_repeats or made.said:
            return made, call_records
        sources = character.repeatable(context, knowledge, request.text)
        repeated = first_repeated(made.text, sources)
        if repeated is None:
            return made, call_records
        second = await _asked(job, context, choice.another_try, following)
        made_again, records_again = _read(job, request, choice, second, lore)
        if isinstance(made_again, Failed):
            if made_again.error.code is ErrorCode.LLM_CANCELLED:
                return made_again, call_records.noting(_rejected(repeated)) + records_again
            kept = replace(made, repeats=repeated.what)
            return kept, call_records.noting(_kept(repeated)) + records_again
        call_records = call_records.noting(_rejected(repeated))
        if (still := first_repeated(made_again.text, sources)) is not None:
            made_again = replace(made_again, repeats=still.what)
            records_again = records_again.noting(_kept(still))
        return made_again, call_records + records_again

    def settle(self, snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime) -> Changes:
        """Store the GM's text and the reply, with a request for the next reply or a summary if one is due.

        They become the next prompt, or another take of the newest one: then a block of memory that has that
        prompt is withdrawn. Prompts that were undone can no longer be redone. A further reply is added to the
        newest prompt as it is.
        """
        if done.follows:
            session, changes = _further_reply(snapshot, done, made, now)
        elif done.prompts is not None:
            session, changes = _another_take(snapshot, done, made, now)
        else:
            session, changes = _next_prompt(snapshot, done, made, now)
        index = session.prompt_index
        answered = replace(done, prompts=PromptRange(index, index))
        following = next_reply(answered, now)
        session = session.played_to(index, done.slot)
        known = snapshot.with_requests(answered, *following)
        session, due = move_and_summarise(known, session, Command.REPLY_STORED, now)
        return replace(
            changes,
            session=session,
            canon_end=index if snapshot.undone else None,
            requests=(answered, *following, *due),
            accesses=accesses_of(made.lore, index),
        )

    def is_done(self, request: ReplyRequest, changes: Changes) -> bool:
        """Whether one of the new events names the request."""
        return any(event.request_id == str(request.id) for event in changes.events)

    def returned(self, snapshot: Snapshot, request: ReplyRequest) -> Mapping[Slot, str]:
        """Return the text to its composer, in front of newer text; canon may have it already."""
        if request.follows:
            return {}
        if request.prompts is not None and _text_at(snapshot, request.prompts.last) == request.text:
            return {}
        return {request.slot: joined(request.text, snapshot.unsent.get(request.slot, ""))}


def _next_prompt(
    snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime
) -> tuple[Session, Changes]:
    session = replace(snapshot.session, prompt_index=snapshot.session.prompt_index + 1)
    take = new_take(snapshot, session.prompt_index, now)
    return session, Changes(session_id=session.id, events=_exchange(take, snapshot, done, made))


def _another_take(
    snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime
) -> tuple[Session, Changes]:
    session, withdrawn = withdraw_newest(snapshot, now)
    take = new_take(snapshot, _index_of(snapshot, done), now)
    if done.continues:
        events = take.of(_continued(snapshot, done, made))
    else:
        events = (*_exchange(take, snapshot, done, made), *take.lines_of(snapshot))
    return session, replace(withdrawn, events=events, statuses=carried_statuses(snapshot, events))


def _further_reply(
    snapshot: Snapshot, done: ReplyRequest, made: ReplyMade, now: datetime
) -> tuple[Session, Changes]:
    _index_of(snapshot, done)
    take, ordinal = end_of_canon(snapshot, now)
    reply = take.reply(ordinal, done.slot, made.text, _source(done, made), done.audience)
    return snapshot.session, Changes(session_id=snapshot.session.id, events=(reply,))


def _is_new(request: ReplyRequest) -> bool:
    """Whether the text of a request is a prompt that its character is not given as an event."""
    return not (request.continues or request.follows)


def _index_of(snapshot: Snapshot, request: ReplyRequest) -> int:
    """Return the prompt that a request is about; raise ValueError unless it is the newest."""
    index = snapshot.session.prompt_index
    if request.prompts is None or request.prompts.last != index:
        raise ValueError(f"a reply to prompts {request.prompts}, and {index} is the newest")
    return index


def _exchange(take: NewTake, snapshot: Snapshot, done: ReplyRequest, made: ReplyMade) -> tuple[Event, Event]:
    return (
        take.prompt(snapshot.session, done.text, str(done.id), done.audience),
        take.reply(1, done.slot, made.text, _source(done, made), done.audience),
    )


def _source(done: ReplyRequest, made: ReplyMade) -> dict[str, object]:
    return source_of(str(done.id), made.origin, made.repeats, {**made.said, **made.lore})


def _continued(snapshot: Snapshot, done: ReplyRequest, made: ReplyMade) -> list[Event]:
    """Return the canon of the newest prompt with the last reply continued."""
    prompt, *others = newest_events(snapshot)
    last = [event for event in others if event.role is Role.AGENT][-1]
    source = source_of(str(done.id), Origin.CONTINUED, made.repeats)
    whole = rewritten(last, f"{last.text.rstrip()} {made.text}", source)
    prompt = replace(prompt, metadata={**prompt.metadata, REQUEST_ID: str(done.id)})
    return [prompt, *(whole if event is last else event for event in others)]


def _following(
    job: Job, request: ReplyRequest, banks: Mapping[Slot, ChapterBank]
) -> list[tuple[Context, ModelConfig]]:
    """Return the inputs of those who answer after this one, as far as they are known yet.

    One that has no room says so in a request of its own.
    """
    calls: list[tuple[Context, ModelConfig]] = []
    for slot in request.then:
        with suppress(StoryEngineError):
            choice, builder = called_with(job, AgentRole.CHARACTER, slot, request.model)
            calls.append((builder.character(job.snapshot.known_to(slot, banks[slot]), request.text), choice))
    return calls


async def _snapshot_for(job: Job, request: ReplyRequest) -> Snapshot:
    """Return the session as the character must see it: for another take, without the existing take."""
    if not request.is_take or request.continues:
        return job.snapshot
    now = request.updated_at
    session = before_newest(job.snapshot, (), now).session
    if job.snapshot.is_recent_known and session.boundary == job.snapshot.session.boundary:
        known = (event for event in job.snapshot.recent if event.prompt_index <= session.prompt_index)
        return before_newest(job.snapshot, tuple(known), now)
    start = recent_from(session, job.snapshot.recent_prompts)
    canon = await job.store.canon(session.id, first=start, last=session.prompt_index)
    earlier = tuple(event for event in canon if event.summarised_with > start)
    return before_newest(job.snapshot, earlier, now)


def _text_at(snapshot: Snapshot, index: int) -> str:
    at_index = (event for event in snapshot.recent if event.prompt_index == index)
    return next((event.text for event in at_index), "")


def _read(
    job: Job, request: ReplyRequest, choice: ModelConfig, result: CallResult, lore: Mapping[str, object]
) -> tuple[ReplyMade | Failed, CallRecords]:
    """Return the reply in the result of a call, with the lore of its input.

    A small model's is reduced to its own complete sentences.
    """
    session = job.snapshot.session
    may_be_silent = request.slot in session.may_be_silent and not request.continues
    if may_be_silent and isinstance(result.error, ProviderError) and result.error.is_blank:
        return _spoken(read_spoken(""), lore), result.call_records.accepted()
    if result.error is not None:
        return Failed(result.error, result.retry_after), result.call_records
    is_unfinished = result.finish_reason == "length"
    text, call_records = result.text, result.call_records
    if choice.style is PromptStyle.SMALL:
        others = [name for slot, name in session.roster if slot is not request.slot]
        own = session.name_of(request.slot)
        text, cut = character.trim_small_reply(text, others, own=own, is_unfinished=is_unfinished)
        call_records = call_records.noting(cut)
    elif is_unfinished:
        error = StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return Failed(error), call_records.marked(error)
    if may_be_silent:
        spoken = read_spoken(character.without_speaker_name(text, session.name_of(request.slot)))
        return _spoken(spoken, lore), call_records.noting((REASON_NOTE,) if spoken.reason else ())
    try:
        own = character.strip_speaker_name(text, session.name_of(request.slot))
        return ReplyMade(own, lore=lore), call_records
    except StoryEngineError as error:
        return Failed(error), call_records.marked(error)


async def _asked(job: Job, context: Context, choice: ModelConfig, following: Following) -> CallResult:
    """Return the result of a call, or the answer of an attempt whose outcome could not be stored."""
    earlier = await job.calls.on_record.accepted(context, choice)
    return await job.calls.make(context, choice, following) if earlier is None else earlier.result


def _spoken(spoken: Spoken, lore: Mapping[str, object]) -> ReplyMade:
    return ReplyMade(spoken.text, said=spoken.metadata, lore=lore)


def _rejected(repeated: Repeatable) -> tuple[str, ...]:
    """Return the note on a call whose answer was rejected."""
    return (f"This whole answer, because it repeats {repeated.what}; the model was asked once more",)


def _kept(repeated: Repeatable) -> tuple[str, ...]:
    """Return the note on a call whose repetitive answer was used."""
    return (f"Nothing, although this answer repeats {repeated.what}: a second try gave no better one",)
