"""Handles afterthoughts, with which a character adds to its reply, and heartbeats, which ask the silent.

What a character decided, and why, is kept in the provenance alone; no input has it.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from core.agents import character, speaking
from core.agents.context_builder import ContextBuilder
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.visibility import CharacterKnowledge
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import BackgroundRequest, ReplyRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import AFTERTHOUGHT_SECONDS, Event
from core.domain.story.reply_uses import accesses_of, metadata_of
from core.engine.changes.canon import end_of_canon, newest_events, source_of
from core.engine.kinds.base import BackgroundHandler, Job, called_with, failure_unless_gm_needed, input_of
from core.engine.kinds.outcome import AfterthoughtMade, Failed
from core.gateway.call_records import CallRecords
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.analysis.repetition import first_repeated

DECISION_CALL: Final = 1
"""The call of an attempt that asks whether the character speaks; the next one has what it says."""
_SAID_NOTHING: Final = AfterthoughtMade()


@dataclass(frozen=True, slots=True)
class Pause:
    """The event that an afterthought follows, and the GM's idle time after it."""

    seconds: int
    event_id: str

    @property
    def text(self) -> str:
        """The form in which a request has it."""
        return f"{self.seconds} {self.event_id}"

    @classmethod
    def of(cls, request: BackgroundRequest) -> Self:
        """Return the pause of a request; one that cannot be read is over."""
        seconds, _, event_id = request.text.partition(" ")
        return cls(int(seconds) if seconds.isdecimal() else 0, event_id)


@dataclass(frozen=True, slots=True)
class Opening:
    """The place where a character may add something now."""

    after: Event
    """The last event of the story."""
    reply: Event
    """The last reply, of the character that may add to it."""
    slot: Slot
    """The character."""
    added: int
    """Number of additions that the character has made to it."""


def opening_of(snapshot: Snapshot) -> Opening | None:
    """Return where a character may add something now; None where none may, or the play goes on."""
    session = snapshot.session
    if not session.adds_unasked or session.state is not SessionState.ACTIVE or not session.prompt_index:
        return None
    is_idle = not (snapshot.open_requests or snapshot.undone or snapshot.failed(ReplyRequest))
    events = newest_events(snapshot)
    replies = [(event.slot, event) for event in events if event.slot is not None]
    if not (is_idle and replies and replies[-1][0] in session.may_add):
        return None
    slot, reply = replies[-1]
    return Opening(events[-1], reply, slot, sum(one.is_afterthought for _, one in replies))


class AfterthoughtHandler(BackgroundHandler[AfterthoughtMade]):
    """Handles afterthoughts. One that is stopped, by whatever, has said nothing and is done."""

    async def run(
        self, job: Job, request: BackgroundRequest
    ) -> tuple[AfterthoughtMade | Failed, CallRecords]:
        """Ask whether the character speaks, and if it does, what it says."""
        opening, pause = opening_of(job.snapshot), Pause.of(request)
        if opening is None or not _is_of(opening, pause, request):
            return _SAID_NOTHING, CallRecords()
        knowledge = await job.known_to(opening.slot, opening.reply.text)
        choice, builder = called_with(job, AgentRole.CHARACTER, opening.slot, request.model)
        asked = speaking.decision(choice.style, pause.seconds)
        question = await input_of(builder, knowledge, asked.text, is_new=False)
        question = replace(question, schema=speaking.AFTERTHOUGHT)
        answer = await job.calls.make(asked.marked(question), choice)
        if answer.error is not None:
            return failure_unless_gm_needed(answer) or _SAID_NOTHING, answer.call_records
        if not speaking.speaks(answer.text):
            return _SAID_NOTHING, answer.call_records
        # The decision was paid for, and a crash during the addition does not take it off the record.
        await job.calls.keep(answer.call_records)
        made, call_records = await _added(job, builder, choice, knowledge, pause)
        return made, answer.call_records + call_records

    def settle(
        self, snapshot: Snapshot, done: BackgroundRequest, made: AfterthoughtMade, now: datetime
    ) -> Changes:
        """Add what was said to the newest prompt, unless the play has gone on meanwhile."""
        opening, pause = opening_of(snapshot), Pause.of(done)
        settled = Changes(session_id=snapshot.session.id, requests=(done,))
        if not made.text or opening is None or not _is_of(opening, pause, done):
            return settled
        take, ordinal = end_of_canon(snapshot, now)
        source = {**source_of(str(done.id), None, said=made.lore), AFTERTHOUGHT_SECONDS: pause.seconds}
        said = take.reply(ordinal, opening.slot, made.text, source, done.audience)
        used = accesses_of(made.lore, said.prompt_index)
        return replace(settled, events=(said,), accesses=used)


