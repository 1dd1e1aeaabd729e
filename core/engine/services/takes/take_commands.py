"""The GM's commands for takes and undo, as pure functions (design 12).

Commands that change canon need a snapshot whose memory is known: when the newest prompt is in memory already,
its block is withdrawn with it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import ReplyRequest, Request, RequestState, SummaryRequest
from core.domain.session.state_machine import NOTHING_PLAYED, Command
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.domain.story.silence import Spoken, read_spoken
from core.engine.changes.canon import (
    Origin,
    carried_statuses,
    new_take,
    newest_events,
    rewritten,
    source_of,
    withdraw_newest,
)
from core.engine.changes.moves import given_up, move, move_and_summarise, new_request, pending_again
from core.engine.decisions.commands import find_request
from core.engine.decisions.tab1_commands import within
from core.engine.kinds.outcome import ReplyMade
from core.engine.kinds.speaking.reply import ReplyHandler
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank
from core.text.composer_text import joined, without


def newest(snapshot: Snapshot) -> tuple[Event, tuple[Event, ...]]:
    """Return the GM's text and the replies of the newest prompt; raise IllegalCommandError if none."""
    events = newest_events(snapshot)
    if not (events and snapshot.session.prompt_index):
        raise IllegalCommandError(NOTHING_PLAYED)
    return events[0], tuple(event for event in events if event.role is Role.AGENT)


def called(snapshot: Snapshot) -> tuple[Slot, ...]:
    """Return the characters that the newest prompt called, in order; those that were left out are not called.

    Includes those that have not answered yet.
    """
    _, replies = newest(snapshot)
    answered = tuple(reply.slot for reply in replies if reply.slot is not None and not reply.is_afterthought)
    missing = snapshot.further_reply
    return answered if missing is None else (*answered, *missing.called)


def ask_again(
    snapshot: Snapshot,
    now: datetime,
    *,
    text: str = "",
    model: str = "",
    continues: bool = False,
    calls: Sequence[Slot] = (),
) -> tuple[Changes, RequestId]:
    """Request another take of the newest prompt, with its own text unless there is another.

    Those who were called answer again, in the same order, unless `calls` has others; those who heard the
    prompt hear it again. A take that continues the newest reply has the others as they are.

    The same request after a failure is used again; other failed prompts are given up, as their texts are in
    their composers. A running summary is cancelled, and is made again when the take is stored or has failed.
    """
    session = move(snapshot, snapshot.session, Command.ASK_AGAIN, now)
    prompt, _ = newest(snapshot)
    slot, *then = calls or called(snapshot)
    if continues:
        reply = newest_reply(snapshot)
        slot, then = reply.slot or slot, []
        if reply.is_silent:
            name = session.name_of(slot)
            raise IllegalCommandError(
                f"{name} says nothing; there is nothing to go on with. Re-roll instead."
            )
    text = within("prompt", text, session.limits.prompt).strip() or prompt.text
    index = session.prompt_index
    asked = ReplyRequest(
        slot=slot,
        text=text,
        prompts=PromptRange(index, index),
        model=within("model", model, session.limits.prompt).strip(),
        continues=continues,
        audience=prompt.audience,
        then=tuple(then),
        **new_request(session.id, now),
    )
    failed = snapshot.failed(ReplyRequest)
    same = next((one for one in failed if one.asked == asked.asked), None)
    request = asked if same is None else pending_again(same, now)
    others = tuple(given_up(one, now) for one in failed if one is not same)
    unsent = _without(snapshot, request.slot, text) if text != prompt.text else {}
    requests: tuple[Request, ...] = (*others, *_stopped_summaries(snapshot, now), request)
    return Changes(session_id=session.id, session=session, requests=requests, unsent=unsent), request.id


def ask_further(snapshot: Snapshot, request_id: RequestId, now: datetime) -> tuple[Changes, RequestId]:
    """Retry a further reply that failed; those who were called after it answer then."""
    request = pending_again(find_request(snapshot, request_id), now)
    return Changes(session_id=request.session_id, requests=(request,)), request_id


def newest_reply(snapshot: Snapshot) -> Event:
    """Return the last reply to the newest prompt."""
    return newest(snapshot)[1][-1]


def choose_take(snapshot: Snapshot, take: Sequence[Event], now: datetime) -> Changes:
    """Make another take of the newest prompt canon; `take` are its events, which are stored already."""
    move(snapshot, snapshot.session, Command.CHOOSE_TAKE, now)
    prompt, _ = newest(snapshot)
    if not take:
        raise IllegalCommandError("There is no such take of the newest prompt; choose an existing one.")
    if take[0].prompt_index != prompt.prompt_index or take[0].take == prompt.take:
        raise IllegalCommandError("That take counts already; there is nothing to choose.")
    return _with_take(snapshot, take, now)


def correct_reply(snapshot: Snapshot, text: str, now: datetime) -> Changes:
    """Store the GM's own version of the newest reply as a further take."""
    move(snapshot, snapshot.session, Command.CHOOSE_TAKE, now)
    reply = newest_reply(snapshot)
    text = within("reply", text, snapshot.session.limits.transcript).strip()
    if is_blank(text):
        raise IllegalCommandError("There is no text to store; write the reply first.")
    take = new_take(snapshot, reply.prompt_index, now)
    own = rewritten(reply, text, source_of(reply.request_id, Origin.CORRECTED))
    canon = (own if event is reply else event for event in newest_events(snapshot))
    return _with_new_take(snapshot, take.of(canon), now)


