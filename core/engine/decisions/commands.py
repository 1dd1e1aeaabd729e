"""The GM's commands as pure functions from a snapshot to changes; they raise IllegalCommandError."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from core.agents.context_builder import ContextBuilder
from core.domain.audience import EVERYONE, Audience
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import BlockId, CharacterId, RequestId, new_uuid
from core.domain.requests.request import (
    AnyRequest,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
)
from core.domain.session.limits import LONGEST_CORRECTION, LONGEST_CORRECTIONS
from core.domain.session.prompt_block import PromptBlocks, cleaned_blocks, problems_of_blocks
from core.domain.session.session import Session, require_here
from core.domain.session.state_machine import NOTHING_TO_SUMMARISE, Command
from core.domain.slot import Slot
from core.domain.story.memory import BlockType, MemoryBlock, correction_payload, corrections_length
from core.engine.changes.absences import with_paused
from core.engine.changes.moves import (
    due_retries,
    given_up,
    is_rebuilt,
    leave_out,
    move,
    move_and_summarise,
    new_request,
    pending_again,
    summary_request,
    why_not,
)
from core.engine.decisions.tab1_commands import within
from core.engine.kinds.registry import handler_of
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank
from core.text.composer_text import without

SETTLED: Final = "That call is settled already; there is nothing left to do for it."
Ask = Callable[[Snapshot], tuple[Changes, RequestId]]


def save_unsent(snapshot: Snapshot, slot: Slot, text: str) -> Changes:
    """Store the unsent text of a composer, so that it survives a restart."""
    limit = snapshot.session.limits.prompt * 4
    return Changes(session_id=snapshot.session.id, unsent={slot: within("prompt", text, limit)})


def lock(
    snapshot: Snapshot, now: datetime, paused: Collection[CharacterId] = ()
) -> tuple[Changes, RequestId]:
    """Lock tab 1: agent 0 writes the first memory block.

    Characters that were taken from the library and are `paused` there are away until they are not.
    """
    session = with_paused(move(snapshot, snapshot.session, Command.LOCK, now), snapshot.tab1, paused)
    failed = snapshot.failed(LockRequest)
    request = pending_again(failed[0], now) if failed else LockRequest(**new_request(session.id, now))
    return Changes(session_id=session.id, session=session, requests=(request,)), request.id


def submit_prompt(
    snapshot: Snapshot,
    slot: Slot,
    text: str,
    now: datetime,
    *,
    heard_by: Audience | None = None,
    then: Sequence[Slot] = (),
    is_typed: bool = True,
) -> tuple[Changes, RequestId]:
    """Store the GM's prompt, and clear its composer in the same transaction.

    Those in `then` answer it after the one addressed. Those present hear it, or those in `heard_by`; all who
    are called always do.

    The same text after a failure reuses its request. Other failed requests are cancelled, and so is an end of
    the chapter that could not be completed. A text that was not typed in the composer (a retry, a script) is
    removed from it, and the rest stays.
    """
    missing = snapshot.further_reply
    is_left_out = missing is not None and missing.has_failed
    dropped = leave_out(snapshot, missing, now, with_rest=True) if missing and is_left_out else None
    before = snapshot.after(dropped) if dropped else snapshot
    session = move(before, before.session, Command.SUBMIT_PROMPT, now)
    text = within("prompt", text, session.limits.prompt).strip()
    if is_blank(text):
        raise IllegalCommandError("There is no text to send; write a prompt first.")
    then = tuple(other for other in dict.fromkeys(then) if other is not slot)
    for called in (slot, *then):
        require_cast(session, called)
        require_here(session, called)
    if heard_by is not None and not heard_by.is_everyone:
        for hearer in heard_by:
            require_cast(session, hearer)
    audience = session.hearers_of(slot, heard_by, *then)
    asked = ReplyRequest(slot=slot, text=text, audience=audience, then=then, **new_request(session.id, now))
    failed = before.failed(ReplyRequest)
    same = next((one for one in failed if one.asked == asked.asked), None)
    request = pending_again(same, now) if same else asked
    others: list[Request] = [given_up(other, now) for other in failed if other is not same]
    if snapshot.session.is_ending and not session.is_ending:
        others += [given_up(other, now) for other in _short_summaries(snapshot)]
    changes = Changes(
        session_id=session.id,
        session=session if session != replace(snapshot.session, updated_at=now) else None,
        requests=(*(dropped.requests if dropped else ()), *others, request),
        unsent=_unsent_without(snapshot, slot, text, is_typed=is_typed),
    )
    return changes, request.id


def require_cast(session: Session, slot: Slot) -> None:
    """Raise IllegalCommandError unless a character of this chapter has the slot."""
    if slot not in session.slots:
        raise IllegalCommandError(f"{session.name_of(slot)} does not play in this chapter; choose another.")


def withdraw(snapshot: Snapshot, request_id: RequestId, now: datetime) -> Changes:
    """Withdraw a queued or failed prompt, whose text is in the composer; a further reply is left out."""
    request = find_request(snapshot, request_id)
    if not isinstance(request, ReplyRequest):
        raise IllegalCommandError("Only a prompt can be taken back.")
    if request.is_processing:
        raise IllegalCommandError("The prompt is with the model already; cancel it instead.")
    if request.follows:
        return leave_out(snapshot, request, now)
    # The text of a failed prompt returned when it failed.
    unsent = {} if request.has_failed else handler_of(request).returned(snapshot, request)
    return Changes(session_id=request.session_id, requests=(given_up(request, now),), unsent=unsent)


def end_chapter(snapshot: Snapshot, now: datetime) -> Changes:
    """End the chapter, after a summary of the prompts that are not in memory."""
    others = tuple(given_up(request, now) for request in snapshot.failed(ReplyRequest))
    rest = snapshot.with_requests(*others)
    session, due = move_and_summarise(rest, rest.session, Command.END_CHAPTER, now)
    return Changes(session_id=session.id, session=session, requests=(*others, *due))


def summarise_early(snapshot: Snapshot, now: datetime) -> Changes:
    """Summarise an incomplete chunk, because it leaves no room for a prompt.

    The prompt, which was not sent to a model yet, waits for the summary.
    """
    session = move(snapshot, snapshot.session, Command.SUMMARISE_EARLY, now)
    put_off = (
        replace(request, state=RequestState.PENDING, attempts=request.attempts - 1, updated_at=now)
        for request in snapshot.open_prompts
        if request.is_processing
    )
    summary = summary_request(snapshot, session, now)
    return Changes(session_id=session.id, session=session, requests=(*put_off, summary))


def retry_summary(snapshot: Snapshot, now: datetime, request_id: RequestId | None = None) -> Changes:
    """Retry a failed summary: at once, or after the reply that is running.

    Without `request_id` it is the one that is due, else that of the prompts after the boundary. A block that
    is built again goes on after the deltas that its earlier attempt stored.
    """
    failed = snapshot.failed(SummaryRequest)
    if any(request.is_processing for request in snapshot.open_prompts):
        if not failed:
            raise IllegalCommandError(NOTHING_TO_SUMMARISE)
        return Changes(
            session_id=snapshot.session.id,
            requests=tuple(replace(request, retry_after=now, updated_at=now) for request in failed),
        )
    wanted = [one for one in failed if one.id == request_id] or due_retries(failed, now)
    if wanted and is_rebuilt(snapshot.session, wanted[0]) and not snapshot.session.is_ending:
        session = move(snapshot, snapshot.session, Command.REBUILD_BLOCK, now)
        return Changes(session_id=session.id, session=session, requests=(pending_again(wanted[0], now),))
    session = move(snapshot, snapshot.session, Command.RETRY_SUMMARY, now)
    request = summary_request(snapshot, session, now)
    return Changes(session_id=session.id, session=session, requests=(request,))


def define_narrative(snapshot: Snapshot, text: str, target_words: int | None, now: datetime) -> Changes:
    """Store the GM's definition of the narrative agent and the target length in words."""
    session = move(snapshot, snapshot.session, Command.DEFINE_NARRATIVE, now)
    limits = session.limits
    if target_words is not None and not 1 <= target_words <= limits.draft_words:
        raise IllegalCommandError(f"A chapter has 1 to {limits.draft_words:,} words; choose another length.")
    text = within("narrative definition", text, limits.definition)
    return Changes(
        session_id=session.id, session=replace(session, definition=text, target_words=target_words)
    )