def _is_of(opening: Opening, pause: Pause, request: BackgroundRequest) -> bool:
    """Whether a request is about this place of the story, and may be heard as the reply was."""
    is_here = (str(opening.after.id), opening.slot) == (pause.event_id, request.slot)
    return is_here and opening.reply.audience == request.audience


async def _added(
    job: Job, builder: ContextBuilder, choice: ModelConfig, knowledge: CharacterKnowledge, pause: Pause
) -> tuple[AfterthoughtMade | Failed, CallRecords]:
    """Return what the character adds; nothing, if it only repeats something or was cut off."""
    asked = speaking.addition(choice.style, pause.seconds)
    context = asked.marked(await input_of(builder, knowledge, asked.text, is_new=False))
    result = await job.calls.make(context, choice)
    if result.error is not None:
        return failure_unless_gm_needed(result) or _SAID_NOTHING, result.call_records
    own, session = knowledge.character, knowledge.session
    text, call_records = result.text, result.call_records
    is_unfinished = result.finish_reason == "length"
    if choice.style is PromptStyle.SMALL:
        others = [name for slot, name in session.roster if slot is not own.slot]
        text, cut = character.trim_small_reply(text, others, own=own.name, is_unfinished=is_unfinished)
        call_records = call_records.noting(cut)
    elif is_unfinished:
        return _SAID_NOTHING, call_records.marked(StoryEngineError(ErrorCode.LLM_TRUNCATED))
    try:
        text = character.strip_speaker_name(text, own.name)
    except StoryEngineError as error:
        return _SAID_NOTHING, call_records.marked(error)
    if choice.avoids_repeats:
        repeated = first_repeated(text, character.repeatable(context, knowledge, asked.text))
        if repeated is not None:
            return _SAID_NOTHING, call_records.noting((f"This addition, because it repeats {repeated.what}",))
    used = metadata_of(context.lore_uses, context.recalled)
    return AfterthoughtMade(text, used), call_records


@dataclass(frozen=True, slots=True)
class HeartbeatOutcome:
    """The character was asked, or no longer needs to be."""


class HeartbeatHandler(BackgroundHandler[HeartbeatOutcome]):
    """Handles heartbeats, whose answers are hints to the GM alone.

    The request's text is the number of the prompt of the character's last reply.
    """

    async def run(
        self, job: Job, request: BackgroundRequest
    ) -> tuple[HeartbeatOutcome | Failed, CallRecords]:
        """Make the one call, if the character is still in the scene and silent."""
        slot = request.slot
        last = int(request.text) if request.text.isdecimal() else 0
        session = job.snapshot.session
        if slot is None or slot not in session.here or _has_spoken(job.snapshot, slot, last):
            return HeartbeatOutcome(), CallRecords()
        choice, builder = called_with(job, AgentRole.CHARACTER, slot, request.model)
        asked = speaking.heartbeat(choice.style, max(1, session.prompt_index - last))
        known = await job.known_to(slot, "")
        question = await input_of(builder, known, asked.text, is_new=False)
        question = replace(question, schema=speaking.HEARTBEAT)
        answer = await job.calls.make(asked.marked(question), choice)
        if answer.error is not None:
            return failure_unless_gm_needed(answer) or HeartbeatOutcome(), answer.call_records
        return HeartbeatOutcome(), answer.call_records


def _has_spoken(snapshot: Snapshot, slot: Slot, last: int) -> bool:
    return any(event.slot is slot and event.prompt_index > last for event in snapshot.recent)