def strike_afterthought(snapshot: Snapshot, now: datetime) -> Changes:
    """Take what a character added last to the newest prompt out of the story: a take without it counts."""
    move(snapshot, snapshot.session, Command.CHOOSE_TAKE, now)
    events = newest_events(snapshot)
    added = [event for event in events if event.is_afterthought]
    if not added:
        raise IllegalCommandError(
            "Nothing was added unasked to the newest prompt; there is nothing to strike."
        )
    take = new_take(snapshot, snapshot.session.prompt_index, now)
    return _with_new_take(snapshot, take.of(event for event in events if event is not added[-1]), now)


def _with_new_take(snapshot: Snapshot, take: Sequence[Event], now: datetime) -> Changes:
    return replace(_with_take(snapshot, take, now), statuses=carried_statuses(snapshot, take))


def _with_take(snapshot: Snapshot, take: Sequence[Event], now: datetime) -> Changes:
    session, withdrawn = withdraw_newest(snapshot, now)
    session = replace(session, next_slot=session.speaker_after(_last_called(take) or session.next_slot))
    session, due = move_and_summarise(_unsummarised(snapshot), session, Command.CHOOSE_TAKE, now)
    return replace(
        withdrawn,
        session=session,
        events=tuple(take),
        canon_end=session.prompt_index if snapshot.undone else None,
        requests=(*_failed_further_replies(snapshot, now), *_stopped_summaries(snapshot, now), *due),
    )


def undo(snapshot: Snapshot, now: datetime) -> Changes:
    """Remove the newest prompt from canon; its text returns to its composer, in front of newer text."""
    move(snapshot, snapshot.session, Command.UNDO, now)
    prompt, _ = newest(snapshot)
    session, withdrawn = withdraw_newest(snapshot, now)
    slot = called(snapshot)[0]
    session = replace(session, prompt_index=session.prompt_index - 1, next_slot=slot)
    session, due = move_and_summarise(_unsummarised(snapshot), session, Command.PROMPT_UNDONE, now)
    return replace(
        withdrawn,
        session=session,
        unsent={slot: joined(prompt.text, snapshot.unsent.get(slot, ""))},
        requests=(*_failed_takes(snapshot, now), *_stopped_summaries(snapshot, now), *due),
    )


def redo(snapshot: Snapshot, now: datetime) -> Changes:
    """Bring the prompt that was undone last back into canon; its text is removed from its composer."""
    session = move(snapshot, snapshot.session, Command.REDO, now)
    index = session.prompt_index + 1
    events = [event for event in snapshot.undone if event.prompt_index == index]
    slot = next((event.slot for event in events if event.slot is not None), session.next_slot)
    session = session.played_to(index, _last_called(events) or slot)
    session, due = move_and_summarise(_unsummarised(snapshot), session, Command.CHOOSE_TAKE, now)
    return Changes(
        session_id=session.id,
        session=session,
        unsent=_without(snapshot, slot, events[0].text),
        requests=(*_failed_takes(snapshot, now), *_stopped_summaries(snapshot, now), *due),
    )


def keep_partial(
    snapshot: Snapshot, request: ReplyRequest, text: str, now: datetime, *, may_be_silent: bool = False
) -> Changes:
    """Store what a stopped reply had, as far as it came; its prompt leaves the composer.

    `may_be_silent` says whether the character could answer without words.
    """
    session = move(snapshot, snapshot.session, Command.KEEP_PARTIAL, now)
    if not find_request(snapshot, request.id).has_failed or is_blank(text):
        raise IllegalCommandError("Nothing of that reply has arrived; there is nothing to keep.")
    done = replace(
        request, state=RequestState.DONE, retry_after=None, error_code=None, error_message="", updated_at=now
    )
    spoken = read_spoken(text) if may_be_silent else Spoken(text.strip())
    made = ReplyMade(spoken.text, Origin.PARTIAL, said=spoken.metadata)
    changes = ReplyHandler().settle(replace(snapshot, session=session), done, made, now)
    unsent = {} if request.follows else _without(snapshot, request.slot, request.text)
    return replace(changes, unsent=unsent)


def _stopped_summaries(snapshot: Snapshot, now: datetime) -> tuple[SummaryRequest, ...]:
    return tuple(given_up(one, now) for one in snapshot.requests if isinstance(one, SummaryRequest))


def _failed_takes(snapshot: Snapshot, now: datetime) -> tuple[ReplyRequest, ...]:
    """Give up failed takes of a prompt that is no longer the newest: a retry would ask for the wrong one."""
    failed = snapshot.failed(ReplyRequest)
    return tuple(given_up(one, now) for one in failed if one.prompts is not None)


def _failed_further_replies(snapshot: Snapshot, now: datetime) -> tuple[ReplyRequest, ...]:
    """Give up a further reply that failed: it belongs to the take that counted."""
    return tuple(given_up(one, now) for one in snapshot.failed(ReplyRequest) if one.follows)


def _last_called(take: Sequence[Event]) -> Slot | None:
    """Return the character that the prompt of a take called last."""
    return next(
        (one.slot for one in reversed(take) if one.slot is not None and not one.is_afterthought), None
    )


def _unsummarised(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without what a change of the newest prompt gives up: its further reply, and
    summaries, of which the next one is a new request."""
    kept = tuple(
        one
        for one in snapshot.requests
        if not isinstance(one, SummaryRequest) and one is not snapshot.further_reply
    )
    return replace(snapshot, requests=kept)


def _without(snapshot: Snapshot, slot: Slot, text: str) -> dict[Slot, str]:
    left = without(snapshot.unsent.get(slot, ""), text)
    return {} if left is None else {slot: left}