def build_narrative(
    snapshot: Snapshot, now: datetime, *, viewpoint: Slot | None = None
) -> tuple[Changes, RequestId]:
    """Request a new draft; a failed build from the same viewpoint continues with the parts that it had."""
    session = move(snapshot, snapshot.session, Command.BUILD_NARRATIVE, now)
    if viewpoint is not None:
        require_cast(session, viewpoint)
    failed = snapshot.failed(NarrativeRequest)
    same = next((one for one in failed if one.viewpoint == viewpoint), None)
    asked = NarrativeRequest(viewpoint=viewpoint, **new_request(session.id, now))
    request = pending_again(same, now) if same else asked
    others = tuple(given_up(one, now) for one in failed if one is not same)
    return Changes(session_id=session.id, session=session, requests=(*others, request)), request.id


def correct_canon(
    snapshot: Snapshot,
    builder: ContextBuilder,
    text: str,
    now: datetime,
    *,
    audience: Audience = EVERYONE,
) -> Changes:
    """Store a correction of canon after the existing memory; only those in `audience` get it.

    The memory of `snapshot` must be known. Raises StoryEngineError when all corrections together are too long
    for the chapter or for an agent's model, because every later input contains all of them.
    """
    if not snapshot.is_memory_known:
        raise ValueError("the memory must be known, as earlier corrections count too")
    session = move(snapshot, snapshot.session, Command.CORRECT_CANON, now)
    text = within("correction", text, LONGEST_CORRECTION).strip()
    if is_blank(text):
        raise IllegalCommandError("There is no text to store; write what is true instead.")
    room = max(0, LONGEST_CORRECTIONS - corrections_length(snapshot.blocks))
    if len(text) > room:
        raise StoryEngineError(
            ErrorCode.LIMIT_EXCEEDED,
            f"The corrections of a chapter together have at most {LONGEST_CORRECTIONS:,} characters, and "
            f"{room:,} are left; nothing was stored.",
            "Write it shorter." if room else "",
        )
    block = MemoryBlock(
        id=BlockId(new_uuid()),
        session_id=session.id,
        type=BlockType.CANON_CORRECTION,
        first=session.boundary,
        last=session.boundary,
        ordinal=snapshot.last_ordinal + 1,
        # The place may have had a correction before its chunk was withdrawn.
        revision=session.canon_version + 1,
        payload=correction_payload(text, session.prompt_index),
        audience=audience,
        created_at=now,
    )
    with_blocks = builder.for_chapter(snapshot.prompt_blocks, snapshot.tab1.profiles)
    with_blocks.require_room_for_corrections(session, snapshot.tab1, (*snapshot.blocks, block))
    return Changes(session_id=session.id, session=session, blocks=(block,))


def edit_prompt_blocks(
    snapshot: Snapshot, builder: ContextBuilder, prompt_blocks: PromptBlocks, now: datetime
) -> Changes:
    """Store the prompt blocks of the chapter and its active variant; the memory of `snapshot` is known.

    Refused is what has no bounds, and what would leave the model of some agent too little room.
    """
    if not snapshot.is_memory_known:
        raise ValueError("canon and corrections take room in the same inputs")
    session = move(snapshot, snapshot.session, Command.EDIT_PROMPT_BLOCKS, now)
    prompt_blocks = cleaned_blocks(prompt_blocks)
    problem = next(problems_of_blocks(prompt_blocks), None)
    if problem is not None:
        raise IllegalCommandError(problem)
    if prompt_blocks.blocks:
        made = builder.for_chapter(prompt_blocks, snapshot.tab1.profiles)
        made.require_room_for_prompt_blocks(session, snapshot.tab1, snapshot.blocks)
    return Changes(session_id=session.id, session=session, prompt_blocks=prompt_blocks)


def require_resettable(snapshot: Snapshot) -> None:
    """Raise IllegalCommandError during and after another reset of a session."""
    if snapshot.session.archived_at is not None or why_not(snapshot, Command.RESET):
        raise IllegalCommandError("The chapter cannot be reset now; try again in a moment.")


def begin(request: AnyRequest, now: datetime) -> AnyRequest:
    """Return the request as processing, in its next attempt."""
    return replace(
        request,
        state=RequestState.PROCESSING,
        attempts=request.attempts + 1,
        error_code=None,
        error_message="",
        updated_at=now,
    )


def once(request_id: RequestId, ask: Ask) -> Ask:
    """Return `ask` for a request that has failed; it changes nothing where that is queued again by now."""

    def decide(snapshot: Snapshot) -> tuple[Changes, RequestId]:
        if find_request(snapshot, request_id).state.is_open:
            return Changes(session_id=snapshot.session.id), request_id
        return ask(snapshot)

    return decide


def find_request(snapshot: Snapshot, request_id: RequestId) -> Request:
    """Return an open or failed request; raise IllegalCommandError for any other."""
    for request in snapshot.requests:
        if request.id == request_id:
            return request
    raise IllegalCommandError(SETTLED)


def _short_summaries(snapshot: Snapshot) -> list[SummaryRequest]:
    size = snapshot.session.limits.chunk_size
    return [request for request in snapshot.failed(SummaryRequest) if len(request.prompts) < size]


def _unsent_without(snapshot: Snapshot, slot: Slot, text: str, *, is_typed: bool) -> dict[Slot, str]:
    """Return what remains in the composer after `text` is sent: text typed before or after a returned one.

    If `text` is the composer's content, nothing remains: the stored text may be an older state of it.
    """
    waiting = snapshot.unsent.get(slot, "")
    left = without(waiting, text) if waiting else None
    if left is None:
        return {slot: ""} if waiting and is_typed else {}
    return {slot: left}
